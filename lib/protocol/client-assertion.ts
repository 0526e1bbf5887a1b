/** Client assertions: the signed JWT by which a client proves itself. RFC 7521 §4.2; 7523 §2.2, §3; 7515 §4.1, §5.2; 7519 §4.1; 8725 §3. */
import { endpoints, type Issuer } from "./issuer";
import { type JsonObject, parseSignedJwt } from "./signed-jwt";
import { digestToken, type TokenDigest } from "./token-value";
import type { EpochSeconds } from "./time";

/**
 * The algorithms of client assertions. They are all asymmetric. `EdDSA` and `Ed25519` are two names for signatures with Ed25519.
 *
 * @rfc 7518 §3.1, 8037 §3.1, 9864 §2.2
 */
export const assertionAlgorithms = ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"] as const;

/** An algorithm of client assertions. */
export type AssertionAlgorithm = (typeof assertionAlgorithms)[number];

/** The one value of `client_assertion_type`. @rfc 7523 §2.2 */
export const jwtBearerType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The claims of an assertion. Others are ignored. @rfc 7523 §3 */
export interface AssertionClaims {
  readonly iss: string;
  readonly sub: string;
  /** True where the one audience came in a list. */
  readonly isAudList: boolean;
  /** The one audience. A list with one element is read as that element. */
  readonly aud: string;
  readonly jti: string;
  readonly exp: number;
  readonly iat: number | undefined;
  readonly nbf: number | undefined;
}

/** An assertion that has the right form. Its claims and its signature have not been checked. */
export interface ClientAssertion {
  readonly kind: "assertion";
  readonly algorithm: AssertionAlgorithm;
  readonly keyId: string | undefined;
  readonly claims: AssertionClaims;
  /** The text that the signature is for. @rfc 7515 §5.2 */
  readonly signed: string;
  readonly signature: Buffer;
}

/** Why an assertion is refused. For events: no text contains anything of the assertion. */
export const assertionReasons = {
  "assertion-too-long": "the assertion is longer than 8192 characters: leave out what RFC 7523 does not need",
  "assertion-not-a-jwt":
    "the assertion is not a signed JWT (RFC 7515 §7.1, 7519 §7.2): send header, claims and signature as base64url, with dots between them",
  "assertion-alg-unsupported":
    "alg of the assertion is not supported (RFC 8414 §2, 8725 §3.1): sign with one of token_endpoint_auth_signing_alg_values_supported in the metadata, such as ES256",
  "assertion-typ-wrong":
    "typ of the assertion must be client-authentication+jwt or JWT, or be left out (RFC 8725 §3.11)",
  "assertion-with-crit": "the assertion has crit, which is not supported (RFC 7515 §4.1.11): leave it out",
  "assertion-kid-not-text": "kid of the assertion must be a string (RFC 7515 §4.1.4)",
  "assertion-kid-unknown":
    "no key of the client has the kid of the assertion (RFC 7515 §4.1.4): add the public key to jwks of the client's record or to the document at jwksUri, or sign with a key that is there",
  "assertion-iss-or-sub-wrong": "iss and sub of the assertion must both be the client id (RFC 7523 §3)",
  "assertion-aud-not-one-text":
    "aud of the assertion must be one string, or a list of one (RFC 7523 §3): the issuer",
  "assertion-aud-wrong": "aud of the assertion must be the issuer, as the metadata has it (RFC 7523 §3)",
  "assertion-aud-token-endpoint":
    "aud of the assertion is the token endpoint (RFC 7523 §3): send the issuer, or set allowTokenEndpointAudience in the client's record",
  "assertion-aud-in-list":
    'the API has profile: "fapi2", and aud of the assertion is a list (FAPI 2.0 Security Profile §5.3.2.1): send the issuer as text',
  "assertion-jti-malformed":
    "jti of the assertion must have 1 to 255 characters (RFC 7523 §3): send a new random one each time",
  "assertion-exp-malformed": "exp of the assertion must be a number: seconds since 1970 (RFC 7523 §3)",
  "assertion-times-malformed": "iat and nbf of the assertion must be seconds since 1970 (RFC 7519 §4.1)",
  "assertion-expired": "the assertion has expired (RFC 7523 §3): sign a new one for each request",
  "assertion-too-old": "the assertion was signed over 300 seconds ago (RFC 7523 §3): sign one per request",
  "assertion-lives-too-long":
    "the assertion has no iat, and expires more than 300 seconds from now (RFC 7523 §3): send iat, or an earlier exp; both are seconds, not milliseconds",
  "assertion-from-the-future":
    "iat or nbf of the assertion is in the future (RFC 7523 §3): check the client's clock, and that it writes seconds, not milliseconds",
  "assertion-fits-no-key":
    "no key of the client fits alg of the assertion (RFC 8725 §3.1): check kty, crv, alg, use and key_ops of its keys, and the size of RSA keys",
  "assertion-signature-wrong":
    "no key of the client verifies the signature of the assertion (RFC 7523 §3): sign with a key whose public part is in jwks of the client's record or at its jwksUri",
  "assertion-used-before":
    "the assertion was used before (RFC 7523 §3): sign a new one, with a new jti, for each request",
} as const;

