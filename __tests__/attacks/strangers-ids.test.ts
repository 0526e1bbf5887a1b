// The host deletes a client whose id is a URL. At that URL is a metadata document, which needs less proof than the client did. The
// attacker has tokens of the deleted client.
import request from "supertest";
import { type Client, generateClientSecret, memoryStorage, type Storage } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { postToken } from "../requests/client-requests";
import { clients, webSecret } from "../hosts/clients";
import { documentServer, type DocumentServer } from "../servers/document-server";
import type { TestHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";
import {
  askAs,
  codeFor,
  redeemAs,
  redirectUri,
  refreshAs,
  serveDocument,
  strangersHost,
} from "../browser/strangers";

let server: DocumentServer;

beforeEach(async () => {
  server = await documentServer();
});

afterEach(() => server.close());

const { secret, digest } = generateClientSecret();

/** A host that has registered the URL of a document, and the table from which it deletes the client. */
function registeredUrl(): { host: TestHost; clientId: string; table: Map<string, Client> } {
  const clientId = serveDocument(server);
  const { orders } = clients.web.subscriptions;
  const record: Client = {
    ...clients.web,
    clientId,
    redirectUris: [redirectUri],
    secretDigests: [digest],
    trusted: true,
    subscriptions: { orders },
  };
  const table = new Map<string, Client>([[clientId, record]]);
  const storage: Storage = {
    ...memoryStorage({ clients: [] }),
    clients: { find: async (id) => table.get(id), isBrowserOrigin: async () => false },
  };
  return { host: strangersHost({ storage, revocationLagSeconds: 0 }), clientId, table };
}

async function trustedCode(host: TestHost, clientId: string): Promise<string> {
  const answer = await host.browser().get(`${pairPath()}/authorize`, {
    ...authorizationParameters("native"),
    client_id: clientId,
    redirect_uri: redirectUri,
  });
  return redirectParameters(answer)["code"] ?? "";
}

async function tokensBySecret(host: TestHost, clientId: string): Promise<Tokens> {
  const code = await trustedCode(host, clientId);
  const fields = { client_secret: secret };
  return (await redeemAs(host, { clientId, code, fields })).body as Tokens;
}

describe("a deleted client whose id is the URL of a document (RFC 6749 §2.2, §10.3)", () => {
  it("has no access any more: neither by an access token nor by a refresh token", async () => {
    const { host, clientId, table } = registeredUrl();
    const { access_token: token, refresh_token: refreshToken = "" } = await tokensBySecret(host, clientId);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    table.clear();
    expect((await callApi(host, "/orders", token)).status).toBe(401);
    expect((await refreshAs(host, { clientId, token: refreshToken })).body).toMatchObject({
      error: "invalid_grant",
    });
  });

  it("has no token of its own any more", async () => {
    const { host, clientId, table } = registeredUrl();
    const fields = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
    const { access_token: token } = (await postToken(host, { fields })).body as Tokens;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    table.clear();
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });

  it("leaves no code that the document could redeem, and no page that counts", async () => {
    const { host, clientId, table } = registeredUrl();
    const code = await trustedCode(host, clientId);
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { prompt: "consent" } });
    table.clear();
    expect((await redeemAs(host, { clientId, code })).body).toMatchObject({ error: "invalid_grant" });
    expect(redirectParameters(await browser.answer(page, "approve"))["error"]).toBe("access_denied");
  });

  it("can be used as a document, once a person has approved it as one", async () => {
    const { host, clientId, table } = registeredUrl();
    table.clear();
    const code = await codeFor(host, clientId);
    const { access_token: token } = (await redeemAs(host, { clientId, code })).body as Tokens;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });

  it("is no longer described by introspection", async () => {
    const { host, clientId, table } = registeredUrl();
    table.set("web", clients.web);
    const { access_token: token } = await tokensBySecret(host, clientId);
    const ask = async () =>
      (
        await request(host.app)
          .post(`${pairPath()}/introspect`)
          .auth("web", webSecret.secret)
          .type("form")
          .send({ token })
      ).body as object;
    expect(await ask()).toMatchObject({ active: true });
    table.delete(clientId);
    expect(await ask()).toEqual({ active: false });
  });
});
