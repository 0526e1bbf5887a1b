/** JWTs of this server: signed by `jsonwebtoken` or outside, verified by the key that made them. RFC 7517 §5; 9068 §2.1, §4; 9700 §2.5. */
import jwt from "jsonwebtoken";
import { hostMistake } from "../protocol/mistake";
import type { Clock, EpochSeconds } from "../protocol/time";
import { signOutside } from "./compact-jws";
import type { AccessTokenSigner, IdTokenSigner } from "./port";
import type { SigningKey } from "./signing-key";
import { claimsOf, isIdTokenHeader, isSignedBy, parseJwt } from "./verify-jwt";

/** What a key signs: access tokens, or ID tokens of the algorithm with this name. */
export type KeyUse = "access" | (string & {});

/** True where the key may sign that. One that is marked signs ID tokens only. */
export function serves({ algorithm, for: only }: SigningKey, use: KeyUse): boolean {
  return use === "access" ? only === undefined : use === algorithm;
}

/**
 * Which key signs now and which keys verify, so that rotation never refuses a valid token. It follows from the keys and the time
 * alone, so all processes agree without talking.
 */
export interface KeyRing {
  /**
   * The key that signs this at `now`: the newest one whose `signsFrom` has come.
   *
   * @throws Error when no key may sign yet.
   */
  active(now: EpochSeconds, use?: KeyUse): SigningKey;
  /** Every key that verifies: future keys, the active keys, and earlier keys whose tokens may still be alive. */
  published(now: EpochSeconds): readonly SigningKey[];
  /** All keys, also those whose tokens have all expired. */
  known(): readonly SigningKey[];
  /** Replaces the keys. Among keys with the same `signsFrom`, the first one signs. */
  replace(keys: readonly SigningKey[]): void;
}

/** What a key ring starts with. */
export interface KeyRingOptions {
  readonly keys: readonly SigningKey[];
  /** The longest lifetime of a token in seconds: a replaced key goes on verifying for this long. */
  readonly tokenSeconds: number;
  /** The algorithms of ID tokens. Left out: there are none. */
  readonly idAlgorithms?: readonly string[];
}

/** True while the key signs this, will sign it, or has signed a token that may be alive: no newer key took over longer ago than any token lives. */
function isInUse(
  key: SigningKey,
  { use, keys, before }: { use: KeyUse; keys: readonly SigningKey[]; before: EpochSeconds },
): boolean {
  const isReplaced = keys.some(
    (newer) => newer.signsFrom > key.signsFrom && newer.signsFrom <= before && serves(newer, use),
  );
  return serves(key, use) && !isReplaced;
}

/** A key ring over these keys. @rfc 7517 §5 */
export function keyRing({ keys: initial, tokenSeconds, idAlgorithms = [] }: KeyRingOptions): KeyRing {
  let keys = initial;
  const uses: readonly KeyUse[] = ["access", ...idAlgorithms];
  return {
    active(now, use = "access") {
      let newest: SigningKey | undefined;
      for (const key of keys) {
        if (key.signsFrom <= now && (!newest || key.signsFrom > newest.signsFrom) && serves(key, use))
          newest = key;
      }
      if (!newest)
        throw hostMistake(
          "no-active-signing-key",
          "no signing key is active yet: signsFrom of each is in the future. Add a key to signingKeys that may sign now.",
        );
      return newest;
    },
    published(now) {
      const before = now - tokenSeconds;
      return keys.filter((key) => uses.some((use) => isInUse(key, { use, keys, before })));
    },
    known: () => keys,
    replace(next) {
      keys = next;
    },
  };
}

/** A JWT of any type: at once where the key is in this process. @throws what `signOutside` says. @rfc 7515 §7.1, 7519 §7.1, 8725 §3.11 */
export function signJwt(
  key: SigningKey,
  { typ, claims }: { readonly typ: string; readonly claims: object },
): string | Promise<string> {
  const { algorithm, kid } = key;
  const header = { alg: algorithm, typ, kid };
  // as text: jsonwebtoken looks up the names in an object, and fails at a claim called constructor
  const payload = JSON.stringify(claims);
  if (!("privateKey" in key)) return signOutside(key, { header, payload });
  return jwt.sign(payload, key.privateKey, { algorithm, header });
}

/**
 * A signer that signs with the active key, and verifies with the key that `kid` names.
 *
 * @rfc 9068 §2.1, §4, 8725 §3
 */
export function jwtSigner(ring: KeyRing, clock: Clock): AccessTokenSigner {
  return {
    sign: (claims) => signJwt(ring.active(clock()), { typ: "at+jwt", claims }),
    verify(token, now) {
      const presented = parseJwt(token);
      const key = presented && ring.published(now).find(({ kid }) => kid === presented.kid);
      if (!key || !isSignedBy(presented, key)) return undefined;
      const claims = claimsOf(presented);
      return claims && { claims, key };
    },
    trusts: (key) => ring.published(clock()).some((published) => published === key),
  };
}

/** A signer of ID tokens. No access token passes for one. @rfc OpenID Connect Core §2, 8725 §3.11 */
export function idTokenSigner(ring: KeyRing, clock: Clock): IdTokenSigner {
  return {
    sign: (claims, algorithm) => signJwt(ring.active(clock(), algorithm), { typ: "JWT", claims }),
    verify(token) {
      const presented = parseJwt(token, isIdTokenHeader);
      const key = presented && ring.known().find(({ kid }) => kid === presented.kid);
      return key && isSignedBy(presented, key) ? claimsOf(presented) : undefined;
    },
    isOfNoKey(token) {
      const kid = parseJwt(token, isIdTokenHeader)?.kid;
      return typeof kid === "string" && !ring.known().some((known) => known.kid === kid);
    },
  };
}
