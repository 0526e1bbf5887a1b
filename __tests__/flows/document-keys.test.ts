// Clients with a metadata document that prove themselves with a key (client id metadata documents §4.1, RFC 7523 §2.2).
import { generateKeyPairSync } from "node:crypto";
import request, { type Response } from "supertest";
import { issuer, pairPath } from "../fixture/apis";
import { assertionOf, jwkOf, presenting } from "../fixture/client-assertions";
import { stopClock } from "../fixture/clock";
import { documentServer, type DocumentServer } from "../fixture/document-server";
import type { TestHost } from "../fixture/host";
import type { Tokens } from "../fixture/journey";
import {
  codeFor,
  documentPath,
  redeemAs,
  refreshAs,
  serveDocument,
  strangersHost,
} from "../fixture/strangers";

let server: DocumentServer;

beforeEach(async () => {
  server = await documentServer();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await server.close();
});

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwks = { keys: [jwkOf(publicKey, { kid: "one" })] };
const keysPath = "/jwks.json";
const byKey = { token_endpoint_auth_method: "private_key_jwt", jwks };

/** The parameters by which the client proves itself; `kid` names its key. */
function proof(
  clientId: string,
  { kid = "one", key = privateKey, aud = issuer } = {},
): Record<string, string> {
  const claims = { iss: clientId, sub: clientId, aud };
  return presenting(assertionOf({ key, header: { kid }, claims }));
}

async function exchange(host: TestHost, clientId: string, fields = proof(clientId)): Promise<Response> {
  return redeemAs(host, { clientId, code: await codeFor(host, clientId), fields });
}

describe("a client whose document names a key", () => {
  it("gets tokens and a refresh by assertions", async () => {
    const host = strangersHost();
    const clientId = serveDocument(server, byKey);
    const first = await exchange(host, clientId);
    expect(first.status).toBe(200);
    const token = (first.body as Tokens).refresh_token ?? "";
    expect((await refreshAs(host, { clientId, token, fields: proof(clientId) })).status).toBe(200);
  });

  it.each([
    ["without an assertion", () => ({})],
    ["with an assertion for another server", (id: string) => proof(id, { aud: "https://other.example" })],
    ["with an assertion for the token endpoint", (id: string) => proof(id, { aud: `${issuer}/token` })],
    [
      "with an assertion by another key",
      (id: string) => proof(id, { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey }),
    ],
    ["with a secret", () => ({ client_secret: "guess" })],
  ])("gets nothing %s, and the code stays good", async (_, fieldsOf) => {
    const host = strangersHost();
    const clientId = serveDocument(server, byKey);
    const code = await codeFor(host, clientId);
    const refused = await redeemAs(host, { clientId, code, fields: fieldsOf(clientId) });
    expect(refused.body).toMatchObject({ error: "invalid_client" });
    expect((await redeemAs(host, { clientId, code, fields: proof(clientId) })).status).toBe(200);
  });

  it("may name the token endpoint where the policy says so", async () => {
    const host = strangersHost({ accept: () => ({ kind: "accepted", allowTokenEndpointAudience: true }) });
    const clientId = serveDocument(server, byKey);
    const fields = proof(clientId, { aud: `${issuer}/token` });
    expect((await exchange(host, clientId, fields)).status).toBe(200);
  });

  it("never gets a token of its own", async () => {
    const host = strangersHost();
    const clientId = serveDocument(server, {
      ...byKey,
      grant_types: ["client_credentials", "authorization_code"],
    });
    // the document is remembered, so the refusal is not for want of it
    await exchange(host, clientId);
    const form = { grant_type: "client_credentials", client_id: clientId, ...proof(clientId) };
    const own = await request(host.app).post(`${pairPath()}/token`).type("form").send(form);
    expect(own.body).toMatchObject({ error: "unauthorized_client" });
  });
});

