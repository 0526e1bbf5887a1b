/** A client that proves itself by a signed assertion, and the one that it presents again and again. RFC 7523 §2.2, §3. */
import { generateKeyPairSync, sign } from "node:crypto";
import type { KeyClient, PublicJwk } from "../../lib";
import { jwtBearerType } from "../../lib/protocol/client-assertion";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** The client of the key. */
export const keyedClient: KeyClient = {
  clientId: "keyed",
  name: "Keyed Job",
  confidential: true,
  jwks: { keys: [{ ...publicKey.export({ format: "jwk" }) } as PublicJwk] },
  redirectUris: ["https://keyed.example/callback"],
  subscriptions: { orders: {} },
};

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The parameters that present an assertion with always the same `jti`, for this issuer. It is good for five minutes. */
export function sameAssertion({ issuer, now }: { issuer: string; now: number }): Record<string, string> {
  const { clientId } = keyedClient;
  const claims = { iss: clientId, sub: clientId, aud: issuer, jti: "the same each time", exp: now + 300 };
  const signed = `${part({ alg: "ES256" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return {
    client_assertion_type: jwtBearerType,
    client_assertion: `${signed}.${signature.toString("base64url")}`,
  };
}
