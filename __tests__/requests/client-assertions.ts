/** A client with keys, and the assertions that it signs: good ones, unless a test changes a part. */
import { constants, createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import type { Response } from "supertest";
import type { KeyClient, PublicJwk } from "../../lib";
import { issuer, type Pair } from "../hosts/apis";
import type { Fields } from "../browser/browser";
import { postToken } from "./client-requests";
import { clients } from "../hosts/clients";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed25519 = generateKeyPairSync("ed25519");

/** The private keys of the client `keyed`, by the names of the algorithms. */
export const privateKeys: Readonly<Record<string, KeyObject>> = {
  ES256: ec.privateKey,
  PS256: rsa.privateKey,
  RS256: rsa.privateKey,
  EdDSA: ed25519.privateKey,
  Ed25519: ed25519.privateKey,
};

/** A public key as JWK. */
export function jwkOf(publicKey: KeyObject, members: object = {}): PublicJwk {
  return { ...publicKey.export({ format: "jwk" }), ...members } as PublicJwk;
}

/** The public keys of the client `keyed`, each with a `kid`. */
export const publicKeys: readonly PublicJwk[] = [
  jwkOf(ec.publicKey, { kid: "ec" }),
  jwkOf(rsa.publicKey, { kid: "rsa" }),
  jwkOf(ed25519.publicKey, { kid: "ed25519" }),
];

/** A client that proves itself by assertions. */
export const keyed: KeyClient = {
  clientId: "keyed",
  name: "Keyed Job",
  confidential: true,
  jwks: { keys: publicKeys },
  redirectUris: ["https://keyed.example/callback"],
  subscriptions: { orders: {}, reports: {} },
};

const { jwks: _jwks, ...withoutKeys } = keyed;

/** The same client, whose keys are at a URL. */
export const keyedByUri: KeyClient = { ...withoutKeys, jwksUri: "https://keyed.example/jwks" };

/** A host with the client `keyed` beside the others. */
export function keyedHost(options: TestHostOptions = {}): TestHost {
  return testHost({ clients: [...Object.values(clients), keyed], ...options });
}

/** A part of a JWT. */
export function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** The claims of a good assertion. */
export function goodClaims(changes: object = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: "keyed",
    sub: "keyed",
    aud: issuer,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
    ...changes,
  };
}

/** The signature of a text, as JWTs have it. */
export function signatureOf(text: string, { alg, key }: { alg: string; key: KeyObject | string }): Buffer {
  if (typeof key === "string") return createHmac("sha256", key).update(text).digest();
  const data = Buffer.from(text);
  if (alg.startsWith("Ed")) return sign(undefined, data, key);
  if (alg.startsWith("ES")) return sign("sha256", data, { key, dsaEncoding: "ieee-p1363" });
  if (alg.startsWith("RS")) return sign("sha256", data, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return sign("sha256", data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
}

/** What is different from a good assertion. A claim or a member that is undefined is left out. */
export interface AssertionChanges {
  readonly alg?: string;
  readonly header?: object;
  readonly claims?: object;
  /** The key that signs; text signs with HMAC. */
  readonly key?: KeyObject | string;
}

/** An assertion of `keyed`, signed. */
export function assertionOf({ alg = "ES256", header, claims, key }: AssertionChanges = {}): string {
  const signer = key ?? privateKeys[alg];
  if (signer === undefined) throw new Error(`no key for ${alg}`);
  const signed = `${part({ alg, ...header })}.${part(goodClaims(claims))}`;
  return `${signed}.${signatureOf(signed, { alg, key: signer }).toString("base64url")}`;
}

/** The parameters that present an assertion. */
export function presenting(assertion: string): Record<string, string> {
  return {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion,
  };
}

/** Asks for a token of the client's own with this assertion. */
export function tokenBy(
  host: TestHost,
  {
    assertion = assertionOf(),
    fields = {},
    pair = {},
  }: { assertion?: string; fields?: Fields; pair?: Pair } = {},
): Promise<Response> {
  const sent = { grant_type: "client_credentials", ...presenting(assertion), ...fields };
  return postToken(host, { pair, fields: sent });
}

/** The code of the last failed authentication that the host was told. */
export function lastCode({ events }: TestHost): string {
  const last = events.findLast(
    ({ kind }) => kind === "client-authentication-failed" || kind === "token-refused",
  );
  return last && "code" in last ? last.code : "none";
}
