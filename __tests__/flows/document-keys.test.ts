// Clients with a metadata document that prove themselves with a key (client id metadata documents §4.1, RFC 7523 §2.2).
import { generateKeyPairSync } from "node:crypto";
import request, { type Response } from "supertest";
import { issuer, pairPath } from "../hosts/apis";
import { assertionOf, jwkOf, presenting } from "../requests/client-assertions";
import { stopClock } from "../hosts/clock";
import { documentServer, type DocumentServer } from "../servers/document-server";
import type { TestHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";
import {
  codeFor,
  documentPath,
  redeemAs,
  refreshAs,
  serveDocument,
  strangersHost,
  tokensFor,
} from "../browser/strangers";

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

/** The same without `kid`. */
function unnamedProof(clientId: string, key = privateKey): Record<string, string> {
  return presenting(
    assertionOf({ key, header: { kid: undefined }, claims: { iss: clientId, sub: clientId, aud: issuer } }),
  );
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
    const early = await exchange(host, clientId, withNext());
    expect([early.status, early.headers["retry-after"]]).toEqual([503, "30"]);
    clock.advance(31);
    expect((await exchange(host, clientId, withNext())).status).toBe(200);
    expect(server.asked).toEqual([documentPath, keysPath, keysPath]);
  });

  it("that are the document itself, or lead in a circle, are no keys", async () => {
    const clock = stopClock();
    const host = strangersHost();
    const clientId = serveDocument(server, { ...atUri(), jwks_uri: server.url(documentPath) });
    // it was fetched for the authorization request, and may be another one by now
    expect((await exchange(host, clientId)).body).toMatchObject({ error: "temporarily_unavailable" });
    clock.advance(31);
    expect((await exchange(host, clientId)).body).toMatchObject({ error: "invalid_client" });
    server.documents.set(keysPath, { status: 302, headers: { Location: keysPath }, body: {} });
    const other = strangersHost();
    const circle = serveDocument(server, { ...atUri() });
    expect((await exchange(other, circle)).body).toMatchObject({ error: "temporarily_unavailable" });
    expect(server.asked.filter((path) => path === keysPath)).toHaveLength(1);
  });

  it.each([
    ["that is not known", "new"],
    ["that it does not name", undefined],
  ])("are asked for again for a key %s, and waited for when they cannot be had", async (_, kid) => {
    const clock = stopClock();
    const host = strangersHost();
    const { privateKey: key, publicKey: newKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const published = { keys: [jwkOf(newKey, kid === undefined ? {} : { kid })] };
    server.documents.set(keysPath, { body: kid === undefined ? { keys: [jwkOf(publicKey)] } : jwks });
    const clientId = serveDocument(server, { ...atUri() });
    const code = await codeFor(host, clientId);
    const first = kid === undefined ? unnamedProof(clientId, privateKey) : proof(clientId);
    const token = ((await redeemAs(host, { clientId, code, fields: first })).body as Tokens).refresh_token;
    const fields = (): Record<string, string> =>
      kid === undefined ? unnamedProof(clientId, key) : proof(clientId, { kid, key });
    const refreshed = (): Promise<Response> =>
      refreshAs(host, { clientId, token: token ?? "", fields: fields() });
    clock.advance(31);
    server.documents.set(keysPath, { status: 503, body: {} });
    expect((await refreshed()).body).toMatchObject({ error: "temporarily_unavailable" });
    server.documents.set(keysPath, { body: published });
    clock.advance(31);
    expect((await refreshed()).status).toBe(200);
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

  it("but it can be revoked by the client as it is now (RFC 7009 §2.1)", async () => {
    const clock = stopClock();
    const host = strangersHost({ revocationLagSeconds: 0 });
    const clientId = serveDocument(server);
    const { access_token, refresh_token: token = "" } = await tokensFor(host, clientId);
    serveDocument(server, byKey);
    clock.advance(301);
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    const fields = { client_id: clientId, token, ...proof(clientId) };
    const { status } = await request(host.app).post(`${pairPath()}/revoke`).type("form").send(fields);
    expect(status).toBe(200);
    expect((await callApi(host, "/orders", access_token)).status).toBe(401);
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
