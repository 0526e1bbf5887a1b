/** A host that binds tokens to keys, and requests of clients that prove one. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import request, { type Response } from "supertest";
import type { DpopOptions } from "../../lib";
import { thumbprintOf } from "../../lib/clients/verify-proof";
import { codeVerifier } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { apis, origin, type Pair, pairPath } from "../hosts/apis";
import { type ClientName, credentials } from "../hosts/clients";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { type ProofChanges, proofKeys, proofOf } from "./dpop-proofs";

/** The key of an honest client, and its thumbprint. */
export const ownKey: KeyObject = proofKeys.ES256;
/** The thumbprint of that key. */
export const ownThumbprint: string = thumbprintOf(createPublicKey(ownKey));
/** The key of somebody else. */
export const otherKey: KeyObject = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

/** The APIs `orders` (JWTs) and `reports` (opaque tokens) with `dpop`, `files` without. */
export function boundApis(dpop: DpopOptions = {}): typeof apis {
  const { orders, reports, ...others } = apis;
  return {
    ...others,
    ...(orders && { orders: { ...orders, dpop } }),
    ...(reports && { reports: { ...reports, dpop } }),
  };
}

/** A host with these APIs. */
export function boundHost(options: TestHostOptions = {}): TestHost {
  return testHost({ apis: boundApis(), ...options });
}

/** A proof for the token endpoint of this pair. */
export function tokenProof(changes: ProofChanges & { readonly pair?: Pair } = {}): string {
  const { pair, ...others } = changes;
  return proofOf({ method: "POST", url: `${origin}${pairPath(pair)}/token`, key: ownKey, ...others });
}

/** Who asks, where, and what it proves: a good proof of `key`, the values of DPoP headers, or nothing. */
export interface Bound {
  readonly client?: ClientName;
  readonly pair?: Pair;
  readonly key?: KeyObject;
  readonly proofs?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: Fields;
}

/** POST token with these fields and what the client proves. */
export function postBound(
  host: TestHost,
  { client = "native", pair = {}, key, proofs, headers = {}, fields = {} }: Bound,
): Promise<Response> {
  const sent = proofs ?? (key ? [tokenProof({ pair, key })] : []);
  const post = request(host.app)
    .post(`${pairPath(pair)}/token`)
    .type("form")
    .set(headers);
  if (sent.length > 0) void post.set("DPoP", sent as unknown as string);
  return Promise.resolve(post.send(encode({ ...credentials(client), ...fields })));
}

/** The same, to redeem a code. */
export function redeemBound(host: TestHost, { code, ...bound }: Bound & { code: string }): Promise<Response> {
  const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier, ...bound.fields };
  return postBound(host, { ...bound, fields });
}

/** The same, to refresh. */
export function refreshBound(
  host: TestHost,
  { refreshToken, ...bound }: Bound & { refreshToken: string },
): Promise<Response> {
  const fields = { grant_type: "refresh_token", refresh_token: refreshToken, ...bound.fields };
  return postBound(host, { ...bound, fields });
}

/** The same, for a token of the client's own. */
export function ownBound(host: TestHost, bound: Bound = {}): Promise<Response> {
  return postBound(host, {
    client: "web",
    ...bound,
    fields: { grant_type: "client_credentials", ...bound.fields },
  });
}

/** The claims of a JWT. */
export function claimsOf(token: string): Record<string, unknown> {
  const [, payload = ""] = token.split(".");
  return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
}
