/** The port through which the authorization endpoint asks the host about the person at the browser. RFC 6749 §3.1, §10.2. */
import type { AuthenticationFacts, SignInFacts } from "../protocol/authorization";
import type { AuthorizationContext } from "../protocol/authorization-context";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import type { IdentityAssertion } from "../protocol/identity-assertion";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { EpochSeconds } from "../protocol/time";

/** What `authenticate` returns about the person at the browser. */
export type Authentication =
  | ({
      readonly kind: "authenticated";
      /** The end user's stable id, 1 to 255 characters: the `sub` of their tokens. It must not be a client id. */
      readonly subject: string;
      /** The name of the person on the consent page; their `subject` when left out. */
      readonly displayName?: string;
      /** What the person has chosen while they signed in, such as an organization. The consent step may choose another. */
      readonly context?: AuthorizationContext;
      /**
       * By what the person will know this sign-in, such as "Chrome on Windows, Berlin": at most 200 characters, no control characters.
       * `auth.authorizations.list` gives it back. No token and no event has it. It may be text from a stranger: escape it.
       */
      readonly signedInFrom?: string;
    } & AuthenticationFacts)
  /** Nobody is signed in, or not recently enough. `url` is the host's sign-in page: absolute, or a path of this origin. */
  | { readonly kind: "interaction"; readonly url: string }
  /**
   * The person may not or does not want to sign in. `description` goes to the client as `error_description`, in the characters of
   * RFC 6749 §4.1.2.1: ASCII without " and \\.
   */
  | { readonly kind: "denied"; readonly description?: string };

/** What `accept` answers about the person of an identity assertion: the same as `authenticate`, without a page. */
export type IdentityAnswer = Exclude<Authentication, { readonly kind: "interaction" }>;

/** Identity providers that vouch for people, so that clients get tokens without a page (ID-JAG, cross-app access). */
export interface IdentityAssertions {
  /** Identity provider, as in its `iss` → the https URL of its keys. Nothing else is ever fetched. */
  readonly issuers: Readonly<Record<string, { readonly jwksUri: string }>>;
  /**
   * Says who the person is here, or denies them: somebody whom you have disabled, a tenant that is not your customer's. A provider with
   * several tenants says in `tenant` whose person it is: compare it, or people of one company could be taken for those of another. It is
   * asked for each assertion, also where the provider has vouched before, and twice where everything of the person was ended before. It has five seconds. What it
   * throws is answered as `server_error`.
   */
  accept(assertion: IdentityAssertion): IdentityAnswer | Promise<IdentityAnswer>;
}

/** What `consent.decide` returns. */
export type ConsentAnswer =
  /**
   * Allowed without asking the person. `scopes` are some or all of the requested ones. `context` replaces the one of `authenticate`.
   */
  | { readonly kind: "granted"; readonly scopes: readonly string[]; readonly context?: AuthorizationContext }
  /** Refused without asking the person. The client gets `access_denied`. */
  | { readonly kind: "denied" }
  /** Ask on the built-in page. */
  | { readonly kind: "ask" }
  /** Ask on the host's own page, which ends in `auth.approve` or `auth.deny`. */
  | { readonly kind: "interaction"; readonly url: string };

/** A person who has proved who they are. */
export interface EndUser {
  /** Their stable id. */
  readonly subject: string;
  /** Their name on the consent page. */
  readonly displayName: string;
  /** How, when and from where they signed in. */
  readonly facts: SignInFacts;
  /** What they chose while they signed in. */
  readonly context: AuthorizationContext | undefined;
}

/** A person's answer on a consent page. */
export interface ConsentDecision {
  /** False when the page was shown to somebody else, or in another context. The answer is then ignored. */
  readonly isBy: (endUser: EndUser) => boolean;
  /** The end marks that were in force when the page was shown. */
  readonly endMarks: readonly string[];
  /** What the person chose on the page; `undefined` when it offers no choice. */
  readonly context?: AuthorizationContext;
  /** Which of the requested scopes were allowed, or `"denied"`. */
  readonly answer: (requestedScopes: readonly string[]) => readonly string[] | "denied";
}

/** The consent page of a request that is under way. */
export interface ConsentPage {
  /** It changes when the person asks for another account. */
  readonly name: string;
  /** The end user who was shown it last, with where its answer leads; `undefined` before it was shown. */
  readonly shownTo: string | undefined;
}

/** What is known of a request whose person comes back from a page. */
export interface BackFromPage {
  /** When this request first sent the person to a page. */
  readonly began: EpochSeconds;
  /** The scopes that the pages of this request have shown. */
  readonly shown: ShownScopes;
  /** What a client that nobody registered said of itself when the pages of this request were first shown. */
  readonly shownClient: string | undefined;
  readonly page: ConsentPage;
  /** The answer that the person has just given on the consent page. */
  readonly decision: ConsentDecision | undefined;
  /** True when a page must be answered, whatever is remembered or the host allows: an earlier answer may have been ignored. */
  readonly mustAsk: boolean;
  /** True when the person has just asked for another account on the consent page. */
  readonly choosesAccount: boolean;
}

/** The host's adapters, bound to one HTTP request. */
export interface EndUserPort {
  /**
   * Who is at the browser. With `reauthenticate` the host must not answer from an existing session, but send the person to a page.
   * A rejection becomes `server_error`.
   */
  authenticate(question: { request: AuthorizationRequest; reauthenticate: boolean }): Promise<Authentication>;
  /** Whether the client may act for this end user, and who asks them. A rejection becomes `server_error`. */
  decideConsent(question: { request: AuthorizationRequest; endUser: EndUser }): Promise<ConsentAnswer>;
}
