/** The authorization code: its record, and the proofs its redemption takes. RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1. */
import type { Authorization } from "./authorization";
import type { Client } from "./client";
import type { EpochSeconds } from "./epoch-seconds";
import { belongsTo, type Issuer } from "./issuer";
import { codeVerifierMatches } from "./pkce";
import type { TokenHandle } from "./token-value";

/** What is stored of a code: never the code itself. */
export interface AuthorizationCode extends TokenHandle {
  /** The redirect URI of the authorization request, given or registered. */
  readonly redirectUri: string;
  readonly codeChallenge?: string;
  /** From this moment on it buys nothing. */
  readonly redeemBefore: EpochSeconds;
  /** Storage forgets it then; until then a replay is noticed. */
  readonly expiresAt: EpochSeconds;
  readonly consumed: boolean;
}

export interface Redemption {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
}

/** Why the presenter has not proved that the code is theirs, or `undefined` when they have. */
export function redemptionProblem(
  stored: { code: AuthorizationCode; authorization: Authorization },
  { issuer, client, redirectUri, codeVerifier }: Redemption,
): string | undefined {
  const { code, authorization } = stored;
  if (!belongsTo(authorization, issuer)) return "the code was issued at another authorization server";
  if (authorization.clientId !== client.clientId) return "the code was issued to another client";
  if (redirectUri !== undefined && redirectUri !== code.redirectUri)
    return "redirect_uri is not the one used";
  if (code.codeChallenge === undefined) {
    return codeVerifier === undefined ? undefined : "code_verifier without an earlier code_challenge";
  }
  if (codeVerifier === undefined) return "code_verifier is missing";
  return codeVerifierMatches(codeVerifier, code.codeChallenge) ? undefined : "code_verifier does not match";
}
