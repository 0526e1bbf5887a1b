/** Genuine JWT access tokens, taken apart, and tokens that are written by hand. */
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Response } from "supertest";
import { testHost, type TestHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";

/** When the tokens are issued. */
export const issuedAt = 1_800_000_000;

/** A P-256 key that nobody has used. */
export function newEcKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/** An RSA key that nobody has used. */
export function newRsaKey(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}

/** The host's first key. */
export const ecKey = newEcKey();

/** The host's second key. */
export const rsaKey = newRsaKey();

/** A key of the attacker. */
export const attackersEcKey = newEcKey();

/** The header or the claims of a token. */
export type Json = Readonly<Record<string, unknown>>;

/** What stands behind the second dot, for what stands ahead of it. */
export type Sign = (input: string) => Buffer;

/** Signs as ES256. */
export const es256 =
  (key: KeyObject): Sign =>
  (input) =>
    sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });

/** Signs as RS256. */
export const rs256 =
  (key: KeyObject): Sign =>
  (input) =>
    sign("sha256", Buffer.from(input), key);

/** Signs as PS256. */
export const ps256 =
  (key: KeyObject): Sign =>
  (input) =>
    sign("sha256", Buffer.from(input), { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });

/** Signs as HS256. */
export const hs256 =
  (secret: string | Buffer): Sign =>
  (input) =>
    createHmac("sha256", secret).update(input).digest();

/** Leaves the signature out. */
export const unsigned: Sign = () => Buffer.alloc(0);

/** The header or the claims, as they stand in a token. */
export function tokenPart(part: Json | string): string {
  return Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
}

/** A whole token. */
export function writeToken(header: Json | string, claims: Json | string, by: Sign): string {
  const input = `${tokenPart(header)}.${tokenPart(claims)}`;
  return `${input}.${by(input).toString("base64url")}`;
}

/** A token of the host, and what it says. */
export interface Genuine {
  readonly token: string;
  readonly header: Json;
  readonly claims: Json;
}

/** What a token says. */
export function readToken(token: string): Genuine {
  const [header, claims] = token
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Json);
  if (!header || !claims) throw new Error("not a JWT");
  return { token, header, claims };
}

/** A host that signs with both keys, and looks at each token again. */
export function signingHost(options: Parameters<typeof testHost>[0] = {}): TestHost {
  return testHost({ signingKeys: [ecKey, rsaKey], revocationLagSeconds: 0, ...options });
}

/** A token of Alice. */
export async function genuineToken(host: TestHost): Promise<Genuine> {
  return readToken((await obtainTokens(host, { client: "web" })).access_token);
}

/** The answer to an access token that is none. */
export const refusedToken = {
  status: 401,
  body: {
    error: "invalid_token",
    error_description: "The access token is invalid, expired or revoked.",
  },
  challenge:
    'Bearer realm="https://api.example/orders", ' +
    'resource_metadata="https://api.example/.well-known/oauth-protected-resource/orders", ' +
    'error="invalid_token", error_description="The access token is invalid, expired or revoked."',
};

/** What is compared of an answer of the API. */
export function answerToToken({ status, body, headers }: Response): object {
  return { status, body: body as object, challenge: headers["www-authenticate"] as unknown };
}
