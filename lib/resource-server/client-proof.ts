/** Proves an API to its authorization server, by a secret or by a key. RFC 6749 §2.3.1, Appendix B; 7523 §2.2, §3; 7518 §3.3 to §3.5. */
import { constants, sign } from "node:crypto";
import { optionError, wrong } from "../options/problem";
import { assertionAlgorithms, jwtBearerType } from "../protocol/client-assertion";
import type { Clock } from "../protocol/time";
import { type LocalKey, type PrivateKeySource, readPrivateKey } from "../signing/signing-key";
import type { IntrospectionOptions } from "./options";

/** What proves the client in one request to an issuer: in its headers and in its body. */
export type ClientProof = (issuer: string) => Readonly<Record<"headers" | "fields", Record<string, string>>>;

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function readKey(source: PrivateKeySource): LocalKey {
  try {
    const key = readPrivateKey(source);
    if (assertionAlgorithms.some((known) => known === key.algorithm)) return key;
  } catch {
    // no cause: the original error may quote the private key
  }
  const fix = "Write PEM, JWK or KeyObject: P-256, or RSA of at least 2048 bits for RS256 or PS256.";
  const problem = { path: "introspection.privateKey", ...wrong("unusable-signing-key"), fix };
  throw optionError("createResourceServer", problem);
}

/** Proves the client by its secret, or by an assertion for each request. @throws TypeError when the key can't sign those. @rfc 6749 §2.3.1, 7523 §2.2 */
export function clientProof(
  { clientId, clientSecret = "", privateKey }: IntrospectionOptions,
  { clock, randomId }: { readonly clock: Clock; readonly randomId: () => string },
): ClientProof {
  if (privateKey === undefined) {
    const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
    const headers = { Authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
    return () => ({ headers, fields: {} });
  }
  const { algorithm: alg, privateKey: key } = readKey(privateKey);
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const signer = { key, dsaEncoding: "ieee-p1363", ...(alg === "PS256" && pss) } as const;
  return (issuer) => {
    const iat = clock();
    const claims = { iss: clientId, sub: clientId, aud: issuer, jti: randomId(), iat, exp: iat + 60 };
    // without kid: the record of the client may have another one, or none
    const parts = [{ alg, typ: "client-authentication+jwt" }, claims].map((part) => JSON.stringify(part));
    const signed = parts.map((part) => Buffer.from(part).toString("base64url")).join(".");
    const signature = sign("sha256", Buffer.from(signed), signer).toString("base64url");
    const fields = { client_assertion_type: jwtBearerType, client_assertion: `${signed}.${signature}` };
    return { headers: {}, fields };
  };
}
