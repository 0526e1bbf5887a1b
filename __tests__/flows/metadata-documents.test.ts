// Clients whose id is the URL of their metadata document (draft-ietf-oauth-client-id-metadata-document).
import request from "supertest";
import { memoryStorage } from "../../lib";
import { type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { postToken } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { documentServer, type DocumentServer } from "../servers/document-server";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";
import {
  askAs,
  codeFor,
  documentPath,
  redeemAs,
  redirectUri,
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

const serve = (changes?: Readonly<Record<string, unknown>>): string => serveDocument(server, changes);

const refusals = ({ events }: TestHost): readonly (string | undefined)[] =>
  events.flatMap((event) => (event.kind === "client-document-refused" ? [event.code] : []));

describe("a client with a metadata document (draft-ietf-oauth-client-id-metadata-document §3)", () => {
  it("gets a code, tokens, an API call, a refresh, and can revoke: nobody has registered it", async () => {
    const host = strangersHost({ revocationLagSeconds: 0 });
    const clientId = serve();
    const first = await tokensFor(host, clientId);
    expect((await callApi(host, "/orders", first.access_token)).body).toMatchObject({
      clientId,
      subject: "alice",
    });
    const second = (await refreshAs(host, { clientId, token: first.refresh_token ?? "" })).body as Tokens;
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(200);
    const revoked = await request(host.app)
      .post(`${pairPath()}/revoke`)
      .type("form")
      .send({ client_id: clientId, token: second.refresh_token });
    expect(revoked.status).toBe(200);
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(401);
    // the document was fetched once: it is remembered
    expect(server.asked).toEqual([documentPath]);
  });

  it("is announced in the metadata of the API's issuers, and nowhere else (§5)", async () => {
    const host = strangersHost();
    const metadataOf = async (pair: Pair): Promise<Record<string, unknown>> =>
      (await request(host.app).get(`${pairPath(pair)}/.well-known/oauth-authorization-server`))
        .body as Record<string, unknown>;
    expect((await metadataOf({}))["client_id_metadata_document_supported"]).toBe(true);
    expect(await metadataOf({ api: "reports" })).not.toHaveProperty("client_id_metadata_document_supported");
  });

  it("is unknown at an API that does not accept such clients, and nothing is fetched", async () => {
    const host = strangersHost();
    const clientId = serve();
    expect((await askAs(host.browser(), { clientId, pair: { api: "files" } })).status).toBe(400);
    expect(server.asked).toEqual([]);
  });

  it("is never trusted: the person is asked, whatever the document says", async () => {
    const host = strangersHost();
    const clientId = serve({ trusted: true, subscriptions: { orders: { trusted: true } } });
    expect((await askAs(host.browser(), { clientId })).status).toBe(200);
    const silent = await askAs(host.browser(), { clientId, fields: { prompt: "none" } });
    expect(redirectParameters(silent)["error"]).toBe("consent_required");
  });

  it("has no refresh token if its grant_types do not name it, and never its own token", async () => {
    const host = strangersHost();
    const clientId = serve({ grant_types: ["authorization_code", "client_credentials", "urn:unknown"] });
    expect(await tokensFor(host, clientId)).not.toHaveProperty("refresh_token");
    const own = await postToken(host, { fields: { grant_type: "client_credentials", client_id: clientId } });
    expect(own.body).toMatchObject({ error: "unauthorized_client" });
  });

  it("must use PKCE, as every public client", async () => {
    const host = strangersHost();
    const fields = { code_challenge: undefined, code_challenge_method: undefined };
    const response = await askAs(host.browser(), { clientId: serve(), fields });
    expect(redirectParameters(response)["error"]).toBe("invalid_request");
  });

  it("comes after the host's own table: a registered client with that id is a registered client", async () => {
    const clientId = serve({ client_name: "Other" });
    const record = { ...clients.native, clientId, redirectUris: [redirectUri] };
    const host = strangersHost({ storage: memoryStorage({ clients: [record] }) });
    const page = await askAs(host.browser(), { clientId });
    expect(page.text).toContain(clients.native.name);
    expect(server.asked).toEqual([]);
  });

  it("has its tokens ended by auth.clients.revoke and auth.consents.revoke", async () => {
    const host = strangersHost({ revocationLagSeconds: 0 });
    const clientId = serve();
    const first = await tokensFor(host, clientId);
    await host.auth.clients.revoke(clientId);
    expect((await callApi(host, "/orders", first.access_token)).status).toBe(401);
    expect((await refreshAs(host, { clientId, token: first.refresh_token ?? "" })).status).toBe(400);
    const second = await tokensFor(host, clientId);
    await host.auth.consents.revoke({ subject: "alice", clientId, apiId: "orders" });
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(401);
  });
});

describe("the policy of the host (§6, §8)", () => {
  it("knows that nobody registered the client when it decides about a token", async () => {
    const clientsSeen: object[] = [];
    const decide = ({ client }: { client: object }): { kind: "issue" } => {
      clientsSeen.push(client);
      return { kind: "issue" };
    };
    const host = strangersHost({ tokens: { decide } });
    await tokensFor(host, serve());
    expect(clientsSeen).toMatchObject([{ name: "A Stranger", selfDescribed: { by: "document" } }]);
  });

  it("is asked before anything is fetched", async () => {
    const asked: string[] = [];
    const host = strangersHost({
      accept: (clientId) => {
        asked.push(clientId);
        return { kind: "refused" };
      },
    });
    const clientId = serve();
    expect((await askAs(host.browser(), { clientId })).status).toBe(400);
    expect(asked).toEqual([clientId]);
    expect(server.asked).toEqual([]);
    expect(refusals(host)).toEqual(["document-refused-by-host"]);
  });

  it("is asked again at every token request", async () => {
    let accepts = true;
    const host = strangersHost({ accept: () => ({ kind: accepts ? "accepted" : "refused" }) });
    const clientId = serve();
    const { refresh_token: token = "" } = await tokensFor(host, clientId);
    accepts = false;
    expect((await refreshAs(host, { clientId, token })).body).toMatchObject({ error: "invalid_client" });
    accepts = true;
    expect((await refreshAs(host, { clientId, token })).status).toBe(200);
  });

  it("limits the scopes", async () => {
    const host = strangersHost({ accept: () => ({ kind: "accepted", scopes: ["orders:read"] }) });
    const response = await askAs(host.browser(), { clientId: serve(), fields: { scope: "orders:write" } });
    expect(redirectParameters(response)["error"]).toBe("invalid_scope");
  });

  it.each([
    ["throws", () => Promise.reject(new Error("policy"))],
    ["answers nothing", () => undefined as never],
    ["answers another kind", () => ({ kind: "yes" }) as never],
    ["misspells its constant of scopes", () => ({ kind: "accepted", scopes: undefined }) as never],
    ["answers null for scopes", () => ({ kind: "accepted", scopes: null }) as never],
    ["writes scopes as one text", () => ({ kind: "accepted", scopes: "orders:read" }) as never],
    ["misspells its constant of origins", () => ({ kind: "accepted", redirectOrigins: undefined }) as never],
    [
      "writes origins as one text, which contains other origins",
      () => ({ kind: "accepted", redirectOrigins: "https://app.example.com" }) as never,
    ],
    ["says yes where only none counts", () => ({ kind: "accepted", clientAuthentication: "key" }) as never],
    ["answers a text for a switch", () => ({ kind: "accepted", allowTokenEndpointAudience: "no" }) as never],
  ])("that %s is a server error, and nothing is fetched", async (_, accept) => {
    const host = strangersHost({ accept });
    const response = await askAs(host.browser(), { clientId: serve() });
    expect(response.status).toBe(500);
    expect(host.events.map(({ kind }) => kind)).toEqual(["server-error"]);
    expect(server.asked).toEqual([]);
  });

  it("may make scripts of a listed origin clients: no refresh token, and token answers may be read there", async () => {
    const browserOrigins = ["http://localhost:6274"];
    const host = strangersHost({ browserOrigins });
    const redirect = "http://localhost:6274/callback";
    const clientId = serve({ redirect_uris: [redirect] });
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { redirect_uri: redirect } });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const response = await request(host.app)
      .post(`${pairPath()}/token`)
      .set("Origin", browserOrigins[0] ?? "")
      .type("form")
      .send({ grant_type: "authorization_code", client_id: clientId, code, code_verifier: codeVerifier });
    expect(response.status).toBe(200);
    expect(response.body).not.toHaveProperty("refresh_token");
    expect(response.headers["access-control-allow-origin"]).toBe(browserOrigins[0]);
  });

  it("otherwise gives scripts nothing: no CORS for the origin of a document", async () => {
    const host = strangersHost();
    const clientId = serve();
    await tokensFor(host, clientId);
    const preflight = await request(host.app)
      .options(`${pairPath()}/token`)
      .set("Origin", new URL(clientId).origin);
    expect(preflight.headers).not.toHaveProperty("access-control-allow-origin");
    expect(server.asked).toEqual([documentPath]);
  });
});

