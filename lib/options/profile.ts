/** The FAPI 2.0 Security Profile, as values of an API's options. FAPI 2.0 Security Profile §5.3.2, §5.4. */
import type { Api, Lifetimes } from "../protocol/issuer";
import type { ApiOptions, AuthServerOptions } from "./options";
import { type OptionProblem, wrong } from "./problem";

/** The algorithms of the profile that signing keys can have. @rfc FAPI 2.0 Security Profile §5.4.1 */
const keyAlgorithms: readonly string[] = ["ES256", "PS256"];

/** What no other option says. */
export const fapi2Rules: Pick<
  Api,
  "clientProof" | "assertionAudience" | "assertionAlgorithms" | "pkce" | "refreshRotation" | "redirects"
> = {
  clientProof: "key",
  assertionAudience: "text",
  assertionAlgorithms: ["ES256", "PS256", "EdDSA", "Ed25519"],
  pkce: "all",
  refreshRotation: "keep",
  redirects: "https",
};

/** The options of the API with what its profile fills in. */
export function withProfile(api: ApiOptions): ApiOptions {
  if (!api.profile) return api;
  const { openid, dpop } = api;
  return {
    ...api,
    pushedRequests: "required",
    redirectUri: "required",
    dpop: { ...dpop, tokens: "required" },
    ...(openid && { openid: { idTokenAlgorithm: "ES256", ...openid } }),
  };
}

/** The algorithms that keys of access tokens may have; `undefined` where no API with a profile has JWTs. */
export function accessAlgorithms({ apis }: Pick<AuthServerOptions, "apis">): readonly string[] | undefined {
  const isBound = Object.values(apis).some(
    ({ profile, accessTokenFormat }) => profile && accessTokenFormat !== "opaque",
  );
  return isBound ? keyAlgorithms : undefined;
}

/** What contradicts the profile of the API. */
export function* profileProblems(
  path: string,
  {
    api,
    lifetimes,
    authMethods,
  }: { api: ApiOptions; lifetimes: Lifetimes } & Pick<AuthServerOptions, "authMethods">,
): Iterable<OptionProblem> {
  const { profile, pushedRequests, deviceAuthorization, redirectUri, dpop, openid } = api;
  if (!profile) return;
  const { authorizationCodeSeconds, refreshRetrySeconds } = lifetimes;
  const { idTokenAlgorithm = "ES256" } = openid ?? {};
  const isVouched = api.authMethods.some((id) => authMethods[id]?.identityAssertions);
  const contradictions: readonly (readonly [name: string, isContrary: boolean, needed: string])[] = [
    ["pushedRequests", pushedRequests === "optional", 'write "required"'],
    // its requests are neither pushed nor bound to a browser, and the profile knows no other grant for people
    ["deviceAuthorization", deviceAuthorization !== undefined, "give devices an API of their own"],
    ["redirectUri", redirectUri === "optional", 'write "required"'],
    ["dpop.tokens", dpop?.tokens === "optional", 'write "required"'],
    ["clientMetadataDocuments", api.clientMetadataDocuments !== undefined, "register each client"],
    ["clientRegistration", api.clientRegistration !== undefined, "register each client"],
    ["authMethods", isVouched, "name methods without identityAssertions"],
    ["lifetimes.authorizationCodeSeconds", authorizationCodeSeconds > 60, "write at most 60"],
    ["lifetimes.refreshRetrySeconds", refreshRetrySeconds > 0, "write 0: refresh tokens are not rotated"],
    ["openid.idTokenAlgorithm", !keyAlgorithms.includes(idTokenAlgorithm), 'write "ES256" or "PS256"'],
  ];
  for (const [name, isContrary, needed] of contradictions)
    if (isContrary)
      yield {
        path: `${path}.${name}`,
        ...wrong("contradicts-profile", `${path}.profile`),
        fix: `Leave it out, or ${needed}.`,
      };
}
