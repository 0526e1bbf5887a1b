/** The types that the files of the demo share; nothing here runs. */
import type { Request, Response } from "express";
import type { AuthServer, Interaction } from "authmount";
import type { Html } from "./page";
import type { Method, People, Sessions } from "./people";
import type { ClientProgram } from "./public/client-program.mjs";

/** What the host's pages are made with. */
export interface Host {
  auth: AuthServer;
  people: People;
  sessions: Sessions;
}

export interface Exchange {
  req: Request;
  res: Response;
}

/** What a person has just proved. */
export interface Proved {
  subject: string;
  method: Method;
}

export interface SignInPage {
  title: string;
  asking: Interaction | undefined;
  problem: string | undefined;
  fields: Html;
}

/** One HTTP exchange as the start page shows it. */
export interface Step {
  /** Milliseconds since 1970. */
  at: number;
  /** Who asked: "Browser" or the name of a client. */
  by: string;
  method: string;
  /** Without the query, which is in `sent`. */
  url: string;
  /** Parameters, and the `Authorization` header. */
  sent: Record<string, unknown>;
  status: number;
  headers: Record<string, string>;
  /** Fields of a JSON answer; the text of any other. */
  body: Record<string, unknown>;
  /** What the host's `onEvent` has heard meanwhile. */
  events: Record<string, unknown>[];
}

/** What was chosen on the start page. */
export interface Choices {
  method: string;
  api: string;
  scope?: string;
  prompt?: string;
  pkce?: boolean;
  sendRedirectUri?: boolean;
  /** Another one than the client's own, below the origin of the demo. */
  redirectUri?: string;
}

/** What a button of the start page does. */
export interface Story {
  text: string;
  note: string;
  /** What happens one after the other; see `public/demo.mjs` and `public/client-program.mjs`. */
  actions: string[];
  /** Those that can play it; when another one is chosen, the first of them does. Otherwise any. */
  clients?: string[];
  /** Instead of what was chosen. */
  choices?: Partial<Choices>;
  /** It begins a sequence of steps; otherwise it goes on with the one that is there. */
  isNew?: boolean;
  /** It can be played at a pair that is no issuer. */
  anyPair?: boolean;
}

export interface ProgramOptions {
  name: string;
  clientId: string;
  secret?: string;
  /** Proves itself by HTTP Basic; otherwise in the body. */
  basic?: boolean;
  redirectUri?: string;
  origin: string;
  record: (step: Step) => void;
}

/** A request that is written down as a step. */
export interface RecordedRequest {
  by: string;
  record: (step: Step) => void;
  method: string;
  url: string;
  authorization?: string;
  form?: Record<string, string>;
  json?: object;
}

/** What a client program was given last. */
export interface Held {
  issuer?: string;
  /** `code` and `code_verifier`. */
  code?: Record<string, string>;
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  usedRefreshToken?: string | undefined;
}

/** What makes the answer to an authorization request trustworthy and usable. */
export interface SentRequest {
  issuer: string;
  state: string;
  codeVerifier: string | undefined;
}

/** What belongs to one browser. */
export interface Workbench {
  /** Those that the page was not told yet. */
  steps: Step[];
  /** By client id. */
  programs: Map<string, ClientProgram>;
}

/** An authorization request under way. */
export interface Run {
  clientId: string;
  workbench: Workbench;
  program: ClientProgram;
  request: SentRequest;
}