describe("when a document is fetched (§6)", () => {
  it.each([
    [
      "a token request without a code of this client",
      { grant_type: "authorization_code", code: `${"A".repeat(22)}.${"B".repeat(43)}` },
    ],
    ["a token request with nonsense", { grant_type: "refresh_token", refresh_token: "nonsense" }],
    ["client credentials", { grant_type: "client_credentials" }],
  ])("never for %s", async (_, fields) => {
    const host = strangersHost();
    const response = await postToken(host, { fields: { client_id: serve(), ...fields } });
    expect(response.body).toMatchObject({ error: "invalid_client" });
    expect(server.asked).toEqual([]);
  });

  it("never for introspection, a bearer check, a preflight, or the check of a subject", async () => {
    const host = strangersHost();
    const clientId = serve();
    const { access_token: token } = await tokensFor(host, clientId);
    server.asked.length = 0;
    // another process, which has not seen the document yet
    const other = strangersHost({ storage: host.storage });
    other.session = { kind: "authenticated", subject: clientId };
    expect((await callApi(other, "/orders", token)).status).toBe(200);
    const form = { client_id: clientId, token };
    expect((await request(other.app).post(`${pairPath()}/introspect`).type("form").send(form)).status).toBe(
      401,
    );
    await request(other.app).options(`${pairPath()}/token`).set("Origin", new URL(clientId).origin);
    const registered = { ...authorizationParameters("native"), scope: "orders:read" };
    await other.browser().get(`${pairPath()}/authorize`, registered);
    expect(server.asked).toEqual([]);
  });

  it("for a token request whose code is that client's, in a process that has not seen the document", async () => {
    const host = strangersHost();
    const clientId = serve();
    const code = await codeFor(host, clientId);
    const other = strangersHost({ storage: host.storage });
    expect((await redeemAs(other, { clientId, code })).status).toBe(200);
    expect(server.asked).toEqual([documentPath, documentPath]);
  });

  it("not for somebody else's code", async () => {
    const host = strangersHost();
    const code = await codeFor(host, serve());
    const other = strangersHost({ storage: host.storage });
    server.asked.length = 0;
    expect((await redeemAs(other, { clientId: server.url("/evil.json"), code })).status).toBe(401);
    expect(server.asked).toEqual([]);
  });

  it("not again after a failure, until some time has passed; then the client works", async () => {
    const clock = stopClock();
    const host = strangersHost();
    const clientId = serve();
    server.documents.set(documentPath, { status: 500, body: {} });
    expect((await askAs(host.browser(), { clientId })).status).toBe(503);
    serve();
    expect((await askAs(host.browser(), { clientId })).status).toBe(503);
    expect(server.asked).toEqual([documentPath]);
    clock.advance(31);
    expect((await askAs(host.browser(), { clientId })).status).toBe(200);
  });

  it("the last good document serves while the server of the client is down, for a day at most", async () => {
    const clock = stopClock();
    const host = strangersHost();
    const clientId = serve();
    const { refresh_token: token = "" } = await tokensFor(host, clientId);
    server.documents.set(documentPath, { status: 503, body: {} });
    clock.advance(86_000);
    const { body } = await refreshAs(host, { clientId, token });
    expect(body).toHaveProperty("refresh_token");
    clock.advance(1_000);
    const late = await refreshAs(host, { clientId, token: (body as Tokens).refresh_token ?? "" });
    expect(late.status).toBe(503);
    expect(late.body).toMatchObject({ error: "temporarily_unavailable" });
  });
});

