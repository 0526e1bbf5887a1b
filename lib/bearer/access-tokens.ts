/** The verified tokens of requests that have passed `requireBearer`, for their handlers. */
import type { IncomingMessage } from "node:http";
import type { AccessToken, EndUserAccessToken } from "../protocol/access-token";
import { mistakesOf } from "../protocol/mistake";

const mistake = mistakesOf({
  "unknown-access-token-option":
    'accessToken: the only option is { subject: "required" }. Write it, or leave it out.',
  "route-not-protected": (by: string) =>
    `${by}: this request has not passed requireBearer of this server. Put auth.requireBearer({ api }) in front of the handler.`,
  "access-token-without-subject":
    'accessToken: the access token has no end user. Write subject: "required" in requireBearer of this route.',
});

/** What a request has passed with. */
export interface Passed {
  readonly accessToken: AccessToken;
  /** The audience of the API that the route belongs to. */
  readonly audience: string;
}

/** The verified token of each request that has passed. Not `req.auth`, which other libraries write to as well. */
export interface AccessTokens {
  readonly set: (req: IncomingMessage, passed: Passed) => void;
  readonly get: (req: IncomingMessage) => Passed | undefined;
}

/** Keeps tokens in a property of the request that other code cannot name. A WeakMap would cost a microsecond for each request. */
export function newAccessTokens(): AccessTokens {
  const key = Symbol("access token");
  type PassedRequest = IncomingMessage & { [key]?: Passed };
  return {
    set(req, passed) {
      (req as PassedRequest)[key] = passed;
    },
    get: (req) => (req as PassedRequest)[key],
  };
}

/** The type of `AuthServer.accessToken`. */
export interface ReadAccessToken {
  /** On a route with `subject: "required"`. */
  (req: IncomingMessage, options: { readonly subject: "required" }): EndUserAccessToken;
  /** On any route behind `requireBearer`. */
  (req: IncomingMessage): AccessToken;
}

function asksForSubject(choices: readonly unknown[]): boolean {
  if (choices.length === 0) return false;
  // an option that is misspelt must not remove the check
  if (Object(choices[0]).subject === "required") return true;
  throw mistake("unknown-access-token-option");
}

/**
 * What a request has passed with.
 *
 * @throws TypeError for any other request; `by` is the function that the host has called.
 */
export function passedToken(
  accessTokens: AccessTokens,
  { req, by }: { readonly req: IncomingMessage; readonly by: string },
): Passed {
  const passed = accessTokens.get(req);
  if (passed) return passed;
  throw mistake("route-not-protected", by);
}

/** `auth.accessToken`. */
export function accessTokenReader(accessTokens: AccessTokens): ReadAccessToken {
  function read(req: IncomingMessage, ...choices: readonly unknown[]): AccessToken {
    const needsSubject = asksForSubject(choices);
    const { accessToken } = passedToken(accessTokens, { req, by: "accessToken" });
    if (needsSubject && accessToken.subject === undefined) throw mistake("access-token-without-subject");
    return accessToken;
  }
  // what the check of the subject proves is what the first overload promises
  return read as ReadAccessToken;
}
