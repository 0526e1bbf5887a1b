/** Why `requireBearer` refuses a request. RFC 6750 §3. */
import type { AccessToken } from "../protocol/access-token";
import type { ChallengeParameters } from "../protocol/bearer-token";

/** Why a request does not pass: `description` goes to the client, `reason` to the event. */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  /** Left out when no token was sent. @rfc 6750 §3 */
  readonly error?: NonNullable<ChallengeParameters["error"]>;
  readonly description: string;
  readonly reason: string;
  /** The token, when it is valid but not sufficient here. */
  readonly accessToken?: AccessToken;
}

/** No token can be read in the request. @rfc 6750 §3.1 */
export function malformed(reason: string): Refusal {
  return {
    status: 400,
    error: "invalid_request",
    description: "The request's access token is malformed.",
    reason,
  };
}

/** The request has no token. @rfc 6750 §3 */
export function noToken(reason: string): Refusal {
  return { status: 401, description: "This request needs an access token.", reason };
}

/** For a valid token with too few scopes. @rfc 6750 §3.1 */
export function lacksScope(accessToken: AccessToken): Refusal {
  return {
    status: 403,
    error: "insufficient_scope",
    description: "The access token lacks a scope.",
    reason: "the access token lacks a scope",
    accessToken,
  };
}

/** For a valid token of the wrong kind. Not `insufficient_scope`: the client would ask for more scope, which does not help. */
export function wrongSubject(needed: "required" | "forbidden", accessToken: AccessToken): Refusal {
  const [description, reason] =
    needed === "required"
      ? ["This request needs an access token of an end user.", "the access token has no end user"]
      : ["This request needs an access token of the client itself.", "the access token has an end user"];
  return { status: 401, error: "invalid_token", description, reason, accessToken };
}
