import { apis } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { postToken, refresh } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";

stopClockForEachTest();

const readOnly = { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } };

function ignoringHost(changes: object = {}): TestHost {
  const orders = { ...apis["orders"], unknownScopes: "ignore", ...changes } as (typeof apis)[string];
  return testHost({ apis: { ...apis, orders }, clients: [readOnly, clients.machine] });
}

function ignoredIn({ events }: TestHost): unknown[] {
  return events.filter(({ kind }) => kind === "scopes-ignored");
}

describe("scopes that the API does not know, or beyond the subscription (RFC 6749 §3.3)", () => {
  const asked = "openid orders:read orders:write offline_access";

  it("are refused where the API does not say otherwise", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { scope: asked } });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_scope" });
  });

  it("are left out at authorize: the answer says what was granted", async () => {
    const host = ignoringHost();
    const tokens = await obtainTokens(host, { client: "web", fields: { scope: asked } });
    expect(tokens.scope).toBe("orders:read");
  });

  it("are shown to nobody", async () => {
    const host = ignoringHost();
    const page = await authorize(host.browser(), { client: "web", fields: { scope: asked } });
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(1);
    expect(page.text).not.toContain("openid");
  });

  it("are told to the host, once for a request", async () => {
    const host = ignoringHost();
    await obtainTokens(host, { client: "web", fields: { scope: asked } });
    const scopes = ["openid", "orders:write", "offline_access"];
    expect(ignoredIn(host)).toEqual([
      expect.objectContaining({ kind: "scopes-ignored", clientId: "web", scopes, count: 3 }),
    ]);
  });

  it("are told in part only when there are many and long ones: they are the client's text", async () => {
    const host = ignoringHost();
    const many = Array.from({ length: 25 }, (_, index) => `${index}`.padEnd(70, "x"));
    await authorize(host.browser(), { client: "web", fields: { scope: `orders:read ${many.join(" ")}` } });
    const [event] = ignoredIn(host) as { scopes: string[]; count: number }[];
    expect(event?.count).toBe(25);
    expect(event?.scopes).toEqual(many.slice(0, 20).map((scope) => scope.slice(0, 64)));
  });

  it.each(["openid", "openid profile"])(
    "leave the API's default scopes, where it has some: %s",
    async (scope) => {
      const host = ignoringHost();
      const tokens = await obtainTokens(host, { client: "web", fields: { scope } });
      expect(tokens.scope).toBe("orders:read");
      expect(ignoredIn(host)).toEqual([
        expect.objectContaining({ scopes: scope.split(" "), clientId: "web" }),
      ]);
    },
  );

  it.each([
    ["openid", []],
    ["openid orders:write", ["orders:read"]],
    ["orders:write", ["orders:read"]],
  ])(
    "are invalid_scope when nothing is left: %s, with the default scopes %j",
    async (scope, defaultScopes) => {
      const host = ignoringHost({ defaultScopes });
      const response = await authorize(host.browser(), { client: "web", fields: { scope } });
      expect(redirectParameters(response)).toMatchObject({ error: "invalid_scope" });
      expect(host.asked).toEqual([]);
    },
  );

  it.each(["orders:read  openid", " orders:read", 'orders:read "', "orders:read\topenid"])(
    "do not make a malformed scope good: %j",
    async (scope) => {
      const response = await authorize(ignoringHost().browser(), { client: "web", fields: { scope } });
      expect(redirectParameters(response)).toMatchObject({
        error: "invalid_scope",
        error_description: "The scope is malformed.",
      });
    },
  );

  it("are left out at refresh, which still narrows", async () => {
    const host = testHost({
      apis: { ...apis, orders: { ...apis["orders"], unknownScopes: "ignore" } as (typeof apis)[string] },
    });
    const fields = { scope: "orders:read orders:write" };
    const { refresh_token = "" } = await obtainTokens(host, { client: "web", fields });
    const response = await refresh(host, {
      client: "web",
      refreshToken: refresh_token,
      fields: { scope: "offline_access orders:write" },
    });
    expect(response.body).toMatchObject({ scope: "orders:write" });
    expect(ignoredIn(host)).toEqual([
      expect.objectContaining({ scopes: ["offline_access"], subject: "alice", clientId: "web" }),
    ]);
  });

  it.each(["openid", "orders:write", "openid orders:write"])(
    "do not widen a refresh, and burn no token: %s",
    async (scope) => {
      const host = testHost({
        apis: { ...apis, orders: { ...apis["orders"], unknownScopes: "ignore" } as (typeof apis)[string] },
      });
      const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
      const refused = await refresh(host, { client: "web", refreshToken, fields: { scope } });
      expect(refused.body).toMatchObject({ error: "invalid_scope" });
      expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
    },
  );

  it("are left out of client credentials", async () => {
    const host = ignoringHost();
    const fields = { grant_type: "client_credentials", ...credentials("machine"), scope: asked };
    expect((await postToken(host, { fields })).body).toMatchObject({ scope: "orders:read" });
    const none = { ...fields, scope: "openid" };
    expect((await postToken(host, { fields: none })).body).toMatchObject({ scope: "orders:read" });
    expect(ignoredIn(host)).toHaveLength(2);
  });

  it("do not stand for a scope that was left out where one is required", async () => {
    const response = await authorize(ignoringHost({ scope: "required", defaultScopes: [] }).browser(), {
      client: "web",
      fields: { scope: undefined },
    });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_scope" });
  });
});
