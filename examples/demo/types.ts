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
  by: string;
  method: string;
  url: string;
  sent: Record<string, unknown>;
  status: number;
  answer: Record<string, unknown>;
}

/** What was chosen on the start page. */
export interface Choices {
  method: string;
  api: string;
  scope?: string;
  prompt?: string;
  pkce?: boolean;
  sendRedirectUri?: boolean;
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

/** A request that a client program sends. */
export interface ProgramRequest {
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
