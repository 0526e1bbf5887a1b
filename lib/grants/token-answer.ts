/** The success answer of every grant, and what is left of a token by then. RFC 6749 §5.1. */
import type { ClientRequest } from "../clients/authenticate-client";
import { OAuthError } from "../protocol/oauth-error";
import { tokenResponse, type TokenResponse } from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import type { DecidedToken } from "../tokens/decide-token";
import type { IssuedRefreshToken } from "../tokens/issue-tokens";

/** What telling the time takes. */
export interface AnswerPorts {
  readonly clock: Clock;
}

/** What the life of an access token follows from. */
export interface Decided {
  readonly request: ClientRequest;
  readonly decided: DecidedToken;
}

/** Tokens that the client is given. */
export interface Issued extends Decided {
  readonly accessToken: string;
  /** `undefined` when the client may not refresh. */
  readonly refreshToken: IssuedRefreshToken | undefined;
}

/** Seconds since the request came. One more second may be a moment, at its turn, and a clock that was set back makes nothing live longer. */
function secondsSince({ now }: ClientRequest, clock: Clock): number {
  const passed = clock() - now;
  return passed > 1 ? passed : 0;
}

/**
 * To be called before a code or refresh token is spent: the host's decision and storage may have taken as long as the access token
 * lives.
 *
 * @throws OAuthError `temporarily_unavailable` when nothing is left of it
 */
export function checkAlive({ clock }: AnswerPorts, { request, decided }: Decided): void {
  if (secondsSince(request, clock) < decided.accessTokenSeconds) return;
  throw new OAuthError("temporarily_unavailable", {
    description: "Try again later.",
    reason:
      "tokens.decide and storage took as long as the access token lives: make them faster, or accessTokenSeconds longer",
  });
}

/** The success answer. It states what is left of each life: all began with the request, and the answer may have taken a while. @rfc 6749 §5.1 */
export function tokenAnswer({ clock }: AnswerPorts, issued: Issued): TokenResponse {
  const { request, decided, accessToken, refreshToken } = issued;
  const passed = secondsSince(request, clock);
  // never 0, which some clients take for "no end"
  const left = (seconds: number): number => Math.max(1, seconds - passed);
  const statedSeconds = refreshToken?.statedSeconds;
  return tokenResponse({
    accessToken,
    accessTokenSeconds: left(decided.accessTokenSeconds),
    refreshToken: refreshToken?.token,
    refreshTokenSeconds: statedSeconds === undefined ? undefined : left(statedSeconds),
    scopes: decided.scopes,
  });
}
