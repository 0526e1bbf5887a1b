/** Clients that register themselves at the API "orders" of the test host. */
import request, { type Response } from "supertest";
import type { AuthServerOptions, ClientRegistrationAdapter } from "../../lib";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import type { Browser, Fields } from "../browser/browser";
import { postToken } from "./client-requests";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";

/** The APIs of the test host; clients may register at "orders". */
export function apisWithRegistration(adapter: Partial<ClientRegistrationAdapter>): AuthServerOptions["apis"] {
  const { orders } = apis;
  if (!orders) throw new Error("the test host has lost an API");
  const clientRegistration = { approve: () => ({ kind: "approved" }) as const, ...adapter };
  return { ...apis, orders: { ...orders, clientRegistration } };
}

/** A host where clients may register at "orders", and at no other API. */
export function registrationHost(
  adapter: Partial<ClientRegistrationAdapter> = {},
  options: TestHostOptions = {},
): TestHost {
  return testHost({ apis: apisWithRegistration(adapter), ...options });
}

/** Where clients register at a pair. */
export function registerPath(pair?: Pair): string {
  return `${pairPath(pair)}/register`;
}

/** The metadata of an app on a device. */
export const nativeMetadata = {
  redirect_uris: ["http://127.0.0.1/callback"],
  client_name: "Desk App",
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
} as const;

/** The metadata of a web app, with nothing but what is required. */
export const webMetadata = { redirect_uris: ["https://app.example/callback"] } as const;

/** POST register with JSON. */
export function register(
  host: TestHost,
  metadata: unknown,
  { pair, headers = {} }: { pair?: Pair; headers?: Record<string, string> } = {},
): Promise<Response> {
  const text = typeof metadata === "string" ? metadata : JSON.stringify(metadata);
  return Promise.resolve(
    request(host.app)
      .post(registerPath(pair))
      .set({ "Content-Type": "application/json", ...headers })
      .send(text),
  );
}

/** The answer to a registration, by its wire names. */
export interface Registered {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly redirect_uris: readonly string[];
  readonly scope?: string;
}

/** A registration that must succeed. */
export async function registered(host: TestHost, metadata: unknown): Promise<Registered> {
  const response = await register(host, metadata);
  if (response.status !== 201) throw new Error(`not registered: ${response.text}`);
  return response.body as Registered;
}

/** GET authorize for a client that has registered itself. */
export function authorizeAs(
  browser: Browser,
  client: Registered,
  { pair, fields = {} }: { pair?: Pair; fields?: Fields } = {},
): Promise<Response> {
  return browser.get(`${pairPath(pair)}/authorize`, {
    ...authorizationParameters("native"),
    client_id: client.client_id,
    redirect_uri: client.redirect_uris[0],
    ...fields,
  });
}

/** A code for such a client: Alice allows everything. */
export async function codeFor(host: TestHost, client: Registered, fields: Fields = {}): Promise<string> {
  const browser = host.browser();
  const page = await authorizeAs(browser, client, { fields });
  const { code } = redirectParameters(await browser.answer(page, "approve"));
  if (code === undefined) throw new Error(`no code: ${page.text}`);
  return code;
}

/** POST token as such a client, with its secret if it has one. */
export function tokenAs(
  host: TestHost,
  client: Registered,
  { fields, pair = {} }: { fields: Fields; pair?: Pair | undefined },
): Promise<Response> {
  const { client_id, client_secret } = client;
  return postToken(host, { pair, fields: { client_id, client_secret, ...fields } });
}

/** POST token with a code for such a client. */
export function redeemAs(host: TestHost, client: Registered, code: string, pair?: Pair): Promise<Response> {
  const redirect_uri = client.redirect_uris[0];
  const fields = { grant_type: "authorization_code", code, redirect_uri, code_verifier: codeVerifier };
  return tokenAs(host, client, { fields, pair });
}
