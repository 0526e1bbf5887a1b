/** What can be wrong with an option, with stable ids. RFC 3986 §6.2 (normal form), 6749 §10, 8414 §2, 8707 §2. */
import { plainRule } from "../host/plain";
import { codedText, type HostMistake, hostMistake, type TextParts } from "../protocol/mistake";
import { parseUrl } from "../protocol/parsed-url";
import { isLoopbackHost } from "../protocol/redirect-uri";

const optionProblems = {
  "option-missing": "is missing",
  "option-unknown": "is not an option",
  "option-undefined": "is undefined",
  "option-not-plain": (): string => plainRule,
  "option-empty": "must not be empty",
  "option-not-a-function": "must be a function",
  "option-without-method": (method: string): string => `lacks the method ${method}`,
  "option-of-wrong-form": (rule: string): string => rule,
  "listed-twice": "is listed twice",
  "url-not-absolute": "is not an absolute URL",
  "url-not-https": "must be https",
  "url-with-query-or-fragment": "must have neither query nor fragment",
  "url-with-user-or-password": "must not contain a user name or password",
  // clients and tokens compare URLs as text, so two spellings of one URL would not match
  "url-not-normal": (normal: string): string => `is not in its normal form, ${normal}`,
  "url-ends-with-slash": "ends with a slash",
  "variable-not-set": "is empty: the environment variable may not be set",
  "short-secret": "is shorter than 32 characters",
  "secret-with-white-space": "contains white space, as a phrase does, or a file with a line break at its end",
  "missing-in-production": "is missing, and temporary ones are not allowed in production",
  "refused-in-production": "is not allowed in production",
  "unusable-id": "is not a usable id",
  "unusable-scope-name": "is not a scope name",
  "implies-unknown-scope": (names: string): string =>
    `names or leads to ${names}, which this API does not have`,
  "implies-itself": "leads back to the scope itself",
  "unknown-default-scope": (names: string): string => `names ${names}, which this API does not have`,
  "unused-default-scopes": "can never be used, because scope is required",
  "audience-of-two-apis": (other: string): string => `is also the audience of ${other}`,
  "unknown-auth-method": (id: string): string => `is ${id}, which is not an id in authMethods`,
  "idle-lifetime-too-long": "is longer than refreshTokenSeconds",
  "scheme-with-dot": (scheme: string): string => `is ${scheme}, which has a dot, so it need not be listed`,
  "scheme-of-browsers": (scheme: string): string => `is ${scheme}, a scheme that browsers open or run`,
  "unusable-scheme": (scheme: string): string => `is ${scheme}, not a scheme in lower case without ":"`,
  "unusable-origin": (origin: string): string => `is ${origin}, not an origin such as https://app.example`,
  "signing-keys-not-a-list": "is not a list",
  "public-signing-key": "is a public key, and only a private key can sign",
  "unusable-signing-key": "is not a usable private key",
  "unusable-remote-signer": "is not a usable signer",
  "signing-keys-with-one-kid": "has two keys with the same kid",
  "no-key-signs-now": "has no key that may sign now",
  "no-key-for-id-tokens": (algorithm: string): string =>
    `has no key that signs ID tokens with ${algorithm} now`,
  "identity-scope-without-text": "is no scope of this API, so people could not read what it means",
  "reserved-identity-claim": (claim: string): string => `names ${claim}, which only the server may state`,
  "standard-identity-scope": "is a scope whose claims OpenID Connect defines",
  "default-identity-scope": (name: string): string => `names ${name}, for which clients must ask themselves`,
  "redirect-uri-optional-with-openid":
    'is "optional", and OpenID Connect requires redirect_uri (Core §3.1.2.1)',
  "exchange-from-no-other-api": "is not the id of another API",
  "exchange-of-unknown-scope": (names: string, apiId: string): string =>
    `names ${names}, which is no scope of API ${apiId}, or tells of people`,
  "exchange-by-unfit-client": (why: string): string => `names a client that ${why}`,
  "contradicts-profile": (profile: string): string =>
    `contradicts ${profile}, which is "fapi2" (FAPI 2.0 Security Profile §5.3.2)`,
  "signing-key-outside-profile": (algorithm: string): string =>
    `has a key that signs access tokens with ${algorithm}, and an API has profile: "fapi2", which allows ES256 and PS256 (§5.4.1)`,
  "unfetchable-url": "can never be fetched",
  "issuer-of-another-server": "is not below baseUrl, and introspection would send the secret there",
  "not-one-credential": "must have one of clientSecret and privateKey",
  "lag-without-introspection": "has no effect without introspection: JWTs are valid until they expire",
} as const;

/** What can be wrong with an option. */
export type OptionProblemCode = keyof typeof optionProblems;

/** What is wrong, and the words for it. */
export interface Wrong {
  readonly code: OptionProblemCode;
  /** The end of a sentence that begins with the option's path. It quotes no secret and no key. */
  readonly problem: string;
}

/** What is wrong with an option, by its path, and what to write instead. */
export interface OptionProblem extends Wrong {
  readonly path: string;
  readonly fix: string;
}

/** What is wrong, by its id. */
export function wrong<Code extends OptionProblemCode>(
  code: Code,
  ...parts: TextParts<(typeof optionProblems)[Code]>
): Wrong {
  return { code, problem: codedText(optionProblems, { code, parts }) };
}

/** The problem as sentences, which begin with the path. */
export function optionMessage({ path, problem, fix }: OptionProblem): string {
  return `${path} ${problem}. ${fix}`.trim();
}

/** The error that tells the host. `by` is the function that the host called. */
export function optionError(by: string, problem: OptionProblem): HostMistake {
  return hostMistake(problem.code, `${by}: ${optionMessage(problem)}`);
}

/** Why a URL cannot be a `baseUrl` or an audience, or `undefined`. http is only for development on this machine. */
export function urlProblem(text: string): Wrong | undefined {
  const url = parseUrl(text);
  if (!url) return wrong("url-not-absolute");
  const local = url.protocol === "http:" && isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !local) return wrong("url-not-https");
  if (/[?#]/.test(text)) return wrong("url-with-query-or-fragment");
  if (url.username || url.password) return wrong("url-with-user-or-password");
  const normal = text.endsWith("/") ? url.href : url.href.replace(/\/$/, "");
  return normal === text ? undefined : wrong("url-not-normal", normal);
}

/** Why a text cannot be a `baseUrl`, or `undefined`. */
export function baseUrlProblem(baseUrl: string): Wrong | undefined {
  return urlProblem(baseUrl) ?? (baseUrl.endsWith("/") ? wrong("url-ends-with-slash") : undefined);
}