/** Which of them. */
export type AssertionProblem = keyof typeof assertionReasons;

/** Why a text is not a client assertion. */
export interface UnreadableAssertion {
  readonly kind: "unreadable";
  readonly problem: AssertionProblem;
}

// several times what an assertion with an RSA signature takes
const maxCharacters = 8_192;
const maxJtiCharacters = 255;
// with an iat, how long the assertion is accepted whatever its exp; without one, how far ahead exp may be
const lifeSeconds = 300;
/** How far the clock of who signs may differ: so much is allowed at both ends of an assertion's life. */
export const toleranceSeconds = 30;

function unreadable(problem: AssertionProblem): UnreadableAssertion {
  return { kind: "unreadable", problem };
}

/** True for the media types of such assertions, which may be left out. `application/` is optional. @rfc 7515 §4.1.9 */
function isAssertionType(typ: unknown): boolean {
  if (typ === undefined) return true;
  return typeof typ === "string" && /^(?:application\/)?(?:jwt|client-authentication\+jwt)$/i.test(typ);
}

function headerProblem(
  { alg, typ, kid, ...others }: JsonObject,
  isType: (typ: unknown) => boolean,
): AssertionProblem | undefined {
  if (!assertionAlgorithms.some((known) => known === alg)) return "assertion-alg-unsupported";
  if (!isType(typ)) return "assertion-typ-wrong";
  if ("crit" in others) return "assertion-with-crit";
  return kid === undefined || typeof kid === "string" ? undefined : "assertion-kid-not-text";
}

/** The audience, if there is exactly one. With several, another server could use the assertion here, or this one there. */
export function oneAudience(aud: unknown): string | undefined {
  const [first, ...more]: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return more.length === 0 && typeof first === "string" ? first : undefined;
}

/** True for seconds since 1970, perhaps with a fraction. @rfc 7519 §2 */
export function isTime(value: unknown): value is number {
  return Number.isFinite(value);
}

function isOptionalTime(value: unknown): value is number | undefined {
  return value === undefined || isTime(value);
}

function readClaims(payload: JsonObject): AssertionClaims | UnreadableAssertion {
  const { iss, sub, aud, jti, exp, iat, nbf } = payload;
  if (typeof iss !== "string" || typeof sub !== "string") return unreadable("assertion-iss-or-sub-wrong");
  const audience = oneAudience(aud);
  if (audience === undefined) return unreadable("assertion-aud-not-one-text");
  if (typeof jti !== "string" || jti === "" || jti.length > maxJtiCharacters)
    return unreadable("assertion-jti-malformed");
  if (!isTime(exp)) return unreadable("assertion-exp-malformed");
  if (!isOptionalTime(iat) || !isOptionalTime(nbf)) return unreadable("assertion-times-malformed");
  return { iss, sub, aud: audience, isAudList: Array.isArray(aud), jti, exp, iat, nbf };
}

