import request from "supertest";
import { memoryStorage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { allow, outcomeOf, outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { introspect, ownToken, redeem, refresh } from "../requests/client-requests";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { introspection, remoteApi, remoteServer } from "../resource-server/remote";

const clock = stopClockForEachTest();
const lagSeconds = 5;

const opaque: TestHostOptions = {
  apis: { ...apis, orders: { ...apis["orders"]!, accessTokenFormat: "opaque" } },
};
const formats = [
  ["JWT", {}],
  ["opaque", opaque],
] as const;

async function machineToken(host: TestHost): Promise<string> {
  return ((await ownToken(host, { client: "machine" })).body as Tokens).access_token;
}

async function status(host: TestHost, { access_token: token }: Tokens, path = "/orders"): Promise<number> {
  return (await callApi(host, path, token)).status;
}

const refreshed = async (
  host: TestHost,
  { refresh_token = "" }: Tokens,
  api: "orders" | "files" = "orders",
) => (await refresh(host, { client: "web", refreshToken: refresh_token, pair: { api } })).body as Tokens;

describe("auth.apis.revoke (RFC 7009 §2.1, 6749 §10.2)", () => {
  it.each(formats)("ends tokens of all clients and people within the lag: %s", async (_, options) => {
    const host = testHost(options);
    const ofWeb = await obtainTokens(host, { client: "web" });
    const ofOtp = await obtainTokens(host, { client: "native", pair: { method: "otp" } });
    host.session = bob;
    const ofBob = await obtainTokens(host, { client: "other" });
    const own = { access_token: await machineToken(host), expires_in: 600 };
    const all = [ofWeb, ofOtp, ofBob, own];
    for (const tokens of all) expect(await status(host, tokens)).toBe(200);
    await host.auth.apis.revoke("orders");
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "api-ended", apiId: "orders" });
    clock.advance(lagSeconds);
    for (const tokens of all) expect(await status(host, tokens)).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ code: "token-authorization-ended" });
  });

  it.each(formats)("is seen by introspection at once: %s", async (_, options) => {
    const host = testHost(options);
    const { access_token: token, refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
    });
    const own = await machineToken(host);
    await host.auth.apis.revoke("orders");
    for (const each of [token, own])
      expect((await introspect(host, { token: each })).body).toEqual({ active: false });
    clock.advance(lagSeconds);
    expect((await introspect(host, { token: refreshToken })).body).toEqual({ active: false });
  });

  it("ends codes and refresh tokens", async () => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "web" });
    await host.auth.apis.revoke("orders");
    clock.advance(lagSeconds);
    expect(await refreshed(host, tokens)).toMatchObject({ error: "invalid_grant" });
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
  });

  it("gives nothing that lives longer than the lag by a process that has not seen it", async () => {
    const host = testHost();
    await machineToken(host);
    const tokens = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "web" });
    await host.auth.apis.revoke("orders");
    const given = [
      await refreshed(host, tokens),
      (await redeem(host, { client: "web", code })).body as Tokens,
    ];
    const own = await machineToken(host);
    clock.advance(lagSeconds);
    for (const each of given) {
      if (each.access_token !== undefined) expect(await status(host, each)).toBe(401);
      expect(await refreshed(host, each)).not.toHaveProperty("access_token");
    }
    expect((await callApi(host, "/orders", own)).status).toBe(401);
  });

  it("takes back what was remembered: the person is asked again, also without a page", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.apis.revoke("orders");
    expect(await rememberedScopes(host)).toEqual([]);
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
    expect(await outcomeOfVisit(host, { fields: { prompt: "none" } })).toBe("consent_required");
    await allow(host);
    expect(await outcomeOfVisit(host, { fields: { prompt: "none" } })).toBe("granted");
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it("refuses a page that was opened before", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    expect(outcomeOf(page)).toBe("asked");
    await host.auth.apis.revoke("orders");
    expect(redirectParameters(await browser.answer(page, "approve"))).toMatchObject({
      error: "access_denied",
    });
    expect(await rememberedScopes(host)).toEqual([]);
  });

  it("leaves other APIs alone", async () => {
    const host = testHost();
    const files = await obtainTokens(host, { client: "web", pair: { api: "files" } });
    await obtainTokens(host, { client: "web" });
    await host.auth.apis.revoke("orders");
    clock.advance(lagSeconds);
    expect(await status(host, files, "/files")).toBe(200);
    expect(await status(host, await refreshed(host, files, "files"), "/files")).toBe(200);
    const listed = [
      ...(await host.auth.consents.list("alice")).consents,
      ...(await host.auth.authorizations.list("alice")).authorizations,
    ];
    expect(listed.map(({ apiId }) => apiId)).toEqual(["files", "files"]);
  });

  it.each(formats)("ends nothing that is issued after it, each time: %s", async (_, options) => {
    const host = testHost(options);
    for (let round = 0; round < 2; round += 1) {
      await host.auth.apis.revoke("orders");
      clock.advance(lagSeconds);
      const tokens = await obtainTokens(host, { client: "web" });
      const own = await machineToken(host);
      clock.advance(lagSeconds);
      expect(await status(host, tokens)).toBe(200);
      expect((await callApi(host, "/orders", own)).status).toBe(200);
      expect(await status(host, await refreshed(host, tokens))).toBe(200);
    }
  });

  it("lets the end of a client count after it, and the other way round", async () => {
    const host = testHost();
    await host.auth.apis.revoke("orders");
    await host.auth.clients.revoke("web");
    const tokens = await obtainTokens(host, { client: "web" });
    clock.advance(lagSeconds);
    expect(await status(host, tokens)).toBe(200);
    await host.auth.clients.revoke("web");
    clock.advance(lagSeconds);
    expect(await status(host, tokens)).toBe(401);
  });

  it.each([undefined, "", 7, "order", "Orders", "https://api.example/orders"])(
    "rejects %j, and ends nothing",
    async (apiId) => {
      const host = testHost();
      const tokens = await obtainTokens(host, { client: "web" });
      await expect(host.auth.apis.revoke(apiId as string)).rejects.toThrow(TypeError);
      clock.advance(lagSeconds);
      expect(await status(host, tokens)).toBe(200);
    },
  );
});

