/** What MCP clients send, replayed by name. Where each shape comes from is said in mcp-named-clients. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { compileFunction } from "node:vm";
import { transformSync } from "@swc/core";
import request, { type Response } from "supertest";
import type * as clientsOfExample from "../../examples/mcp-server/clients.mjs";
import type { Client } from "../../lib";
import { clientOfDocument } from "../../lib/strangers/metadata-document";
import { verifyRedirectUri } from "../../lib/protocol/redirect-uri";
import { apis } from "../hosts/apis";
import { codeChallenge, codeVerifier } from "../browser/authorization-request";
import { type Browser, encode, type Fields, localPath } from "../browser/browser";
import { assertionOf, presenting, publicKeys } from "../requests/client-assertions";
import { webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { namedMcpClients, type NamedMcpClient } from "./mcp-named-clients";

/** URL → the JSON that a client publishes there. */
const published = new Map<string, unknown>([["https://chatgpt.com/oauth/jwks.json", { keys: publicKeys }]]);
for (const { document } of Object.values(namedMcpClients))
  if (document) published.set(document.json.client_id, document.json);

// the real documents, without the network
jest.mock("../../lib/fetching/fetch-document", () => ({
  documentFetcher: () => (url: string) => {
    const text = JSON.stringify(published.get(url));
    return Promise.resolve({ kind: "fetched", text, maxAgeSeconds: undefined });
  },
}));

stopClockForEachTest();

/** What clients.mjs of the example exports: an ES module, which Jest does not load. */
const { unregistered } = ((): typeof clientsOfExample => {
  const file = path.resolve(__dirname, "../../examples/mcp-server/clients.mjs");
  const { code } = transformSync(readFileSync(file, "utf8"), { swcrc: false, module: { type: "commonjs" } });
  const exported = {};
  (compileFunction(code, ["exports"]) as (exports: object) => void)(exported);
  return exported as typeof clientsOfExample;
})();

const mcpUrl = "https://host.example/mcp";

/** The record with which a host registers the client. */
function recordOf(name: string, { document, registration, authentication }: NamedMcpClient): Client {
  const redirectUris = [document, registration].flatMap((from) => from?.json.redirect_uris ?? []);
  const common = { clientId: "mcp-client", name, redirectUris, subscriptions: { mcp: {} } };
  return authentication === "none"
    ? { ...common, confidential: false, platform: "native" }
    : { ...common, confidential: true, secretDigests: [webSecret.digest] };
}

/** A host with the doors of examples/mcp-server. */
function mcpHost(...clients: readonly Client[]): TestHost {
  const mcp = {
    ...unregistered,
    name: "Notes",
    audience: mcpUrl,
    authMethods: ["password", "otp"],
    scopes: { "notes:read": "Read your notes", "notes:write": "Add notes" },
    defaultScopes: ["notes:read"],
    unknownScopes: "ignore",
  } as const;
  const host = testHost({ apis: { ...apis, mcp }, clients, redirectSchemes: ["cursor"] });
  const protect = host.auth.requireBearer({ api: "mcp", scope: "notes:read", subject: "required" });
  host.app.all("/mcp", protect, (req, res) => void res.json(host.auth.mcpAuth(req)));
  return host;
}

const mcpHeaders = { Accept: "application/json", "MCP-Protocol-Version": "2025-11-25" };

interface Server {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
  /** Of the challenge. */
  readonly scope: string;
}

