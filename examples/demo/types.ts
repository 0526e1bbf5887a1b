/** The types that the files of the demo share. This file contains no code. */
import type { Request, Response } from "express";
import type { AuthServer, Interaction } from "authmount";
import type { Html } from "./page";
import type { Method, Organization, People, Sessions } from "./people";
import type { ClientProgram } from "./public/client-program.mjs";

/** What the host's pages need. */
export interface Host {
  auth: AuthServer;
  people: People;
  sessions: Sessions;
  /** Shown on the sign-in pages, because it is a demo. */
  passwords: Readonly<Record<string, string>>;
}

export interface Exchange {
  req: Request;
  res: Response;
}

/** Who has just signed in, how, and for which organization. */
export interface Proved {
  subject: string;
  method: Method;
  organization: Organization;
}

export interface SignInPage {
  title: string;
  asking: Interaction | undefined;
  problem: string | undefined;
  fields: Html;
  hint: Html;
}

/** One HTTP exchange as the playground shows it. */
export interface Step {
  /** When the request was sent, in milliseconds since 1970. */
  at: number;
  /** When it was answered. Requests that were sent meanwhile belong inside this one. */
  until: number;
  /** Who asked: "Browser" or the name of a client. */
  by: string;
  method: string;
  /** Without the query, which is in `sent`. */
  url: string;
  /** Parameters, and the `Authorization` header. */
  sent: Record<string, unknown>;
  status: number;
  headers: Record<string, string>;
  /** Fields of a JSON answer, or the text of any other answer. */
  body: Record<string, unknown>;
  /** The events that the host's `onEvent` received meanwhile. */
  events: Record<string, unknown>[];
  /** The answer did not arrive, or so the story pretends. */
  isLost?: boolean;
}

/** What was chosen in the playground. */
export interface Choices {
  method: string;
  api: string;
  scope?: string;
  prompt?: string;
  pkce?: boolean;
  sendRedirectUri?: boolean;
  /** With the `acr_values` of the API's challenge. */
  stepUp?: boolean;
  /** Not the client's own, but another path of the demo. */
  redirectUri?: string;
}

/** What a button of the playground does. */
export interface Story {
  text: string;
  note: string;
  /** What the note says instead for a client without a person. */
  machineNote?: string;
  /** How a failure ends, in a word. */
  outcome?: string;
  /** What happens, in this order; see `public/demo.mjs` and `public/client-program.mjs`. */
  actions: string[];
  /** The clients that can run it. If another is chosen, the first of these runs it. Left out: every client can. */
  clients?: string[];
  /** The APIs that it makes sense at. Left out: every API. */
  apis?: string[];
  /** Why others cannot run it, in a sentence. */
  because?: string;
  /** Override what was chosen. */
  choices?: Partial<Choices>;
  /** It starts a new picture; otherwise it continues below the story before, with the same client. */
  isNew?: boolean;
  /** It can also run with an invalid pair. */
  anyPair?: boolean;
  /** The authorization server answers without showing a page, so no window is opened. */
  noPage?: boolean;
}

/** A headed list of buttons. */
export interface StoryGroup {
  name: string;
  title: string;
  stories: Readonly<Record<string, Story>>;
}

export interface ProgramOptions {
  name: string;
  clientId: string;
  secret?: string;
  /** Sends the secret with HTTP Basic; otherwise in the body. */
  basic?: boolean;
  redirectUri?: string;
  origin: string;
  record: (step: Step) => void;
}

/** A request that is recorded as a step. */
export interface RecordedRequest {
  by: string;
  record: (step: Step) => void;
  method: string;
  url: string;
  authorization?: string;
  form?: Record<string, string>;
  json?: object;
}

/** What a client program received last. */
export interface Held {
  issuer?: string;
  /** `code` and `code_verifier`. */
  code?: Record<string, string>;
  deviceCode?: string;
  /** The person has not answered the device yet. */
  isWaiting?: boolean;
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  /** The first one of this login. */
  usedRefreshToken?: string | undefined;
  /** What the API's challenge wants of the sign-in. */
  acrValues?: string | undefined;
}

/** What a client needs to check and use the answer to its authorization request. */
export interface SentRequest {
  issuer: string;
  state: string;
  codeVerifier: string | undefined;
}

/** What belongs to one browser. */
export interface Workbench {
  /** Steps that were not yet sent to the page. */
  steps: Step[];
  /** By client id. */
  programs: Map<string, ClientProgram>;
}

/** A pending authorization request. */
export interface Run {
  clientId: string;
  workbench: Workbench;
  program: ClientProgram;
  request: SentRequest;
}
