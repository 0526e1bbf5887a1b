/** JWT access tokens: signed by `jsonwebtoken`, verified here. RFC 7515 §5.2; 7517 §5; 7518 §3; 8725 §3; 9068 §2.1, §4; 9700 §2.5. */
import { constants, verify, type VerifyKeyObjectInput } from "node:crypto";
import jwt from "jsonwebtoken";
import type { AccessTokenClaims } from "../protocol/access-token";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { AccessTokenSigner } from "./port";
import type { SigningKey } from "./signing-key";

/**
 * Which key signs now and which keys verify, so that rotation never refuses a valid token. It follows from the keys and the time
 * alone, so all processes agree without talking.
 */
export interface KeyRing {
  /**
   * The key that signs at `now`: the newest one whose `signsFrom` has come.
   *
   * @throws Error when no key may sign yet.
   */
  active(now: EpochSeconds): SigningKey;
  /** Every key that verifies: future keys, the active key, and earlier keys whose tokens may still be alive. */
  published(now: EpochSeconds): readonly SigningKey[];
  /** Replaces the keys. Among keys with the same `signsFrom`, the first one signs. */
  replace(keys: readonly SigningKey[]): void;
}

/** What a key ring starts with. */
export interface KeyRingOptions {
  readonly keys: readonly SigningKey[];
  /** The longest lifetime of a token in seconds: a replaced key goes on verifying for this long. */
  readonly tokenSeconds: number;
}

/** True when a newer key took over longer ago than any token lives. */
function isRetired(
  key: SigningKey,
  { keys, before }: { keys: readonly SigningKey[]; before: EpochSeconds },
): boolean {
  return keys.some(({ signsFrom }) => signsFrom > key.signsFrom && signsFrom <= before);
}

/** A key ring over these keys. @rfc 7517 §5 */
export function keyRing({ keys: initial, tokenSeconds }: KeyRingOptions): KeyRing {
  let keys = initial;
  return {
    active(now) {
      let newest: SigningKey | undefined;
      for (const key of keys) {
        if (key.signsFrom <= now && (!newest || key.signsFrom > newest.signsFrom)) newest = key;
      }
      if (!newest) throw new Error("no signing key is active yet: each signsFrom is in the future");
      return newest;
    },
    published: (now) => keys.filter((key) => !isRetired(key, { keys, before: now - tokenSeconds })),
    replace(next) {
      keys = next;
    },
  };
}

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
      // as text: jsonwebtoken looks up the names in an object, and fails at a claim called constructor
      return jwt.sign(JSON.stringify(claims), privateKey, {
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