/** A client with a refresh token, whose server is down, and a process that has just started. */
async function afterRestart(): Promise<{ host: TestHost; clientId: string; token: string }> {
  const host = strangersHost();
  const clientId = serve();
  const { refresh_token: token = "" } = await tokensFor(host, clientId);
  server.documents.set(documentPath, { status: 503, body: {} });
  return { host: strangersHost({ storage: host.storage }), clientId, token };
}

describe("a client whose document cannot be fetched now (RFC 6749 §5.2)", () => {
  it("keeps its refresh token: 503, and it works when the client comes back as told", async () => {
    const clock = stopClock();
    const { host, clientId, token } = await afterRestart();
    const refused = await refreshAs(host, { clientId, token });
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({
      error: "temporarily_unavailable",
      error_description: "The client's metadata document cannot be fetched now.",
    });
    serve();
    clock.advance(Number(refused.headers["retry-after"]));
    expect((await refreshAs(host, { clientId, token })).status).toBe(200);
    expect(server.asked).toHaveLength(3);
  });

  it("keeps what it wants to revoke: 503", async () => {
    const { host, clientId, token } = await afterRestart();
    const form = { client_id: clientId, token };
    const refused = await request(host.app).post(`${pairPath()}/revoke`).type("form").send(form);
    expect(refused.body).toMatchObject({ error: "temporarily_unavailable" });
  });

  it("looks like no failure of this server in events, which say why", async () => {
    const { host, clientId, token } = await afterRestart();
    await refreshAs(host, { clientId, token });
    expect(host.events).toMatchObject([
      {
        kind: "client-document-refused",
        code: "answer-status",
      },
      { kind: "token-refused", error: "temporarily_unavailable" },
    ]);
  });

  it("is unknown to whoever has no grant of its own: introspection, another client's token", async () => {
    const { host, clientId, token } = await afterRestart();
    const form = { client_id: clientId, token };
    const introspected = await request(host.app).post(`${pairPath()}/introspect`).type("form").send(form);
    expect(introspected.body).toMatchObject({ error: "invalid_client" });
    const foreign = await refreshAs(host, { clientId: server.url("/other.json"), token });
    expect(foreign.body).toMatchObject({ error: "invalid_client" });
  });

  it("is told to a person on a page with 503, who is led nowhere and has to blame nobody", async () => {
    const { host, clientId } = await afterRestart();
    const page = await askAs(host.browser(), { clientId });
    expect(page.status).toBe(503);
    expect(page.headers).not.toHaveProperty("location");
    expect(page.text).toContain("<h1>The app can’t be reached</h1>");
    expect(host.events).toMatchObject([
      { kind: "client-document-refused" },
      { kind: "authorization-denied", error: "temporarily_unavailable" },
    ]);
  });

  it.each([
    ["that is wrong", () => serve({ client_id: "https://other.example/client.json" })],
    ["of a client that the policy refuses", undefined],
  ])("stays apart from a document %s: invalid_client", async (_, change) => {
    const { host, clientId, token } = await afterRestart();
    change?.();
    const refusing = strangersHost({ storage: host.storage, accept: () => ({ kind: "refused" }) });
    const refused = await refreshAs(change ? host : refusing, { clientId, token });
    expect(refused.body).toMatchObject({ error: "invalid_client" });
  });
});