const newStorage = () => memoryStorage({ clients: Object.values(clients) });

describe("auth.apis.revoke, with several processes and servers (RFC 7009 §2.1)", () => {
  it.each(formats)("works at once where the client is remembered from before: %s", async (_, options) => {
    const shared = { ...options, storage: newStorage() };
    const [one, other] = [testHost(shared), testHost(shared)];
    // the first end is remembered, the second one comes within the lag
    await one.auth.apis.revoke("orders");
    const before = await obtainTokens(other, { client: "web" });
    const ownBefore = await machineToken(other);
    expect(await status(other, before)).toBe(200);
    expect((await callApi(other, "/orders", ownBefore)).status).toBe(200);
    await one.auth.apis.revoke("orders");
    const fresh = testHost(shared);
    const after = await obtainTokens(fresh, { client: "web" });
    const ownAfter = await machineToken(fresh);
    expect(await status(other, after)).toBe(200);
    expect((await callApi(other, "/orders", ownAfter)).status).toBe(200);
    expect(await status(other, await refreshed(other, after))).toBe(200);
    clock.advance(lagSeconds);
    expect(await status(other, before)).toBe(401);
    expect((await callApi(other, "/orders", ownBefore)).status).toBe(401);
  });

  it("is none for another server with the same storage and another audience", async () => {
    const shared = newStorage();
    const mine = testHost({ storage: shared });
    const orders = { ...apis["orders"]!, audience: "https://api.other.example/orders" };
    const theirs = testHost({
      storage: shared,
      baseUrl: "https://host.example/login",
      apis: { ...apis, orders },
    });
    const tokens = await obtainTokens(theirs, { client: "web" });
    const own = await machineToken(theirs);
    await mine.auth.apis.revoke("orders");
    clock.advance(lagSeconds);
    expect(await status(theirs, tokens)).toBe(200);
    expect((await callApi(theirs, "/orders", own)).status).toBe(200);
    expect(await status(theirs, await refreshed(theirs, tokens))).toBe(200);
    expect(await outcomeOfVisit(theirs, { fields: { prompt: "none" } })).toBe("granted");
    await theirs.auth.apis.revoke("orders");
    clock.advance(lagSeconds);
    expect(await status(theirs, tokens)).toBe(401);
    expect((await callApi(theirs, "/orders", own)).status).toBe(401);
  });
});

describe("auth.apis.revoke, seen by an API elsewhere (RFC 7662 §2.2)", () => {
  it.each([
    ["a JWT that it asks about", {}, true, 401],
    ["an opaque token", opaque, true, 401],
    ["a JWT that it checks by itself, until the token expires", {}, false, 200],
  ] as const)("%s", async (_, options, asks, expected) => {
    const server = await remoteServer(options);
    const api = remoteApi(server, asks ? { introspection } : {});
    const { access_token: token } = await obtainTokens(server.host, { client: "web" });
    const called = async () => (await request(api.app).get("/orders").auth(token, { type: "bearer" })).status;
    expect(await called()).toBe(200);
    await server.host.auth.apis.revoke("orders");
    clock.advance(lagSeconds);
    expect(await called()).toBe(expected);
    await server.stop();
  });
});
