/** The journeys that many tests begin with. */
import request, { type Response } from "supertest";
import type { ConsentKey } from "../../lib";
import type { Pair } from "../hosts/apis";
import { authorize, type CodeRequest, redirectParameters } from "./authorize";
import type { Fields } from "./browser";
import { redeem } from "../requests/client-requests";
import type { ClientName } from "../hosts/clients";
import type { TestHost } from "../hosts/host";

/** The body of a good answer of the token endpoint. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope?: string;
}

/** A code for the end user who is signed in, who allows everything when asked. */
export async function obtainCode(host: TestHost, asked: CodeRequest): Promise<string> {
  const browser = asked.browser ?? host.browser();
  const first = await authorize(browser, asked);
  const last = first.status === 200 ? await browser.answer(first, "approve") : first;
  const { code } = redirectParameters(last);
  if (code === undefined) throw new Error(`no code: ${last.headers["location"] as string}`);
  return code;
}

/** The tokens of a whole authorization code grant. */
export async function obtainTokens(host: TestHost, asked: CodeRequest): Promise<Tokens> {
  const code = await obtainCode(host, asked);
  const response = await redeem(host, {
    client: asked.client,
    code,
    ...(asked.pair && { pair: asked.pair }),
  });
  if (response.status !== 200) throw new Error(`no tokens: ${response.text}`);
  return response.body as Tokens;
}

/** The refresh token of a whole authorization code grant. */
export async function obtainRefreshToken(
  host: TestHost,
  { client = "web", fields = {} }: { client?: ClientName; fields?: Fields } = {},
): Promise<string> {
  const { refresh_token = "" } = await obtainTokens(host, { client, fields });
  return refresh_token;
}

/** What an authorization has brought. */
export interface Family {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Both tokens of a whole authorization code grant. */
export async function familyOf(host: TestHost, client: ClientName = "web", pair: Pair = {}): Promise<Family> {
  const { access_token: accessToken, refresh_token: refreshToken = "" } = await obtainTokens(host, {
    client,
    pair,
  });
  return { accessToken, refreshToken };
}

/** GET an API with an access token. */
export function callApi(host: TestHost, path: string, accessToken: string): Promise<Response> {
  return Promise.resolve(request(host.app).get(path).set("Authorization", `Bearer ${accessToken}`));
}

/** Names the consent of Alice to `web` at the API of this pair. */
export function consentKey({ api = "orders" }: Pair): ConsentKey {
  return { subject: "alice", clientId: "web", apiId: api };
}
