/** How and when the person behind an access token must have signed in. RFC 9470 §3. */
import type { AccessToken } from "../protocol/access-token";
import type { ChallengeParameters } from "../protocol/bearer-token";
import type { ProtectedApi } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";
import { because } from "../protocol/oauth-error";
import { quoted } from "../protocol/parameters";
import { parseScope } from "../protocol/scope";
import { type Clock, earliestOf } from "../protocol/time";

const mistake = mistakesOf({
  "unknown-acr-of-route": (by: string, rule: string) => `${by}: acr ${rule}`,
  "wrong-max-age-of-route": (by: string) => `${by}: maxAge must be whole seconds, 0 or more.`,
});

/** Refusals of tokens whose sign-in is not enough for a route. */
export const stepUpReasons = {
  "access-token-acr-differs": (wanted: string, held?: string): string =>
    `the access token has ${held === undefined ? "no acr" : `acr ${quoted(held)}`}, and the route takes ${quoted(wanted)} (RFC 9470 §3): the client must send the person to sign in again, with the acr_values of the challenge`,
  "access-token-sign-in-too-old":
    "the sign-in behind the access token is older than maxAge of the route, or authenticate returned no authTime (RFC 9470 §3): the client must send the person to sign in again, with the max_age of the challenge",
} as const;

/** What a route or handler wants of a sign-in. */
export interface SignInOptions {
  /**
   * The `acr` that `authenticate` must have returned: one of these. Values are compared as they are; none is higher than another, so list
   * the stronger ones too. Each must be in `acrValues` of the API. Tokens without a person do not pass.
   */
  readonly acr?: string | readonly string[];
  /** The greatest age of the sign-in, in seconds, by the `authTime` of `authenticate`. A refresh does not renew it. Tokens without a person do not pass. */
  readonly maxAge?: number;
}

/** The same, checked. */
export interface SignInRule {
  isMet(token: AccessToken): boolean;
  /** Why a token does not meet it, or not in the eyes of a handler. For events. */
  why(token: AccessToken): ReturnType<typeof because>;
  readonly parameters: Pick<ChallengeParameters, "acr_values" | "max_age">;
}

/** True for a value of `acr_values`, which has them separated by spaces. @rfc OpenID Connect Core §3.1.2.1 */
function isAcrValue(value: unknown): value is string {
  return typeof value === "string" && parseScope(value)?.[0] === value;
}

function readAcr(acr: unknown, { api, by }: { api: ProtectedApi; by: string }): readonly string[] {
  const values: readonly unknown[] = Array.isArray(acr) ? [...(acr as unknown[])] : [acr];
  const { acrValues } = api;
  const isKnown = (value: unknown): value is string =>
    isAcrValue(value) && (acrValues === undefined || acrValues.includes(value));
  if (values.length > 0 && values.every(isKnown)) return values;
  const named = acrValues?.length === 0 ? ", and it has none" : `: ${acrValues?.join(", ")}`;
  const known = acrValues ? `of acrValues of ${api.apiId}${named}` : "values without spaces";
  throw mistake("unknown-acr-of-route", by, `must be one or more ${known}.`);
}

/** The rule of a route, or `undefined` where it has none. @throws TypeError when an option is wrong */
export function readSignIn(
  options: SignInOptions,
  { api, by, clock }: { api: ProtectedApi; by: string; clock: Clock },
): SignInRule | undefined {
  const { maxAge } = options;
  if (options.acr === undefined && maxAge === undefined) return undefined;
  const acr = options.acr === undefined ? undefined : readAcr(options.acr, { api, by });
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 0))
    throw mistake("wrong-max-age-of-route", by);
  const hasAcr = (token: AccessToken): boolean =>
    !acr || (token.acr !== undefined && acr.includes(token.acr));
  return {
    isMet: (token) => {
      const { authTime } = token;
      if (maxAge === undefined || !hasAcr(token)) return hasAcr(token);
      const now = clock();
      return authTime !== undefined && now - earliestOf(authTime, now) <= maxAge;
    },
    why: (token) =>
      hasAcr(token)
        ? because(stepUpReasons, "access-token-sign-in-too-old")
        : because(stepUpReasons, "access-token-acr-differs", (acr ?? []).join(" "), token.acr),
    parameters: {
      ...(acr && { acr_values: acr.join(" ") }),
      ...(maxAge !== undefined && { max_age: String(maxAge) }),
    },
  };
}
