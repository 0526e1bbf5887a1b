/** The adapters that the host supplies for end-user authentication and consent. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import type { Authentication, ConsentAnswer } from "../end-user/port";
import type { AuthorizationSummary } from "../pages/summary";
import type { EpochSeconds } from "../protocol/time";

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
