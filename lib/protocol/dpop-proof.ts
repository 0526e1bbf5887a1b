/** DPoP proofs: what the signed JWT of a request must say. RFC 9449 §4.2, §4.3; 3986 §6.2.2; 7515 §4.1. */
import type { PublicJwk } from "./client";
import type { TextParts } from "./mistake";
import { because } from "./oauth-error";
import { quoted, quotedUri } from "./parameters";
import { parseUrl } from "./parsed-url";
import { type JsonObject, parseSignedJwt, proofAlgorithms, type SignedJwt } from "./signed-jwt";
import type { EpochSeconds } from "./time";
import { digestToken } from "./token-value";

export { proofAlgorithms };

/** An algorithm of proofs. */
export type ProofAlgorithm = (typeof proofAlgorithms)[number];

/** The request that a proof must be for. */
export interface ExpectedProof {
  readonly method: string;
  /** The URL as clients know it. */
  readonly url: string;
  readonly now: EpochSeconds;
  /** The access token that comes with the proof. Left out at the token endpoint. */
  readonly accessToken?: string;
}

/** A claim as a reason may tell it. */
function shown(claim: unknown): string {
  return typeof claim === "string" ? claim : typeof claim;
}

/** Why a proof is refused. */
export const proofReasons = {
  "proof-several-headers": "the request has several DPoP headers (RFC 9449 §4.3): send one",
  "proof-too-long": "the proof is longer than 8192 characters: leave out what RFC 9449 §4.2 does not need",
  "proof-not-a-jwt":
    "the DPoP header is not a signed JWT (RFC 9449 §4.3): send header, claims and signature as base64url, with dots between them",
  "proof-typ-wrong": "typ of the proof must be dpop+jwt (RFC 9449 §4.2)",
  "proof-alg-unsupported":
    "alg of the proof is not supported (RFC 9449 §4.3): sign with ES256, EdDSA, Ed25519 or PS256",
  "proof-with-crit": "the proof has crit, which is not supported (RFC 7515 §4.1.11): leave it out",
  "proof-key-private":
    "jwk of the proof has the private key (RFC 9449 §4.3), which others may now know: make a new key pair, and send the public key only",
  "proof-key-unusable":
    "jwk of the proof is not a public key for its alg (RFC 9449 §4.2): send EC with P-256, OKP with Ed25519, or RSA with 2048 to 8192 bits",
  "proof-jti-malformed":
    "jti of the proof must have 1 to 255 characters (RFC 9449 §4.2): send a new random one each time",
  "proof-htm-wrong": (htm: unknown, method: string): string =>
    `htm of the proof is ${quoted(shown(htm))}, and the request is ${quoted(method)} (RFC 9449 §4.3): sign a proof for each request`,
  "proof-htu-wrong": (htu: unknown, url: string): string =>
    `htu of the proof is ${quotedUri(shown(htu))}, and the request is for ${quotedUri(url)} (RFC 9449 §4.3): sign the URL of the request without its query; if a proxy changes paths, set publicUrl in dpop of the API`,
  "proof-iat-malformed": "iat of the proof must be a number: seconds since 1970 (RFC 9449 §4.2)",
  "proof-too-old":
    "the proof was signed over 60 seconds ago (RFC 9449 §4.3): sign one for each request, and check the client's clock",
  "proof-from-the-future":
    "iat of the proof is in the future (RFC 9449 §4.3): check the client's clock, and that it writes seconds, not milliseconds",
  "proof-ath-wrong":
    "ath of the proof is not the SHA-256 of the access token in base64url (RFC 9449 §4.2): sign a proof for each token",
  "proof-signature-wrong":
    "jwk of the proof does not verify its signature (RFC 9449 §4.3): sign with the private key of this jwk",
} as const;

/** Which of them. */
export type ProofProblem = keyof typeof proofReasons;

/** A proof that is not good. */
export interface InvalidProof {
  readonly kind: "invalid";
  readonly code: ProofProblem;
  readonly reason: string;
}

