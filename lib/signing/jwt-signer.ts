/** JWT access tokens: signed by `jsonwebtoken`, verified here. RFC 9068 §2.1, §4; 7515 §5.2; 7518 §3; 8725 §3. */
import { constants, verify, type VerifyKeyObjectInput } from "node:crypto";
import jwt from "jsonwebtoken";
import type { AccessTokenClaims } from "../protocol/access-token";
import type { Clock } from "../protocol/time";
import type { KeyRing } from "./key-ring";
import type { AccessTokenSigner } from "./port";
import type { SigningKey } from "./signing-key";

interface JwtHeader {
  readonly alg?: unknown;
  readonly typ?: unknown;
  readonly kid?: unknown;
  readonly crit?: unknown;
}

function parseObject(encoded: string): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, "base64url").toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Refuses JWTs of other kinds, and critical extensions, which this server does not know. @rfc 9068 §4, 8725 §3 */
function isAccessTokenHeader({ typ, crit }: JwtHeader): boolean {
  return crit === undefined && typeof typ === "string" && /^(?:application\/)?at\+jwt$/i.test(typ);
}

/** How to check signatures of this key. ECDSA signatures in JWTs are plain r and s, not DER. @rfc 7518 §3.3, §3.4, §3.5 */
function verifyInput({ algorithm, publicKey: key }: SigningKey): VerifyKeyObjectInput {
  if (algorithm.startsWith("ES")) return { key, dsaEncoding: "ieee-p1363" };
  if (algorithm.startsWith("RS")) return { key, padding: constants.RSA_PKCS1_PADDING };
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
}

/** True when the key made this signature. @rfc 7515 §5.2 */
function isSignedBy(key: SigningKey, { signed, encoded }: { signed: string; encoded: string }): boolean {
  const signature = Buffer.from(encoded, "base64url");
  // decoding is lenient: accept only the one base64url form of these bytes, so that a token has one text. RFC 4648 §3.5
  if (signature.toString("base64url") !== encoded) return false;
  const hash = `sha${key.algorithm.slice(2)}`;
  return verify(hash, Buffer.from(signed), verifyInput(key), signature);
}

/**
 * A signer that signs with the active key. It verifies with the key that `kid` names and only with that key's own algorithm: a
 * token must not choose how it is checked. `jsonwebtoken` does not verify, because it creates an error with a stack for each
 * forged token, and a stranger decides how many of those arrive.
 *
 * @rfc 9068 §2.1, §4, 8725 §3
 */
export function jwtSigner(ring: KeyRing, clock: Clock): AccessTokenSigner {
  return {
    sign(claims) {
      const { algorithm, kid, privateKey } = ring.active(clock());
      return jwt.sign({ ...claims }, privateKey, {
        algorithm,
        header: { alg: algorithm, typ: "at+jwt", kid },
      });
    },
    verify(token) {
      const [header = "", payload = "", signature = "", ...more] = token.split(".");
      const presented: JwtHeader | undefined = parseObject(header);
      if (more.length > 0 || !presented || !isAccessTokenHeader(presented)) return undefined;
      const key = ring.published(clock()).find(({ kid }) => kid === presented.kid);
      if (!key || key.algorithm !== presented.alg) return undefined;
      if (!isSignedBy(key, { signed: `${header}.${payload}`, encoded: signature })) return undefined;
      const claims = parseObject(payload) as AccessTokenClaims | undefined;
      return claims && { claims, key };
    },
    trusts: (key) => ring.published(clock()).includes(key),
  };
}
