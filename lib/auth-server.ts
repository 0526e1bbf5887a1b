/** What `createAuthServer` returns. */
import type { RequestListener } from "node:http";
import type { Request, Response, Router } from "express";
import type { Assessment } from "./review/assess";
import type { ActiveAuthorizations, RememberedConsents } from "./end-user/list-authorizations";
import type { ReadAccessToken } from "./bearer/access-tokens";
import type { ReadMcpAuth } from "./bearer/mcp-auth";
import type { ChallengeOptions, McpScopes, RequireBearer } from "./bearer/protect-routes";
import type { HostApproval } from "./interaction/consent-answers";
import type { Interaction } from "./interaction/port";
import type { ConsentSelection } from "./protocol/consent";
import type { SigningKeySource } from "./signing/signing-key";

/** An authorization server. Its functions do not use `this`, so they can be passed around by themselves. */
export interface AuthServer {
  /** The endpoints of every issuer. Mount it at the path of `baseUrl`. */
  readonly router: Router;
  /**
   * The metadata documents that RFC 8414 §3.1 and 9728 §3.1 place at the root of an origin. Mount it there. The `started` event
   * lists their URLs.
   */
  readonly wellKnown: Router;
  /**
   * Serves the endpoints that clients call (token, revocation, introspection, registration, metadata) ahead of the app, for heavy
   * traffic: `createServer(auth.inFrontOf(app))`. The answers are the same, but skip the cost of Express and the app's middleware, and
   * with it the app's rate limits. The option `rateLimit` is asked about token, revocation and introspection requests only. All
   * other requests go to the app, where `router` must still be mounted. Request URLs must include the path of `baseUrl`.
   */
  readonly inFrontOf: (app: RequestListener) => RequestListener;
  /**
   * Replaces the list of `signingKeys` in this process. Add a new key as `{ key, signsFrom }`, with `signsFrom` (epoch seconds)
   * at least five minutes ahead: the key is published at once, and signs when everybody has had time to fetch it. Older keys
   * verify until the last token that they signed has expired. Then they are no longer published, and may be left out.
   *
   * @throws TypeError when a key is invalid, or when no key may sign now; the keys in use then stay as they are.
   * @rfc 7517 §5
   */
  readonly rotateKeys: (signingKeys: readonly SigningKeySource[]) => void;
  /**
   * Middleware that lets a request pass when its access token is valid for the API, and sets `req.auth` to what the token says.
   * Handlers behind it read the token with `accessToken`. A `handler` passed here runs next; TypeScript then knows that `req.auth`
   * is set and, with `subject: "required"`, that its `subject` is too. What the handler throws or rejects with goes to `next`.
   *
   * @throws TypeError when an option is wrong, or names an unknown API or scope.
   * @rfc 6750 §2.1, §3
   */
  readonly requireBearer: RequireBearer;
  /**
   * The verified access token of a request behind `requireBearer` of this server: the object that `req.auth` was set to, whatever
   * other middleware has done to `req.auth` since. With `{ subject: "required" }`, its `subject` is a string; `requireBearer` must
   * then say so too.
   *
   * @throws TypeError when the request has not passed `requireBearer`, or when the token lacks the required subject.
   */
  readonly accessToken: ReadAccessToken;
  /**
   * The same token for an MCP server: a copy in the form of the MCP SDK's `AuthInfo`, with the token as it was sent. `req.auth` never
   * holds that text, so that a log of `req.auth` is harmless.
   *
   * @throws TypeError when the request has not passed `requireBearer`.
   */
  readonly mcpAuth: ReadMcpAuth;
  /**
   * For the option `scope` of `requireBearer` in front of an MCP server: gives the scopes that each request needs. All need the
   * `defaultScopes` of the API, so the first challenge names them; a `tools/call` needs those of its tool as well, and a batch those of
   * all its calls. A tool that is not listed needs every scope, and so does a POST whose body is not parsed JSON: the transport could read
   * a call in it. `express.json()` must stand in front of `requireBearer`.
   *
   * @throws TypeError when an option is wrong, or names an unknown API or scope.
   * @rfc 6750 §3.1
   */
  readonly mcpScopes: McpScopes;
  /**
   * Refuses a request whose token lacks a scope, where only the handler can know which scope is needed: 403
   * `insufficient_scope`. With `acr` or `maxAge`, it asks for another sign-in: 401 `insufficient_user_authentication`. 401 also if the request
   * has not passed `requireBearer`. Call it instead of sending your own response.
   *
   * @throws TypeError when an option is wrong, or names an unknown API or scope.
   * @rfc 6750 §3.1, 9470 §3
   */
  readonly challenge: (req: Request, res: Response, options: ChallengeOptions) => void;
  /** The pending authorization request, for a page of the host. `undefined` when there is none, as on a sign-out page, or it has expired. */
  readonly interaction: (req: Request) => Promise<Interaction | undefined>;
  /**
   * Ends the host's sign-in page: redirects the browser back to the authorization endpoint. On a sign-out page it leads back to the logout
   * endpoint. A request without an interaction id, as after a
   * sign-in that no client asked for, goes on to `otherwise`; when that is left out, it gets an error page. `otherwise` is a path of
   * this site, such as `"/account"`.
   *
   * @throws TypeError when `otherwise` is anything but a path of this site, also while a request is pending: so a path from a link
   * cannot lead people to another site.
   */
  readonly resume: (req: Request, res: Response, options?: { readonly otherwise: string }) => void;
  /**
   * Answers the host's consent page with a yes, for all scopes that `auth.interaction` shows or for those in `scopes`. Accepts only a POST
   * from this origin. An empty list means no. `scopes: undefined` is refused, because that is what a form with nothing ticked produces; to
   * allow all scopes, leave `scopes` out. Anything but a plain object is refused, too, such as a promise.
   */
  readonly approve: (req: Request, res: Response, decision?: HostApproval) => Promise<void>;
  /** Answers any page of the host with a no: the client gets `access_denied`. */
  readonly deny: (req: Request, res: Response) => Promise<void>;
  /** Remembered consents, for the host's account page. */
  readonly consents: {
    /**
     * The remembered consents of this end user, each with its `contextKey` (`""` for none), 100 at a time in the order of client ids. Pass
     * `next` of a page as `after` to get the next page; `undefined` gives the first one.
     *
     * @throws TypeError (as a rejection) when an argument is wrong.
     */
    readonly list: (
      subject: string,
      page?: { readonly after?: string | undefined },
    ) => Promise<RememberedConsents>;
    /**
     * Deletes the consent and revokes everything that descends from it, at every authentication method of the API: in the context
     * `contextKey`, or in every context when that is left out. An approval that is running at the same time is revoked too. If the
     * promise rejects, the consent may still be listed: call it again. A selection for which nothing is stored is not an error; the
     * event is then `nothing-to-revoke`.
     *
     * @throws TypeError (as a rejection) when a part of the selection is missing.
     */
    readonly revoke: (selection: ConsentSelection) => Promise<void>;
    /**
     * Takes back a part: keeps only `scopes`, and what they imply, of what the end user has allowed the client at the API, in the context
     * `contextKey`, or in every context when that is left out. It applies to all sign-ins and to the remembered consent; scopes that were
     * not granted are not added. Refresh tokens have fewer scopes at once, access tokens within `revocationLagSeconds`; a JWT that an API
     * elsewhere checks by its signature alone keeps them until it expires. A client that asks for more again has to ask the person. If
     * the promise rejects, call it again.
     *
     * @throws TypeError (as a rejection) when a part of the selection or every scope is missing, or the client is trusted: nobody is asked
     * about it, so it would get the scopes back.
     */
    readonly narrow: (step: ConsentSelection & { readonly scopes: readonly string[] }) => Promise<void>;
  };
  /** Active authorizations, for the host's account page: one for each sign-in to a client. */
  readonly authorizations: {
    /**
     * The active authorizations of this end user, those of trusted clients included, 100 at a time: the one that expires last comes first.
     * Pass `next` of a page as `after` to get the next page; `undefined` gives the first one.
     *
     * @throws TypeError (as a rejection) when an argument is wrong.
     */
    readonly list: (
      subject: string,
      page?: { readonly after?: string | undefined },
    ) => Promise<ActiveAuthorizations>;
    /**
     * Revokes one authorization and everything that descends from it, if it is this end user's. Otherwise nothing happens, and the
     * event is `nothing-to-revoke`.
     *
     * @throws TypeError (as a rejection) when one of the two is missing.
     */
    readonly revoke: (target: {
      readonly subject: string;
      readonly authorizationId: string;
    }) => Promise<void>;
  };
  /** Everything of one end user. End their sessions in your app first: a person who is still signed in there can approve again. */
  readonly subjects: {
    /**
     * Signs the person out everywhere: revokes all their authorizations and what descends from them. Remembered consents stay, unless
     * `consents` is `"revoke"`. An approval that is running at the same time is revoked too. If the promise rejects, call it again.
     *
     * @throws TypeError (as a rejection) when an argument is wrong.
     */
    readonly revoke: (subject: string, options?: { readonly consents?: "keep" | "revoke" }) => Promise<void>;
    /**
     * Revokes all authorizations and consents of this end user, and deletes the records that name them. Opaque access tokens stay stored
     * until they expire, but are no longer valid.
     *
     * @throws TypeError (as a rejection) when the subject is missing.
     */
    readonly erase: (subject: string) => Promise<void>;
  };
  /** Everything of one client. */
  readonly clients: {
    /**
     * Revokes everything that was issued to this client: consents, codes and tokens. The client itself stays registered. To give its id to
     * another client, delete it from your table first, then call this, then register the other one: otherwise the new client inherits what
     * the old one was issued in between. `ClientRegistry.delete` does both.
     *
     * @throws TypeError (as a rejection) when the id is missing.
     */
    readonly revoke: (clientId: string) => Promise<void>;
  };
  /** Everything of one API. */
  readonly apis: {
    /**
     * Revokes everything that was issued for this API, to all clients and of all end users: consents, codes, tokens, those of client
     * credentials too, and approvals that are under way. `requireBearer`, introspection and the token endpoint see it within
     * `revocationLagSeconds`; APIs that check signatures alone learn nothing. Nobody is locked out: end the sessions of your app first, or
     * whoever is signed in can approve anew, and client credentials clients just ask again. The end is bound to the `audience` of the API:
     * do not change that afterwards.
     *
     * @throws TypeError (as a rejection) when the server has no such API.
     */
    readonly revoke: (apiId: string) => Promise<void>;
  };
  /**
   * Compares the options of this server with RFC 9700, OAuth 2.1, FAPI 2.0 and OWASP ASVS 5.0 chapter 10: each item is met, weakened (by
   * which options), not met, or left to you. It looks at the options as they were at the start and connects to nothing, so it does not see
   * clients in a database. It contains no secret and no key.
   */
  readonly assessment: () => Assessment;
}
