/** Keys that follow one another, and what a host says of its tokens meanwhile. */
import request from "supertest";
import { generateSigningKey } from "../../lib";
import { introspect, postToken } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import type { TestHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";

/** The key that a token names. */
export function kidOf(token: string): unknown {
  const header = Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString();
  return (JSON.parse(header) as { kid?: unknown }).kid;
}

/** An access token. */
export async function mint(host: TestHost): Promise<string> {
  const fields = { grant_type: "client_credentials", ...credentials("machine") };
  const response = await postToken(host, { fields });
  expect(response.status).toBe(200);
  return (response.body as Tokens).access_token;
}

/** The keys that anybody may read. */
export async function publishedKids(host: TestHost): Promise<unknown[]> {
  const response = await request(host.app).get("/login/jwks");
  expect(response.status).toBe(200);
  return (response.body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

/** What the API says to a token. */
export async function statusOf(host: TestHost, token: string): Promise<number> {
  return (await callApi(host, "/orders", token)).status;
}

/** What introspection says of a token. */
export async function isActive(host: TestHost, token: string): Promise<unknown> {
  const response = await introspect(host, { token });
  expect(response.status).toBe(200);
  return (response.body as { active: unknown }).active;
}

/** The first key. */
export const oldKey = generateSigningKey();

/** The key after it. */
export const nextKey = generateSigningKey();

/** How long an access token lives. */
export const tokenSeconds = 600;
