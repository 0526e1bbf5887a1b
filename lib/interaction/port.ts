/** The adapters that the host supplies for end-user authentication and consent. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { Authentication, ConsentAnswer } from "../endpoints/end-user";
import type { Prompt } from "../protocol/authorization-request";
import type { EpochSeconds } from "../protocol/epoch-seconds";

/** A client as pages may show it. */
export interface ClientSummary {
  readonly clientId: string;
  readonly name: string;
  readonly confidential: boolean;
  /** A `data:` URI. */
  readonly logo?: string;
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** Who asks for what. */
export interface AuthorizationSummary {
  readonly authMethodId: string;
  readonly api: { readonly apiId: string; readonly name: string; readonly audience: string };
  readonly client: ClientSummary;
  /** Where either answer leads: the origin of the redirect URI, or its scheme. */
  readonly destination: string;
  /** Requested scope → its sentence for people, in their language where the API has it. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Requested scope that implies others → the scopes that are granted with it, each with its sentence. Show them beneath it. */
  readonly impliedScopes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly prompt: readonly Prompt[];
  /** Seconds. */
  readonly maxAge: number | undefined;
  readonly loginHint: string | undefined;
  /** Preferred languages (BCP 47, separated by spaces). */
  readonly uiLocales: string | undefined;
}

/** What `authenticate` is asked. */
export interface AuthenticationRequest extends AuthorizationSummary {
  /** The Express request of the person's browser: the host finds its own session there. */
  readonly req: Request;
  /**
   * `true`: the person must sign in again (`prompt=login`, `max_age`) or choose an account (`prompt=select_account`), so answer
   * `interaction` whatever the session says. The library checks `authTime`: an old session cannot pass. When `prompt` holds
   * `select_account` and not `login`, your page may offer the accounts that are signed in already.
   */
  readonly reauthenticate: boolean;
}

/** One way in which end users sign in. The host's own session is the only session. */
export interface AuthMethod {
  /**
   * Who is at this browser? Called on every visit to the authorization endpoint and on every return from a page.
   * It must not write to the response. What it throws is answered as `server_error`.
   */
  authenticate(request: AuthenticationRequest): Authentication | Promise<Authentication>;
}

/** What `decide` is asked. */
export interface ConsentRequest extends AuthorizationSummary {
  readonly req: Request;
  readonly subject: string;
}

/**
 * Decides about consent where neither trust nor a remembered consent has. When `prompt` holds `consent` the client wants the
 * person to be asked: answer `ask` or `interaction` then.
 */
export interface ConsentAdapter {
  decide(request: ConsentRequest): ConsentAnswer | Promise<ConsentAnswer>;
}

/** A pending request, for the host's sign-in or consent page. */
export interface Interaction extends AuthorizationSummary {
  readonly interactionId: string;
  readonly expiresAt: EpochSeconds;
}