const atUri = (): object => ({
  token_endpoint_auth_method: "private_key_jwt",
  jwks_uri: server.url(keysPath),
});

describe("keys at jwks_uri", () => {
  it("are fetched once, and again for a new kid, no more often than twice a minute", async () => {
    const clock = stopClock();
    const host = strangersHost();
    server.documents.set(keysPath, { body: jwks });
    const clientId = serveDocument(server, { ...atUri() });
    expect((await exchange(host, clientId)).status).toBe(200);
    expect((await exchange(host, clientId)).status).toBe(200);
    expect(server.asked).toEqual([documentPath, keysPath]);
    const next = generateKeyPairSync("ec", { namedCurve: "P-256" });
    server.documents.set(keysPath, { body: { keys: [...jwks.keys, jwkOf(next.publicKey, { kid: "two" })] } });
    const withNext = (): Record<string, string> => proof(clientId, { kid: "two", key: next.privateKey });
    expect((await exchange(host, clientId, withNext())).status).toBe(401);
    clock.advance(31);
    expect((await exchange(host, clientId, withNext())).status).toBe(200);
    expect(server.asked).toEqual([documentPath, keysPath, keysPath]);
  });

  it("that are the document itself, or lead in a circle, are no keys", async () => {
    const host = strangersHost();
    const clientId = serveDocument(server, { ...atUri(), jwks_uri: server.url(documentPath) });
    expect((await exchange(host, clientId)).body).toMatchObject({ error: "invalid_client" });
    server.documents.set(keysPath, { status: 302, headers: { Location: keysPath }, body: {} });
    const other = strangersHost();
    const circle = serveDocument(server, { ...atUri() });
    expect((await exchange(other, circle)).body).toMatchObject({ error: "temporarily_unavailable" });
    expect(server.asked.filter((path) => path === keysPath)).toHaveLength(1);
  });

  it("are not fetched for an assertion that could not be good", async () => {
    const host = strangersHost();
    server.documents.set(keysPath, { body: jwks });
    const clientId = serveDocument(server, { ...atUri() });
    await exchange(host, clientId, proof(clientId, { aud: "https://other.example" }));
    expect(server.asked).toEqual([documentPath]);
  });
});

describe("how the client proves itself is fixed at the approval (decision 0039)", () => {
  it("a refresh token that was obtained with a key is worth nothing once the document says none", async () => {
    const clock = stopClock();
    const host = strangersHost();
    const clientId = serveDocument(server, byKey);
    const token = ((await exchange(host, clientId)).body as Tokens).refresh_token ?? "";
    serveDocument(server);
    clock.advance(301);
    expect((await refreshAs(host, { clientId, token })).body).toMatchObject({ error: "invalid_grant" });
    // nothing was spent: with the key again it works
    serveDocument(server, byKey);
    clock.advance(301);
    expect((await refreshAs(host, { clientId, token, fields: proof(clientId) })).status).toBe(200);
  });

  it("nor can a code be redeemed by another kind of proof", async () => {
    const clock = stopClock();
    const lifetimes = { authorizationCodeSeconds: 600 };
    const host = strangersHost({ lifetimes });
    const clientId = serveDocument(server, byKey);
    const code = await codeFor(host, clientId);
    serveDocument(server);
    clock.advance(301);
    expect((await redeemAs(host, { clientId, code })).body).toMatchObject({ error: "invalid_grant" });
  });

  it("a document that lists none beside its key goes without where the policy says so, and only then", async () => {
    const listsBoth = { ...byKey, token_endpoint_auth_methods_supported: ["private_key_jwt", "none"] };
    const clientId = serveDocument(server, listsBoth);
    expect((await exchange(strangersHost(), clientId, {})).body).toMatchObject({ error: "invalid_client" });
    const host = strangersHost({ accept: () => ({ kind: "accepted", clientAuthentication: "none" }) });
    expect((await exchange(host, clientId, {})).status).toBe(200);
  });
});