/** From the address of the MCP server to its authorization server, as all of them go. */
async function discover({ app }: TestHost): Promise<Server> {
  const { status, headers } = await request(app).post("/mcp").set(mcpHeaders).send({});
  expect(status).toBe(401);
  const challenge = headers["www-authenticate"] ?? "";
  const [, metadataUrl = "", scope = ""] =
    /resource_metadata="([^"]+)", scope="([^"]+)"/.exec(challenge) ?? [];
  const resource = await request(app).get(localPath(metadataUrl)).set(mcpHeaders);
  // VS Code and Claude compare it with the address that they were given
  expect(resource.body).toMatchObject({ resource: mcpUrl });
  const { authorization_servers: servers } = resource.body as { authorization_servers: string[] };
  const [issuer = ""] = servers;
  const { origin, pathname } = new URL(issuer);
  const found = await request(app)
    .get(localPath(`${origin}/.well-known/oauth-authorization-server${pathname}`))
    .set(mcpHeaders);
  expect(found.body).toMatchObject({ issuer, code_challenge_methods_supported: ["S256"] });
  return { ...(found.body as Omit<Server, "scope">), scope };
}

/** A client that knows its id at a host. */
interface Connecting {
  readonly host: TestHost;
  readonly server: Server;
  readonly client: NamedMcpClient;
  readonly clientId: string;
  /** How it proves itself at the token endpoint. */
  readonly proof: () => Fields;
  readonly mayRefresh: boolean;
}

async function registeredByHost(name: string, client: NamedMcpClient): Promise<Connecting> {
  const host = mcpHost(recordOf(name, client));
  const proof = { client_secret: client.authentication === "none" ? undefined : webSecret.secret };
  const known = { clientId: "mcp-client", proof: () => proof, mayRefresh: true };
  return { host, client, server: await discover(host), ...known };
}

function refreshes({ grant_types: grantTypes }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(grantTypes) && grantTypes.includes("refresh_token");
}

async function byDocument(name: string, client: NamedMcpClient): Promise<Connecting> {
  if (!client.document) throw new Error(`${name} has no document`);
  const { json } = client.document;
  const host = mcpHost();
  const server = await discover(host);
  const clientId = json.client_id;
  const claims = { iss: clientId, sub: clientId, aud: server.token_endpoint };
  const hasKey = json["token_endpoint_auth_method"] === "private_key_jwt";
  const proof = (): Fields =>
    hasKey ? presenting(assertionOf({ alg: "RS256", header: { kid: "rsa" }, claims })) : {};
  return { host, client, server, clientId, proof, mayRefresh: refreshes(json) };
}

async function byRegistration(name: string, client: NamedMcpClient): Promise<Connecting> {
  if (!client.registration) throw new Error(`${name} does not register itself`);
  const { json } = client.registration;
  const host = mcpHost();
  const server = await discover(host);
  const { status, body } = await request(host.app)
    .post(localPath(server.registration_endpoint))
    .set(mcpHeaders)
    .send(json);
  expect({ status, body }).toMatchObject({
    status: 201,
    body: { redirect_uris: json.redirect_uris, token_endpoint_auth_method: "none" },
  });
  const { client_id: clientId } = body as { client_id: string };
  return { host, client, server, clientId, proof: () => ({}), mayRefresh: refreshes(json) };
}

/** What the client asks for. */
function open(browser: Browser, { client, clientId, server }: Connecting): Promise<Response> {
  return browser.get(localPath(server.authorization_endpoint), {
    response_type: "code",
    client_id: clientId,
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
    redirect_uri: client.redirectUri,
    scope: server.scope,
    resource: mcpUrl,
    ...client.asks,
  });
}

/** Alice answers the client; gives where her browser is sent. */
async function authorize(connecting: Connecting, decision: "approve" | "deny" = "approve"): Promise<string> {
  const browser = connecting.host.browser();
  const page = await open(browser, connecting);
  expect(page.status).toBe(200);
  const { headers } = await browser.answer(page, decision);
  return headers["location"] ?? "";
}

function postToken({ host, server, clientId, proof }: Connecting, fields: Fields): Promise<Response> {
  const form = { client_id: clientId, resource: mcpUrl, ...proof(), ...fields };
  return Promise.resolve(
    request(host.app)
      .post(localPath(server.token_endpoint))
      .set("Accept", "application/json")
      .type("form")
      .send(encode(form)),
  );
}

const all = Object.entries(namedMcpClients);
type Case = readonly [title: string, connect: () => Promise<Connecting>];

const cases: readonly Case[] = all.flatMap(([name, client]) => {
  const { document, registration, authentication } = client;
  const ways: Case[] = [[`${name}, registered by the host`, () => registeredByHost(name, client)]];
  if (document && authentication === "none")
    ways.push([`${name} by its document (${document.source})`, () => byDocument(name, client)]);
  if (registration)
    ways.push([`${name}, registering itself (${registration.source})`, () => byRegistration(name, client)]);
  return ways;
});

describe.each(cases)("%s (MCP authorization, RFC 8707 §2, 9207 §2)", (_, connect) => {
  it("connects, and calls the MCP server for the person", async () => {
    const connecting = await connect();
    const { host, client, server, mayRefresh } = connecting;
    const location = await authorize(connecting);
    expect(location.startsWith(`${client.redirectUri}?`)).toBe(true);
    const answer = new URL(location).searchParams;
    expect(answer.get("iss")).toBe(server.issuer);
    const redeemed = await postToken(connecting, {
      grant_type: "authorization_code",
      code: answer.get("code") ?? "",
      code_verifier: codeVerifier,
      redirect_uri: client.redirectUri,
    });
    expect(redeemed.status).toBe(200);
    expect(redeemed.headers).toMatchObject({ "cache-control": "no-store" });
    const { access_token, refresh_token } = redeemed.body as Record<string, string>;
    const called = await request(host.app)
      .post("/mcp")
      .auth(access_token ?? "", { type: "bearer" })
      .send({});
    expect(called.body).toMatchObject({ token: access_token, resource: mcpUrl, extra: { subject: "alice" } });
    const refreshed = await postToken(connecting, { grant_type: "refresh_token", refresh_token });
    expect(refreshed.status).toBe(mayRefresh ? 200 : 400);
  });

  it("gets its state back as it was, in an encoding that reads the same everywhere", async () => {
    const connecting = await connect();
    const { searchParams, search } = new URL(await authorize(connecting));
    expect(searchParams.get("state") ?? undefined).toBe(connecting.client.asks["state"]);
    // some decode a plus sign as a space, and some do not
    expect(search).not.toContain("+");
  });

  it("is told at the redirect URI when the person says no", async () => {
    expect(await authorize(await connect(), "deny")).toMatch(/[?&]error=access_denied/);
  });
});

const documents = all.flatMap(([name, { document }]) =>
  document ? ([[name, document.source, document.json]] as const) : [],
);

/** The client that its document describes, at a host that adds nothing. */
function clientOf(document: (typeof documents)[number][2]): Client {
  const client = clientOfDocument(document, {
    clientId: document.client_id,
    apiId: "mcp",
    decision: { kind: "accepted" },
    browserOrigins: [],
    reserved: [],
    redirectSchemes: [],
  });
  if ("problem" in client) throw new Error(client.problem);
  return client;
}

describe.each(documents)("the document of %s (%s)", (_, __, document) => {
  it("gives a client with all its redirect URIs, which may refresh", () => {
    const { jwks_uri: jwksUri } = document;
    expect(clientOf(document)).toMatchObject({
      clientId: document.client_id,
      redirectUris: document.redirect_uris,
      subscriptions: { mcp: { grantTypes: ["authorization_code", "refresh_token"] } },
      ...(jwksUri === undefined
        ? { confidential: false, platform: "native" }
        : { confidential: true, jwksUri }),
    });
  });

  it("allows any port of its loopback redirect URIs, and none of others (RFC 8252 §7.3)", () => {
    const client = clientOf(document);
    for (const uri of document.redirect_uris) {
      const other = new URL(uri);
      other.port = "58135";
      const found = verifyRedirectUri(client, {
        requested: other.href,
        rule: "required",
        redirectSchemes: [],
      });
      expect(found !== undefined).toBe(uri.startsWith("http:"));
    }
  });
});
