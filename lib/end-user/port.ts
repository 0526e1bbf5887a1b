/** What the authorization endpoint asks of the host about the person at the browser. RFC 6749 §3.1, §10.2. */
import type { AuthenticationFacts } from "../protocol/authorization";
import type { AuthorizationRequest } from "../protocol/authorization-request";

/** What an authentication method answers about the person at the browser. */
export type Authentication =
  | ({
      readonly kind: "authenticated";
      /** The end user's stable id, 1 to 255 characters: the `sub` of their tokens. Never a client id. */
      readonly subject: string;
      /** What the consent page calls them; their `subject` when left out. */
      readonly displayName?: string;
    } & AuthenticationFacts)
  /** Nobody is signed in, or not well enough: `url` is the host's sign-in page, absolute or a path of this origin. */
  | { readonly kind: "interaction"; readonly url: string }
  /**
   * The person may not, or does not want to, sign in. `description` goes to the client as `error_description`, in the
   * characters of RFC 6749 §4.1.2.1: ASCII without " and \\.
   */
  | { readonly kind: "denied"; readonly description?: string };

/** What the host's consent adapter answers. */
export type ConsentAnswer =
  /** Allowed now, without a question; `scopes` are some or all of the requested ones. */
  | { readonly kind: "granted"; readonly scopes: readonly string[] }
  | { readonly kind: "denied" }
  /** Ask on the built-in page. */
  | { readonly kind: "ask" }
  /** Ask on the host's own page, which ends in `auth.approve` or `auth.deny`. */
  | { readonly kind: "interaction"; readonly url: string };

/** A person who has proved who they are. */
export interface EndUser {
  readonly subject: string;
  readonly displayName: string;
  readonly facts: AuthenticationFacts;
}

/** A person's answer on a consent page. */
export interface ConsentDecision {
  /** False when the page was shown to somebody else: the answer does not count then. */
  readonly isBy: (subject: string) => boolean;
  /** The end mark that stood when the page was shown. */
  readonly endMark: string | undefined;
  /** The scopes that were allowed of the requested ones, or `"denied"`. */
  readonly answer: (requestedScopes: readonly string[]) => readonly string[] | "denied";
}

/** The host's adapters, bound to one HTTP request. */
export interface EndUserPort {
  authenticate(question: { request: AuthorizationRequest; reauthenticate: boolean }): Promise<Authentication>;
  decideConsent(question: { request: AuthorizationRequest; subject: string }): Promise<ConsentAnswer>;
}