/** A proof that is for the request. Its key and its signature have not been checked. */
export interface ReadableProof extends Pick<SignedJwt, "signed" | "signature"> {
  readonly kind: "readable";
  readonly algorithm: ProofAlgorithm;
  readonly jwk: PublicJwk;
  readonly proofId: string;
}

// several times what a proof with an RSA key takes
const maxCharacters = 8_192;
const maxJtiCharacters = 255;
const lifeSeconds = 60;
// how far the client's clock may be ahead
const toleranceSeconds = 30;

/** The verdict on a proof that is not good. */
export function invalidProof<Code extends ProofProblem>(
  code: Code,
  ...parts: TextParts<(typeof proofReasons)[Code]>
): InvalidProof {
  return { kind: "invalid", ...because(proofReasons, code, ...parts) };
}

/** A character that means the same without encoding is decoded; no other one, such as `/`, is. @rfc 3986 §6.2.2 */
function normalEncoding(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
}

// a URL has no such segments and slashes, so no client sends them; but routes see those that come, and match them
const unresolved = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** The one way to write a URL, without its query and fragment. @rfc 9449 §4.3, 3986 §6.2.2, §6.2.3 */
function normalUrl(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return undefined;
  url.search = "";
  url.hash = "";
  return url.href.replaceAll(/%[\da-f]{2}/gi, normalEncoding);
}

function headerProblem({ typ, alg, crit, jwk }: JsonObject): InvalidProof | undefined {
  if (typ !== "dpop+jwt") return invalidProof("proof-typ-wrong");
  if (!proofAlgorithms.some((known) => known === alg)) return invalidProof("proof-alg-unsupported");
  if (crit !== undefined) return invalidProof("proof-with-crit");
  return typeof Object(jwk).kty === "string" ? undefined : invalidProof("proof-key-unusable");
}

function claimsProblem(
  { jti, htm, htu, iat, ath }: JsonObject,
  { method, url, now, accessToken }: ExpectedProof,
): InvalidProof | undefined {
  if (typeof jti !== "string" || jti === "" || jti.length > maxJtiCharacters)
    return invalidProof("proof-jti-malformed");
  if (htm !== method) return invalidProof("proof-htm-wrong", htm, method);
  const sentUrl = typeof htu === "string" ? normalUrl(htu) : undefined;
  if (sentUrl === undefined || sentUrl !== normalUrl(url) || unresolved.test(url))
    return invalidProof("proof-htu-wrong", htu, url);
  if (typeof iat !== "number") return invalidProof("proof-iat-malformed");
  if (now - iat > lifeSeconds) return invalidProof("proof-too-old");
  if (iat - now > toleranceSeconds) return invalidProof("proof-from-the-future");
  return accessToken === undefined || ath === digestToken(accessToken)
    ? undefined
    : invalidProof("proof-ath-wrong");
}

/**
 * Reads the proof in the `DPoP` headers of a request; `undefined` where there are none. Everything is checked that needs no key.
 *
 * @rfc 9449 §4.3
 */
export function readProof(
  headers: readonly string[],
  expected: ExpectedProof,
): ReadableProof | InvalidProof | undefined {
  const [text, ...more] = headers;
  if (text === undefined) return undefined;
  if (more.length > 0) return invalidProof("proof-several-headers");
  if (text.length > maxCharacters) return invalidProof("proof-too-long");
  const jwt = parseSignedJwt(text);
  if (!jwt) return invalidProof("proof-not-a-jwt");
  const { header, payload, signed, signature } = jwt;
  const problem = headerProblem(header) ?? claimsProblem(payload, expected);
  if (problem) return problem;
  return {
    kind: "readable",
    algorithm: header["alg"] as ProofAlgorithm,
    jwk: header["jwk"] as PublicJwk,
    proofId: payload["jti"] as string,
    signed,
    signature,
  };
}