describe("a document that changes (§8)", () => {
  it("asks the person again when it lists other redirect URIs", async () => {
    const clock = stopClock();
    const host = strangersHost({
      accept: () => ({ kind: "accepted", redirectOrigins: ["https://app.example"] }),
    });
    const redirect_uri = "https://app.example/callback";
    const clientId = serve({ redirect_uris: [redirect_uri] });
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { redirect_uri } });
    await browser.answer(page, "approve");
    // remembered: an https redirect proves the client
    expect((await askAs(browser, { clientId, fields: { redirect_uri } })).status).toBe(302);
    serve({ redirect_uris: [redirect_uri, "https://app.example/other"] });
    clock.advance(400);
    expect((await askAs(browser, { clientId, fields: { redirect_uri } })).status).toBe(200);
  });

  it("is refused while a page about the old one is open", async () => {
    const clock = stopClock();
    const host = strangersHost();
    const clientId = serve();
    const browser = host.browser();
    const page = await askAs(browser, { clientId });
    serve({ redirect_uris: [redirectUri, "http://127.0.0.1/other"] });
    clock.advance(400);
    const answer = redirectParameters(await browser.answer(page, "approve"));
    expect(answer["error"]).toBe("access_denied");
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
  });

  it("asks each time when the answer leads to this device (RFC 8252 §8.6)", async () => {
    const host = strangersHost();
    const clientId = serve();
    await tokensFor(host, clientId);
    expect((await askAs(host.browser(), { clientId })).status).toBe(200);
  });
});

