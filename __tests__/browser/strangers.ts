/** Clients that nobody registered: a host that lets them in, and what they ask. */
import type { Response } from "supertest";
import type { AuthServerOptions } from "../../lib";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "./authorization-request";
import { redirectParameters } from "./authorize";
import type { Browser, Fields } from "./browser";
import { postToken } from "../requests/client-requests";
import type { DocumentServer } from "../servers/document-server";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import type { Tokens } from "./journey";

/** Where the answers of these clients go. */
export const redirectUri = "http://127.0.0.1/callback";

/** The path of the document. */
export const documentPath = "/client.json";

/** Serves the document of a native client, changed by `changes`, and returns its client id. */
export function serveDocument(
  server: DocumentServer,
  changes: Readonly<Record<string, unknown>> = {},
): string {
  const clientId = server.url(documentPath);
  const document = {
    client_id: clientId,
    client_name: "A Stranger",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  };
  server.documents.set(documentPath, { body: { ...document, ...changes } });
  return clientId;
}

type DocumentAdapter = NonNullable<AuthServerOptions["apis"][string]["clientMetadataDocuments"]>;

/** A host whose API `orders` lets in clients with a metadata document, also from this machine. */
export function strangersHost({
  accept = () => ({ kind: "accepted" }),
  browserOrigins,
  ...options
}: TestHostOptions & Partial<DocumentAdapter> = {}): TestHost {
  const clientMetadataDocuments = { accept, ...(browserOrigins && { browserOrigins }) };
  return testHost({
    apis: { ...apis, orders: { ...apis["orders"]!, clientMetadataDocuments } },
    insecureLoopbackClients: true,
    ...options,
  });
}

/** GET authorize as this client. */
export function askAs(
  browser: Browser,
  { clientId, pair, fields = {} }: { clientId: string; pair?: Pair; fields?: Fields },
): Promise<Response> {
  return browser.get(`${pairPath(pair)}/authorize`, {
    ...authorizationParameters("native"),
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "orders:read",
    ...fields,
  });
}

/** A code for this client: the person is asked, and allows. */
export async function codeFor(host: TestHost, clientId: string): Promise<string> {
  const browser = host.browser();
  const page = await askAs(browser, { clientId });
  if (page.status !== 200) throw new Error(`no page: ${page.text}`);
  const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
  return code;
}

/** POST token with a code of this client. */
export function redeemAs(
  host: TestHost,
  { clientId, code, fields = {} }: { clientId: string; code: string; fields?: Fields },
): Promise<Response> {
  const sent = { grant_type: "authorization_code", client_id: clientId, code, code_verifier: codeVerifier };
  return postToken(host, { fields: { ...sent, ...fields } });
}

/** POST token with a refresh token of this client. */
export function refreshAs(
  host: TestHost,
  { clientId, token, fields = {} }: { clientId: string; token: string; fields?: Fields },
): Promise<Response> {
  const sent = { grant_type: "refresh_token", client_id: clientId, refresh_token: token, ...fields };
  return postToken(host, { fields: sent });
}

/** The tokens of a whole journey of a client without a key. */
export async function tokensFor(host: TestHost, clientId: string): Promise<Tokens> {
  const response = await redeemAs(host, { clientId, code: await codeFor(host, clientId) });
  if (response.status !== 200) throw new Error(`no tokens: ${response.text}`);
  return response.body as Tokens;
}
