/** A key of a client for tests, and the DPoP proofs that it signs. RFC 9449 §4.2, §6.1. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { thumbprintOf } from "../clients/verify-proof";
import { digestToken } from "../protocol/token-value";
import { refuseProduction } from "./production";
import { currentTime } from "./test-clock";

/** A request that a client sends with a proof. */
export interface TestProof {
  readonly method: string;
  /** The whole URL, as clients know it. */
  readonly url: string;
  /** The access token to send, which must be bound to the key. Left out: a request to the token endpoint. */
  readonly token?: string;
}

/** A key of a client. */
export interface TestKey {
  /** What tokens name that are bound to the key. */
  readonly thumbprint: string;
  /** The headers of a request, by lower-case names: a new proof, and the token if there is one. */
  readonly headers: (request: TestProof) => Readonly<Record<string, string>>;
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

/** A new key (P-256). @throws TypeError in production */
export function testKey(): TestKey {
  refuseProduction("testKey");
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const header = encoded({ typ: "dpop+jwt", alg: "ES256", jwk: publicKey.export({ format: "jwk" }) });
  return {
    thumbprint: thumbprintOf(publicKey),
    headers({ method, url, token }) {
      const ath = token === undefined ? {} : { ath: digestToken(token) };
      const claims = { jti: randomUUID(), htm: method, htu: url, iat: currentTime(), ...ath };
      const text = `${header}.${encoded(claims)}`;
      const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
      const dpop = `${text}.${signature.toString("base64url")}`;
      return token === undefined ? { dpop } : { authorization: `DPoP ${token}`, dpop };
    },
  };
}
