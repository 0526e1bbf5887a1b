/** JWT access tokens by `jsonwebtoken`. RFC 9068 §2.1, §4; 8725 §3. */
import jwt from "jsonwebtoken";
import type { AccessTokenClaims } from "../protocol/access-token";
import type { AccessTokenSigner } from "./port";
import type { SigningKey } from "./signing-key";

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

/** Signs with the first key; verifies with the key that `kid` names and with that key's own algorithm, no other. */
export function jwtSigner(keys: readonly [SigningKey, ...SigningKey[]]): AccessTokenSigner {
  const [active] = keys;
  const keyById = new Map(keys.map((key) => [key.kid, key]));
  const header = { alg: active.algorithm, typ: "at+jwt", kid: active.kid };
  return {
    sign: (claims) => jwt.sign({ ...claims }, active.privateKey, { algorithm: active.algorithm, header }),
    verify(token) {
      const presented = readHeader(token);
      if (!presented || !isAccessTokenHeader(presented)) return undefined;
      const key = typeof presented.kid === "string" ? keyById.get(presented.kid) : undefined;
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
