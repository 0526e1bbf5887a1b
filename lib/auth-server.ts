/** What `createAuthServer` gives. */
import type { RequestListener } from "node:http";
import type { Request, Response, Router } from "express";
import type { ChallengeOptions, RequireBearer } from "./http/protect-routes";
import type { Interaction } from "./interaction/port";
import type { AccessToken } from "./protocol/access-token";
import type { Consent, ConsentKey } from "./protocol/consent";
import type { SigningKeySource } from "./signing/signing-key";

declare global {
  // the name by which Express types are extended, in Express 4 and 5
  namespace Express {
    interface Request {
      /** What the access token of this request stands for; set by `requireBearer`. A copy: it belongs to this request alone. */
      auth?: AccessToken;
    }
  }
}

/** An authorization server. Its members need no `this`. */
export interface AuthServer {
  /** The endpoints of every issuer: mount it at the path of `baseUrl`. */
  readonly router: Router;
  /** The documents that RFC 8414 §3.1 and 9728 §3.1 put at the root of an origin: mount it there. `started` names them. */
  readonly wellKnown: Router;
  /**
   * The endpoints that clients call (token, revocation, introspection, metadata) ahead of the app, for heavy traffic:
   * `createServer(auth.inFrontOf(app))`. The same answers, without what Express costs and without the app's middleware. All
   * else goes to the app, where `router` is mounted as ever. Requests must come with the path of `baseUrl`.
   */
  readonly inFrontOf: (app: RequestListener) => RequestListener;
  /**
   * Takes another list of `signingKeys`, in this process. A new key comes as `{ key, signsFrom }`, with `signsFrom` at least
   * five minutes ahead: it is published at once and signs when everybody knows it. The keys before it verify until the last
   * token that they have signed has expired, then they are no longer published and may be left out.
   *
   * @throws TypeError when a key is wrong, or none may sign now; the keys stay as they were.
   * @rfc 7517 §5
   */
  readonly rotateKeys: (signingKeys: readonly SigningKeySource[]) => void;
  /**
   * Middleware that lets a request pass when its access token is good for the API; `req.auth` says what it stands for. A
   * `handler` given here is called then: TypeScript knows that `req.auth` is there, and behind `subject: "required"` its
   * `subject` too. What it throws or rejects with goes to `next`.
   *
   * @throws TypeError when the API or a scope is unknown.
   * @rfc 6750 §2.1, §3
   */
  readonly requireBearer: RequireBearer;
  /**
   * Answers a request that needs more scope than its token has, when only the handler can know: 403 `insufficient_scope`, or 401
   * where no `requireBearer` has set `req.auth`. Call it in place of an answer of your own.
   *
   * @throws TypeError when the API or a scope is unknown.
   * @rfc 6750 §3.1
   */
  readonly challenge: (req: Request, res: Response, options: ChallengeOptions) => void;
  /** On a page of the host: who is asking for what; `undefined` when nothing is pending, or not any more. */
  readonly interaction: (req: Request) => Promise<Interaction | undefined>;
  /** Ends the host's sign-in page: back to the authorization endpoint. */
  readonly resume: (req: Request, res: Response) => void;
  /**
   * Ends the host's consent page with a yes, for all scopes that `auth.interaction` shows or for some. Serves a POST from this
   * origin only. No scope in the list is a no. `scopes: undefined` is refused, as it is what a form with nothing ticked gives;
   * leave `scopes` out for all.
   */
  readonly approve: (
    req: Request,
    res: Response,
    decision?: { readonly scopes?: readonly string[] },
  ) => Promise<void>;
  /** Ends any page of the host with a no: the client is told `access_denied`. */
  readonly deny: (req: Request, res: Response) => Promise<void>;
  /** Remembered consents, for the host's account page. */
  readonly consents: {
    readonly list: (subject: string) => Promise<readonly Consent[]>;
    /**
     * Forgets the consent and revokes everything that descends from it, at every authentication method of the API. It wins against
     * an approval that is under way. When it rejects, the consent may still be listed: call it again. A key that nothing is
     * stored for is no error; the event is `nothing-to-revoke` then.
     *
     * @throws TypeError (as a rejection) when a part of the key is missing
     */
    readonly revoke: (key: ConsentKey) => Promise<void>;
  };
}
