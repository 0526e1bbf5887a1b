/** The adapters that the host supplies for end-user authentication and consent, and how they are asked. RFC 6749 §3.1, §10.2. */
import type { Request } from "express";
import { type AnswerKeys, askHost } from "../host/ask";
import { authenticationKeys } from "../end-user/check-host-answer";
import type { Authentication, ConsentAnswer, EndUserPort, IdentityAssertions } from "../end-user/port";
import { type AuthorizationSummary, type ClientSummary, summarize } from "../pages/summary";
import type { AuthorizationContext } from "../protocol/authorization-context";
import { hostMistake } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";

/** What `authenticate` is called with. */
export interface AuthenticationRequest extends AuthorizationSummary {
  /** The Express request of the person's browser, where the host finds its own session. */
  readonly req: Request;
  /**
   * `true`: the person must sign in again (`prompt=login`, `max_age`) or choose an account (`prompt=select_account`, or "Not
   * you?" on the consent page), or the client expects somebody else (`id_token_hint`) or another way of signing in (`acrValues`). Answer
   * `interaction` then, whatever the session says. The library checks `authTime`, `acr` and whom the client expects, so no other session can pass. If `prompt` contains
   * `select_account` and not `login`, your page may offer accounts that are already signed in.
   */
  readonly reauthenticate: boolean;
}

/** One way in which end users sign in. The library has no session: the host's session is the only one. */
export interface AuthMethod {
  /**
   * Says who is at this browser. It is called on every visit to the authorization endpoint and on every return from a page.
   * It must not write to the response. It has five seconds, like every callback; afterwards the client gets
   * `temporarily_unavailable`. What it throws is answered as `server_error`. Whatever may take longer, such as a slow directory,
   * belongs on your sign-in page, which has no limit.
   */
  authenticate(request: AuthenticationRequest): Authentication | Promise<Authentication>;
  /**
   * Signs people out at the wish of a relying party, at issuers of APIs with `openid`. Left out: they have no logout endpoint. Answer
   * `interaction` while somebody is signed in: the page there always asks the person, ends your session by a POST of its own, and calls
   * `auth.resume(req, res)`. `signOut` is then asked again, and answers `signed-out`. Neither may end a session without the person's yes: any
   * site can send people here. `signOut` has five seconds.
   *
   * @rfc OpenID Connect RP-Initiated Logout §2
   */
  signOut?(request: SignOutRequest): SignOutAnswer | Promise<SignOutAnswer>;
  /**
   * Lets identity providers that you list vouch for people, so that a client gets an access token for somebody without a page (ID-JAG,
   * "cross-app access", MCP's enterprise-managed authorization). It is for confidential clients whose subscription names the grant
   * `urn:ietf:params:oauth:grant-type:jwt-bearer`. One assertion gives one token, and no refresh token. Left out: nobody vouches.
   *
   * @rfc draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4
   */
  readonly identityAssertions?: IdentityAssertions;
}

/** What `signOut` is called with. */
export interface SignOutRequest {
  /** The Express request of the person's browser, where the host finds its own session. */
  readonly req: Request;
  /** The client that asks, where the request names one. */
  readonly client?: ClientSummary;
  /** Whom the client wants to sign out, proven by an ID token. Left out: the client does not say. */
  readonly subject?: string;
  /** The person's languages as the client says (BCP 47, separated by spaces): unchecked input. */
  readonly uiLocales: string | undefined;
}

/** What `signOut` returns. */
export type SignOutAnswer =
  /** Nobody is signed in, or no longer. */
  | { readonly kind: "signed-out" }
  /** The host's sign-out page: absolute, or a path of this origin. */
  | { readonly kind: "interaction"; readonly url: string };

/** What `decide` is called with. */
export interface ConsentRequest extends AuthorizationSummary {
  /** The Express request of the person's browser. */
  readonly req: Request;
  /** The end user who is signed in, as `authenticate` named them. */
  readonly subject: string;
  /** What they chose while they signed in, as `authenticate` said. */
  readonly context?: AuthorizationContext;
}

/**
 * Decides about consent where neither trust nor a remembered consent does. If `prompt` contains `consent`, the client wants the person to
 * be asked: answer `ask` or `interaction` then. For a client that nobody registered (`client.selfDescribed`), `granted` is treated as
 * `ask`: the person is asked before such a client gets anything.
 */
export interface ConsentAdapter {
  /** Says whether to grant, deny or ask. It has five seconds. What it throws is answered as `server_error`. */
  decide(request: ConsentRequest): ConsentAnswer | Promise<ConsentAnswer>;
}

/** A pending request, for the host's sign-in or consent page. */
export interface Interaction extends AuthorizationSummary {
  /** The id that links of the page and its form must carry on as `interaction`. */
  readonly interactionId: string;
  /** When the pending request expires. */
  readonly expiresAt: EpochSeconds;
}

/** The adapters that the host supplies. */
export interface HostAdapters {
  /** Authentication method id → how end users sign in. */
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  /** Decides about consent where neither trust nor a remembered consent does. */
  readonly consent: ConsentAdapter;
}

const consentKeys: AnswerKeys<ConsentAnswer> = {
  granted: { scopes: true, context: true },
  denied: {},
  ask: {},
  interaction: { url: true },
};

/** Adds what is likely to be missing: a TypeError about a property of `undefined` does not name the middleware that would set it. */
function withLikelyCause(thrown: unknown, { req, name }: { req: Request; name: string }): unknown {
  if (!(thrown instanceof TypeError) || !/\bundefined\b/.test(thrown.message)) return thrown;
  // the host has answered, so nothing was missing
  if ("code" in thrown && thrown.code === "wrong-answer-of-authenticate") return thrown;
  const { cookies, session } = req as { cookies?: unknown; session?: unknown };
  const missing = [
    cookies ? [] : ["req.cookies (cookie-parser)"],
    session ? [] : ["req.session (express-session)"],
  ].flat();
  if (missing.length === 0) return thrown;
  return hostMistake(
    "middleware-missing",
    `${name} threw a TypeError, and this request has no ${missing.join(" and no ")}. If ${name} needs it, mount that middleware before auth.router.`,
    { cause: thrown },
  );
}

/** The host's adapters for this HTTP request. What they throw becomes a `server_error` of the endpoint. */
export function endUserPort({ authMethods, consent }: HostAdapters, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod)
        throw hostMistake(
          "auth-method-gone",
          "authMethods no longer has the authentication method of this issuer: do not change the options after createAuthServer.",
        );
      const question = { req, reauthenticate, ...summarize(req, request) };
      try {
        const ask = (): unknown => authMethod.authenticate(question);
        return await askHost<Authentication>("authenticate", { ask, keys: authenticationKeys });
      } catch (thrown) {
        throw withLikelyCause(thrown, { req, name: "authenticate" });
      }
    },
    async decideConsent({ request, endUser }) {
      const { subject, context } = endUser;
      const question = { req, subject, ...(context && { context }), ...summarize(req, request) };
      const ask = (): unknown => consent.decide(question);
      return askHost<ConsentAnswer>("consent.decide", { ask, keys: consentKeys });
    },
  };
}