describe("the consent page for strangers", () => {
  it("names the host of the id, says that it is a first visit, and warns of this device", async () => {
    const host = strangersHost();
    const clientId = serve({ client_name: "Your Bank\u202e", logo_uri: server.url("/logo.png") });
    const browser = host.browser();
    const page = await askAs(browser, { clientId });
    expect(page.text).toContain("<bdi>Your Bank</bdi>");
    expect(page.text).toContain(
      `This site hasn’t verified this app. Anyone can use this name. Check where this app comes from: <bdi>${new URL(clientId).host}</bdi>`,
    );
    expect(page.text).toContain("You haven’t used this app here before.");
    expect(page.text).toContain("an app on this device");
    expect(page.text).not.toContain("logo.png");
    await browser.answer(page, "approve");
    const again = await askAs(browser, { clientId });
    expect(again.text).not.toContain("You haven’t used this app here before.");
    expect(again.text).toContain("hasn’t verified");
  });

  it("tells the host's own page the same", async () => {
    const host = strangersHost({ consent: { decide: () => ({ kind: "interaction", url: "/signin" }) } });
    const clientId = serve();
    const browser = host.browser();
    const redirect = await askAs(browser, { clientId });
    const shown = await browser.get(redirect.headers["location"] as string);
    expect(shown.body).toMatchObject({
      client: { clientId, selfDescribed: { by: "document", host: new URL(clientId).host } },
    });
  });
});

it("an instance that is told nothing of such clients refuses them as unknown", async () => {
  const clientId = serve();
  const response = await askAs(testHost().browser(), { clientId });
  expect(response.status).toBe(400);
  expect(server.asked).toEqual([]);
});

describe("a link that would lead straight to a stranger's site (RFC 9700 §4.11.2)", () => {
  const redirect_uri = "https://evil.example/callback";

  function strangeHost(): { host: TestHost; clientId: string } {
    const host = strangersHost({
      accept: () => ({ kind: "accepted", redirectOrigins: ["https://evil.example"] }),
    });
    return { host, clientId: serve({ redirect_uris: [redirect_uri] }) };
  }

  it.each([
    ["prompt=none", { prompt: "none" }],
    ["a wrong scope", { scope: "nonsense" }],
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }],
    ["a wrong response type", { response_type: "token" }],
  ])("shows the refusal to the person instead: %s", async (_, wrong) => {
    const { host, clientId } = strangeHost();
    const response = await askAs(host.browser(), { clientId, fields: { redirect_uri, ...wrong } });
    expect(response.status).toBe(400);
    expect(response.headers).not.toHaveProperty("location");
  });

  it("a no of the person on the page is told to the client", async () => {
    const { host, clientId } = strangeHost();
    const browser = host.browser();
    const page = await askAs(browser, { clientId, fields: { redirect_uri } });
    expect(redirectParameters(await browser.answer(page, "deny"))["error"]).toBe("access_denied");
  });

  it("with a remembered consent, prompt=none works", async () => {
    const { host, clientId } = strangeHost();
    const browser = host.browser();
    await browser.answer(await askAs(browser, { clientId, fields: { redirect_uri } }), "approve");
    const silent = await askAs(browser, { clientId, fields: { redirect_uri, prompt: "none" } });
    expect(redirectParameters(silent)).toHaveProperty("code");
  });
});