/** The parts of an assertion of any kind. */
export interface SignedParts extends Omit<ClientAssertion, "kind" | "claims"> {
  readonly payload: JsonObject;
}

/** The parts of a signed text with a header that this server understands, or why it is none. @rfc 7515 §5.2, 7519 §4, 8725 §3.11 */
export function readSigned(
  text: string,
  isType: (typ: unknown) => boolean,
): SignedParts | UnreadableAssertion {
  if (text.length > maxCharacters) return unreadable("assertion-too-long");
  const jwt = parseSignedJwt(text);
  if (!jwt) return unreadable("assertion-not-a-jwt");
  const { header, ...parts } = jwt;
  const problem = headerProblem(header, isType);
  if (problem !== undefined) return unreadable(problem);
  const algorithm = header["alg"] as AssertionAlgorithm;
  return { ...parts, algorithm, keyId: header["kid"] as string | undefined };
}

/** Reads the form of an assertion. @rfc 7515 §5.2, 7519 §4, 7523 §3 */
export function parseClientAssertion(text: string): ClientAssertion | UnreadableAssertion {
  const read = readSigned(text, isAssertionType);
  if ("problem" in read) return read;
  const { payload, ...signed } = read;
  const claims = readClaims(payload);
  return "problem" in claims ? claims : { kind: "assertion", ...signed, claims };
}

/** What the claims must say. */
export interface ExpectedClaims {
  readonly issuer: Issuer;
  readonly clientId: string;
  /** Whether `aud` may also be the token endpoint. */
  readonly allowTokenEndpointAudience: boolean;
  readonly now: EpochSeconds;
}

/** When the assertion ends: libraries sign some for an hour, and only the first five minutes are accepted. */
function endOf({ exp, iat = Infinity }: Pick<AssertionClaims, "exp" | "iat">): EpochSeconds {
  return Math.min(exp, iat + lifeSeconds);
}

/**
 * Which rule the claims break, or `undefined` when they are good.
 *
 * @rfc 7523 §3, 7519 §4.1
 */
export function claimsProblem(
  { iss, sub, aud, isAudList, exp, iat, nbf }: AssertionClaims,
  { issuer, clientId, allowTokenEndpointAudience, now }: ExpectedClaims,
): AssertionProblem | undefined {
  if (iss !== clientId || sub !== clientId) return "assertion-iss-or-sub-wrong";
  const isEndpoint = [endpoints.token, endpoints.pushed_authorization_request].some(
    ({ path }) => aud === `${issuer.identifier}/${path}`,
  );
  const { assertionAudience } = issuer.api;
  if (assertionAudience && isAudList) return "assertion-aud-in-list";
  if (aud !== issuer.identifier && !(isEndpoint && allowTokenEndpointAudience && !assertionAudience))
    return isEndpoint ? "assertion-aud-token-endpoint" : "assertion-aud-wrong";
  if (now >= exp + toleranceSeconds) return "assertion-expired";
  const latest = now + toleranceSeconds;
  if (iat === undefined && exp > latest + lifeSeconds) return "assertion-lives-too-long";
  if (now >= endOf({ exp, iat }) + toleranceSeconds) return "assertion-too-old";
  if ((iat ?? now) > latest || (nbf ?? now) > latest) return "assertion-from-the-future";
  return undefined;
}

/**
 * What is stored of an assertion that has been used: a digest that stands for the client and its `jti`, and the moment from which
 * the assertion is refused because of its age.
 *
 * @rfc 7523 §3
 */
export function usedAssertion({ sub, jti, exp, iat }: AssertionClaims): {
  readonly digest: TokenDigest;
  readonly clientId: string;
  readonly expiresAt: EpochSeconds;
} {
  // as JSON, because no other pair of texts gives the same text
  const digest = digestToken(JSON.stringify([sub, jti]));
  return { digest, clientId: sub, expiresAt: Math.ceil(endOf({ exp, iat })) + toleranceSeconds };
}
