import { type Client, memoryStorage } from "../../lib";
import { codeVerifier } from "../browser/authorization-request";
import { redirectParameters } from "../browser/authorize";
import { assertionOf, presenting, publicKeys } from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, testHost, type TestHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";
import { answerOf, corsHeaders, invalidClient, preflight, refusal } from "../requests/json-answers";
import {
  authorizeAs,
  codeFor,
  nativeMetadata,
  redeemAs,
  register,
  type Registered,
  registered,
  registrationHost,
  tokenAs,
  webMetadata,
} from "../requests/registration";
import { intercept } from "../storage/slow-storage";
import { tokenPath } from "../requests/token-requests";

const clock = stopClockForEachTest();

describe("a host that lets no client register", () => {
  it("does not load the code for it", () => {
    const route = "../../lib/http/registration-route";
    const loaded: string[] = [];
    jest.doMock(route, (): unknown => {
      loaded.push(route);
      return jest.requireActual(route);
    });
    testHost();
    expect(loaded).toEqual([]);
    registrationHost();
    expect(loaded).toEqual([route]);
  });
});

const refreshing = (refreshToken = "") => ({ grant_type: "refresh_token", refresh_token: refreshToken });

describe("a client that has registered itself (RFC 7591 §1.3, RFC 6749 §4.1, §6)", () => {
  it.each([
    ["an app on a device", nativeMetadata],
    ["a web app with a secret", { ...webMetadata, grant_types: nativeMetadata.grant_types }],
  ])("%s gets a code, tokens and new tokens", async (_, metadata) => {
    const host = registrationHost();
    const client = await registered(host, metadata);
    const first = await redeemAs(host, client, await codeFor(host, client));
    const tokens = first.body as Tokens;
    const second = await tokenAs(host, client, { fields: refreshing(tokens.refresh_token) });
    const { access_token } = second.body as Tokens;
    const seen = await callApi(host, "/orders", access_token);
    expect([first.status, second.status, seen.status]).toEqual([200, 200, 200]);
    expect(seen.body).toMatchObject({ subject: signedIn.subject, clientId: client.client_id });
  });

  it("a client with a key proves itself by signed assertions (RFC 7523 §2.2)", async () => {
    const host = registrationHost();
    const client = await registered(host, {
      ...webMetadata,
      token_endpoint_auth_method: "private_key_jwt",
      grant_types: nativeMetadata.grant_types,
      jwks: { keys: publicKeys },
    });
    const { client_id } = client;
    const proof = () => presenting(assertionOf({ claims: { iss: client_id, sub: client_id } }));
    const code = await codeFor(host, client);
    const redeeming = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
    const redirect_uri = client.redirect_uris[0];
    const unproven = await tokenAs(host, client, { fields: { ...redeeming, redirect_uri } });
    const first = await tokenAs(host, client, { fields: { ...redeeming, redirect_uri, ...proof() } });
    const { refresh_token } = first.body as Tokens;
    const second = await tokenAs(host, client, { fields: { ...refreshing(refresh_token), ...proof() } });
    expect(answerOf(unproven)).toEqual(invalidClient);
    expect([first.status, second.status]).toEqual([200, 200]);
  });

  it("that named no refresh_token gets none", async () => {
    const host = registrationHost();
    const client = await registered(host, webMetadata);
    const { body } = await redeemAs(host, client, await codeFor(host, client));
    expect(body).toHaveProperty("access_token");
    expect(body).not.toHaveProperty("refresh_token");
  });

  it("uses any port of its loopback redirect (RFC 8252 §7.3)", async () => {
    const host = registrationHost();
    const client = await registered(host, nativeMetadata);
    const redirect_uri = "http://127.0.0.1:49152/callback";
    const code = await codeFor(host, client, { redirect_uri });
    const answer = await redeemAs(host, { ...client, redirect_uris: [redirect_uri] }, code);
    expect(answer.status).toBe(200);
  });

  it("may request the scopes that the host allows and no other", async () => {
    const host = registrationHost({ approve: () => ({ kind: "approved", scopes: ["orders:read"] }) });
    const client = await registered(host, { ...nativeMetadata, scope: "orders:read orders:write" });
    const answer = await authorizeAs(host.browser(), client, { fields: { scope: "orders:write" } });
    expect(redirectParameters(answer)).toMatchObject({ error: "invalid_scope" });
  });

  it("may request more than it registered with, and the person is asked (MCP, scope challenge handling)", async () => {
    const host = registrationHost();
    const client = await registered(host, { ...nativeMetadata, scope: "orders:read" });
    const answer = await authorizeAs(host.browser(), client, { fields: { scope: "orders:write" } });
    expect(answer.text).toContain("Change your orders");
  });

  it("never acts for itself", async () => {
    const host = registrationHost();
    const metadata = { ...webMetadata, grant_types: ["authorization_code", "client_credentials"] };
    const client = await registered(host, metadata);
    const answer = await tokenAs(host, client, { fields: { grant_type: "client_credentials" } });
    expect(answerOf(answer)).toEqual(refusal(400, "unauthorized_client"));
  });

  it("is unknown when an hour has passed and nobody has approved it", async () => {
    const host = registrationHost();
    const client = await registered(host, webMetadata);
    clock.advance(3_600);
    expect((await authorizeAs(host.browser(), client)).status).toBe(400);
    const answer = await tokenAs(host, client, { fields: refreshing("x") });
    expect(answerOf(answer)).toEqual(invalidClient);
  });

  it("on a listed page may call the token endpoint by script, without refresh tokens", async () => {
    const page = "http://localhost:6274";
    const host = registrationHost({ browserOrigins: [page] });
    const { body } = await register(host, { ...nativeMetadata, redirect_uris: [`${page}/callback`] });
    const client = body as Awaited<ReturnType<typeof registered>>;
    expect(corsHeaders(await preflight(host, tokenPath, page))).toContain("access-control-allow-origin");
    const answer = await redeemAs(host, client, await codeFor(host, client));
    expect(answer.body).not.toHaveProperty("refresh_token");
  });

  it("is asked about again when its record leads elsewhere than the consent was given for", async () => {
    let redirectUris: readonly string[] | undefined;
    const storage = intercept(memoryStorage({ clients: [] }), async (name, call) => {
      const answer = await call();
      const isMoved = redirectUris !== undefined && name === "clientRegistrations.find";
      return isMoved ? { ...(answer as Client), redirectUris } : answer;
    });
    const host = registrationHost({}, { storage });
    const client = await registered(host, webMetadata);
    await codeFor(host, client);
    expect(redirectParameters(await authorizeAs(host.browser(), client))).toHaveProperty("code");
    redirectUris = [...client.redirect_uris, "https://app.example/other"];
    expect((await authorizeAs(host.browser(), client)).status).toBe(200);
  });
});

