import request from "supertest";
import { redeem, introspect, refresh } from "../requests/client-requests";
import { authorize, redirectParameters } from "../browser/authorize";
import { allow, bothScopes, outcomeOf, outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { aliceIn, bikes, tea } from "../hosts/contexts";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { introspection, remoteApi, remoteServer } from "../resource-server/remote";

const clock = stopClockForEachTest();
const ofWeb = { subject: "alice", clientId: "web", apiId: "orders" };
const reading = { ...ofWeb, scopes: ["orders:read"] };
const both = "orders:read orders:write";

const opaque: TestHostOptions = {
  apis: { ...apis, orders: { ...apis["orders"]!, accessTokenFormat: "opaque" } },
};

/** A host at which Alice has allowed the web shop both scopes, and the tokens of that. */
async function withBoth(options: TestHostOptions = {}) {
  const host = testHost(options);
  const tokens = await obtainTokens(host, { client: "web", fields: bothScopes });
  expect(tokens.scope).toBe(both);
  return { host, tokens };
}

const refreshed = async (host: TestHost, { refresh_token = "" }: Tokens, fields = {}) =>
  refresh(host, { client: "web", refreshToken: refresh_token, fields });

describe("auth.consents.narrow (RFC 6749 §1.5, §6)", () => {
  it.each([
    ["JWT", {}],
    ["opaque", opaque],
  ])("takes a scope from access tokens, once the lag has passed: %s", async (_, options) => {
    const { host, tokens } = await withBoth(options);
    const statusAt = async (path: string) => (await callApi(host, path, tokens.access_token)).status;
    expect([await statusAt("/orders"), await statusAt("/orders/changes")]).toEqual([200, 200]);
    await host.auth.consents.narrow(reading);
    clock.advance(5);
    expect([await statusAt("/orders"), await statusAt("/orders/changes")]).toEqual([200, 403]);
    expect((await introspect(host, { token: tokens.access_token })).body).toMatchObject({
      active: true,
      scope: "orders:read",
    });
  });

  it("tells the client of the scope at the next refresh, and lets it name what it was granted", async () => {
    const { host, tokens } = await withBoth();
    await host.auth.consents.narrow(reading);
    const first = await refreshed(host, tokens);
    expect(first.body).toMatchObject({ scope: "orders:read" });
    const second = await refreshed(host, first.body as Tokens, { scope: both });
    expect(second.body).toMatchObject({ scope: "orders:read" });
    const refused = await refreshed(host, second.body as Tokens, { scope: "orders:write" });
    expect(refused.body).toMatchObject({ error: "invalid_scope" });
    // nothing is lost by that
    expect((await refreshed(host, second.body as Tokens)).status).toBe(200);
  });

  it("does not let a client name what was never granted", async () => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web" });
    await host.auth.consents.narrow(reading);
    expect((await refreshed(host, tokens, { scope: both })).body).toMatchObject({ error: "invalid_scope" });
  });

  it("has the client refresh when its token has nothing left", async () => {
    const { host, tokens } = await withBoth();
    const { body } = await refreshed(host, tokens, { scope: "orders:write" });
    const written = body as Tokens;
    await host.auth.consents.narrow(reading);
    expect((await callApi(host, "/orders/changes", written.access_token)).status).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ code: "token-taken-back" });
    expect((await refreshed(host, written)).body).toMatchObject({ scope: "orders:read" });
  });

  it("counts for a code that was not redeemed yet", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web", fields: bothScopes });
    await host.auth.consents.narrow(reading);
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ scope: "orders:read" });
  });

  it("counts for every sign-in, at every authentication method, and for nobody else", async () => {
    const { host, tokens } = await withBoth();
    const other = await obtainTokens(host, { client: "web", fields: bothScopes, pair: { method: "otp" } });
    const spa = await obtainTokens(host, { client: "spa", fields: bothScopes });
    await host.auth.consents.narrow(reading);
    clock.advance(5);
    const changes = async ({ access_token }: Tokens) =>
      (await callApi(host, "/orders/changes", access_token)).status;
    expect([await changes(tokens), await changes(other), await changes(spa)]).toEqual([403, 403, 200]);
    const { authorizations } = await host.auth.authorizations.list("alice");
    const scopesBy = authorizations.map(({ clientId, scopes }) => `${clientId}: ${scopes.join(" ")}`);
    expect(scopesBy.toSorted()).toEqual([`spa: ${both}`, "web: orders:read", "web: orders:read"]);
  });

  it("is remembered: the person is asked before the client gets the scope again", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    await host.auth.consents.narrow(reading);
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "consent-narrowed", ...reading });
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
    expect(await outcomeOfVisit(host, { fields: { prompt: "none" } })).toBe("granted");
    expect(await outcomeOfVisit(host, { fields: { prompt: "none", ...bothScopes } })).toBe(
      "consent_required",
    );
    await allow(host, { fields: bothScopes });
    expect(await outcomeOfVisit(host, { fields: { prompt: "none", ...bothScopes } })).toBe("granted");
  });

  it("has a later yes count for its own sign-in alone", async () => {
    const { host, tokens } = await withBoth();
    await host.auth.consents.narrow(reading);
    const again = await obtainTokens(host, { client: "web", fields: bothScopes });
    expect(again.scope).toBe(both);
    expect((await refreshed(host, tokens)).body).toMatchObject({ scope: "orders:read" });
  });

  it("refuses a page that was opened before", async () => {
    const host = testHost();
    await allow(host);
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    expect(outcomeOf(page)).toBe("asked");
    await host.auth.consents.narrow(reading);
    expect(redirectParameters(await browser.answer(page, "approve"))).toMatchObject({
      error: "access_denied",
    });
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it("takes a second time only what is still there, and less each time", async () => {
    const { host } = await withBoth();
    await host.auth.consents.narrow(reading);
    await host.auth.consents.narrow({ ...ofWeb, scopes: ["orders:read", "orders:write"] });
    expect(host.events.at(-1)).toMatchObject({ kind: "nothing-to-revoke", ...ofWeb });
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it("ends all where nothing of it stays", async () => {
    const { host, tokens } = await withBoth();
    await host.auth.consents.narrow({ ...ofWeb, scopes: ["orders:list"] });
    expect(await rememberedScopes(host)).toEqual([]);
    expect((await refreshed(host, tokens)).body).toMatchObject({ error: "invalid_grant" });
  });

  it("counts in one context alone if that is named", async () => {
    const host = testHost();
    host.session = aliceIn(bikes);
    const inBikes = await obtainTokens(host, { client: "web", fields: bothScopes });
    host.session = aliceIn(tea);
    const inTea = await obtainTokens(host, { client: "web", fields: bothScopes });
    await host.auth.consents.narrow({ ...reading, contextKey: "org-bikes" });
    const scopes = (await host.auth.consents.list("alice")).consents.map(
      ({ contextKey, scopes: left }) => `${contextKey}: ${left.join(" ")}`,
    );
    expect(scopes).toEqual(["org-bikes: orders:read", `org-tea: ${both}`]);
    expect((await refreshed(host, inBikes)).body).toMatchObject({ scope: "orders:read" });
    expect((await refreshed(host, inTea)).body).toMatchObject({ scope: both });
  });

  it("is refused for a trusted client", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    await expect(host.auth.consents.narrow(reading)).rejects.toMatchObject({ code: "client-is-trusted" });
  });
});

describe("auth.consents.narrow, seen by an API elsewhere (RFC 7662 §2.2)", () => {
  it.each([
    ["a JWT that it asks about", {}, { introspection }, 403],
    ["an opaque token", opaque, { introspection }, 403],
    ["a JWT that it checks by itself, until the token expires", {}, {}, 200],
  ])("%s", async (_, options, remote, status) => {
    const server = await remoteServer(options);
    const api = remoteApi(server, remote);
    const { access_token: token } = await obtainTokens(server.host, { client: "web", fields: bothScopes });
    const changes = async () =>
      (await request(api.app).get("/orders/changes").auth(token, { type: "bearer" })).status;
    expect(await changes()).toBe(200);
    await server.host.auth.consents.narrow(reading);
    clock.advance(5);
    expect(await changes()).toBe(status);
    expect((await request(api.app).get("/orders").auth(token, { type: "bearer" })).status).toBe(200);
    await server.stop();
  });
});
