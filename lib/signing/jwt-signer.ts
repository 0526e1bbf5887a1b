/** JWT access tokens by `jsonwebtoken`. RFC 9068 §2.1, §4; 8725 §3. */
import jwt from "jsonwebtoken";
import type { AccessTokenClaims } from "../protocol/access-token";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { KeyRing } from "./key-ring";
import type { AccessTokenSigner } from "./port";

interface JwtHeader {
  readonly alg?: unknown;
  readonly typ?: unknown;
  readonly kid?: unknown;
  readonly crit?: unknown;
}

function readHeader(token: string): JwtHeader | undefined {
  try {
    const header: unknown = JSON.parse(
      Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString(),
    );
    return typeof header === "object" && header !== null ? header : undefined;
  } catch {
    return undefined;
  }
}

function isAccessTokenHeader({ typ, crit }: JwtHeader): boolean {
  return crit === undefined && typeof typ === "string" && /^(?:application\/)?at\+jwt$/i.test(typ);
}

/** Signs with the active key; verifies with the key that `kid` names and with that key's own algorithm, no other. */
export function jwtSigner(ring: KeyRing, now: () => EpochSeconds): AccessTokenSigner {
  return {
    sign(claims) {
      const { algorithm, kid, privateKey } = ring.active(now());
      return jwt.sign({ ...claims }, privateKey, {
        algorithm,
        header: { alg: algorithm, typ: "at+jwt", kid },
      });
    },
    verify(token) {
      const presented = readHeader(token);
      if (!presented || !isAccessTokenHeader(presented)) return undefined;
      const key = ring.published(now()).find(({ kid }) => kid === presented.kid);
      if (!key) return undefined;
      try {
        // time is the caller's to check, by the caller's clock
        const options = { algorithms: [key.algorithm], ignoreExpiration: true, ignoreNotBefore: true };
        const claims: unknown = jwt.verify(token, key.publicKey, options);
        return typeof claims === "object" && claims !== null ? (claims as AccessTokenClaims) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
