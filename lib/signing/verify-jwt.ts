/** Checks JWT access tokens by public keys. RFC 7515 §5.2; 7518 §3; 8725 §3; 9068 §4. */
import { isUtf8 } from "node:buffer";
import { constants, verify, type VerifyKeyObjectInput } from "node:crypto";
import type { AccessTokenClaims } from "../protocol/access-token";
import type { VerificationKey } from "./verification-key";

/** The parts of a text in the form of a JWT access token. Nothing of it has been verified. */
export interface PresentedJwt {
  readonly kid: unknown;
  readonly alg: unknown;
  readonly payload: string;
  /** What the signature is for. */
  readonly signed: string;
  readonly signature: string;
}

/** The header of a JWT, unchecked. */
export interface JwtHeader {
  readonly alg?: unknown;
  readonly typ?: unknown;
  readonly kid?: unknown;
  readonly crit?: unknown;
}

/** The bytes of a part. Decoding is lenient: only the one base64url form of these bytes is accepted. @rfc 4648 §3.5, 7515 §5.2 */
function decodePart(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, "base64url");
  return bytes.toString("base64url") === encoded ? bytes : undefined;
}

function parseObject(encoded: string): object | undefined {
  const bytes = decodePart(encoded);
  // two different texts that are no UTF-8 would be read as the same one. RFC 7519 §7.2
  if (!bytes || !isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Refuses JWTs of other kinds, and critical extensions, which this library does not know. @rfc 9068 §4, 8725 §3 */
function isAccessTokenHeader({ typ, crit }: JwtHeader): boolean {
  return crit === undefined && typeof typ === "string" && /^(?:application\/)?at\+jwt$/i.test(typ);
}

/** The same for the ID tokens of this server, which all have the type. @rfc OpenID Connect Core §2, 8725 §3.11 */
export function isIdTokenHeader({ typ, crit }: JwtHeader): boolean {
  return crit === undefined && typ === "JWT";
}

/** The parts of a JWT of this kind, by default of an access token, or `undefined` for any other text. @rfc 9068 §4 */
export function parseJwt(
  token: string,
  isOfKind: (header: JwtHeader) => boolean = isAccessTokenHeader,
): PresentedJwt | undefined {
  const [header = "", payload = "", signature = "", ...more] = token.split(".");
  const presented: JwtHeader | undefined = parseObject(header);
  if (more.length > 0 || !presented || !isOfKind(presented)) return undefined;
  const { kid, alg } = presented;
  return { kid, alg, payload, signed: `${header}.${payload}`, signature };
}

/** How to check signatures of this key. ECDSA signatures in JWTs are plain r and s, not DER. @rfc 7518 §3.3, §3.4, §3.5 */
function verifyInput({ algorithm, publicKey: key }: VerificationKey): VerifyKeyObjectInput {
  if (algorithm.startsWith("ES")) return { key, dsaEncoding: "ieee-p1363" };
  if (algorithm.startsWith("RS")) return { key, padding: constants.RSA_PKCS1_PADDING };
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
}

/**
 * True when the key made the signature, with its own algorithm: a token must not choose how it is checked. `jsonwebtoken` does not
 * verify, because it creates an error with a stack for each forged token, and a stranger decides how many of those arrive.
 *
 * @rfc 7515 §5.2, 8725 §3.1
 */
export function isSignedBy(
  { alg, signed, signature: encoded }: Pick<PresentedJwt, "alg" | "signed" | "signature">,
  key: VerificationKey,
): boolean {
  if (key.algorithm !== alg) return false;
  const signature = decodePart(encoded);
  if (!signature) return false;
  const hash = `sha${key.algorithm.slice(2)}`;
  return verify(hash, Buffer.from(signed), verifyInput(key), signature);
}

/** The payload, or `undefined` when it is not a JSON object. Trust it only after the signature is verified. */
export function claimsOf({ payload }: PresentedJwt): AccessTokenClaims | undefined {
  return parseObject(payload) as AccessTokenClaims | undefined;
}
