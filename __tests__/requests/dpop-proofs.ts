/** A client with a key for each algorithm of DPoP proofs, and the proofs that it signs: good ones, unless a test changes a part. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import type { ProofAlgorithm } from "../../lib/protocol/dpop-proof";
import { jwkOf, part, signatureOf } from "./client-assertions";

/** The private keys, by algorithm. */
export const proofKeys: Readonly<Record<ProofAlgorithm, KeyObject>> = {
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  EdDSA: generateKeyPairSync("ed25519").privateKey,
  Ed25519: generateKeyPairSync("ed25519").privateKey,
  PS256: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
};

/** The SHA-256 of a text, as `ath` has it. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** A request with a proof, and what is different from a good one. A claim or a member that is undefined is left out. */
export interface ProofChanges {
  readonly method?: string;
  readonly url?: string;
  /** For `ath`. */
  readonly token?: string;
  readonly alg?: string;
  readonly header?: object;
  readonly claims?: object;
  /** The key that signs. */
  readonly key?: KeyObject;
}

/** A signed proof. */
export function proofOf({
  method = "GET",
  url = "https://api.example/orders",
  token,
  alg = "ES256",
  header,
  claims,
  key = proofKeys[alg as ProofAlgorithm],
}: ProofChanges = {}): string {
  const signed = [
    { typ: "dpop+jwt", alg, jwk: jwkOf(createPublicKey(key)), ...header },
    {
      jti: randomUUID(),
      htm: method,
      htu: url,
      iat: Math.floor(Date.now() / 1000),
      ...(token !== undefined && { ath: hashOf(token) }),
      ...claims,
    },
  ];
  const text = signed.map(part).join(".");
  return `${text}.${signatureOf(text, { alg, key }).toString("base64url")}`;
}