async function isKnown(host: TestHost, client: Registered): Promise<boolean> {
  return (await authorizeAs(host.browser(), client)).status === 200;
}

describe("how long a registration lasts (RFC 7591 §5)", () => {
  const day = 86_400;
  it("an hour, if nobody approves the client", async () => {
    const host = registrationHost();
    const client = await registered(host, nativeMetadata);
    clock.advance(3_599);
    expect(await isKnown(host, client)).toBe(true);
    clock.advance(1);
    expect(await isKnown(host, client)).toBe(false);
  });

  it("until thirty days after what an approval can lead to; each approval counts anew", async () => {
    const host = registrationHost();
    const client = await registered(host, nativeMetadata);
    for (const _ of ["first", "second"]) {
      await codeFor(host, client);
      clock.advance(119 * day);
      expect(await isKnown(host, client)).toBe(true);
    }
    clock.advance(2 * day);
    expect(await isKnown(host, client)).toBe(false);
  });

  it("an approval comes too late when the registration has ended while the page was open", async () => {
    const host = registrationHost();
    const client = await registered(host, nativeMetadata);
    clock.advance(3_500);
    const browser = host.browser();
    const page = await authorizeAs(browser, client);
    clock.advance(200);
    const answer = await browser.answer(page, "approve");
    expect(answer.headers).not.toHaveProperty("location");
    expect(await host.auth.authorizations.list("alice")).toMatchObject({ authorizations: [] });
  });

  it("an approval comes too late when storage has just forgotten the registration", async () => {
    const storage = memoryStorage({ clients: [] });
    const forgetting = { ...storage.clientRegistrations, extend: async () => false };
    const host = registrationHost({}, { storage: { ...storage, clientRegistrations: forgetting } });
    const browser = host.browser();
    const page = await authorizeAs(browser, await registered(host, nativeMetadata));
    const answer = redirectParameters(await browser.answer(page, "approve"));
    expect(answer).toHaveProperty("error", "access_denied");
    expect(await host.auth.authorizations.list("alice")).toMatchObject({ authorizations: [] });
  });
});
