import type { Authentication } from "../../lib";
import { authorize, type CodeRequest } from "../browser/authorize";
import { redeem, refresh } from "../requests/client-requests";
import type { ClientName } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { allow, bothScopes, outcomeOf, outcomeOfVisit, rememberedScopes } from "../browser/consent";
import { bob, signedIn, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";

const clock = stopClockForEachTest();

describe("the account page: auth.consents", () => {
  it("lists an end user's consents and nobody else's", async () => {
    const host = testHost();
    await allow(host, { fields: bothScopes });
    await allow(host, { client: "spa", pair: { api: "files" } });
    host.session = bob;
    await allow(host);
    const times = { grantedAt: clock.now(), expiresAt: clock.now() + 31_536_000 };
    const byAlice = { subject: "alice", contextKey: "", endMarks: [], ...times };
    expect((await host.auth.consents.list("alice")).consents).toEqual([
      { ...byAlice, clientId: "spa", apiId: "files", scopes: ["files:read"] },
      { ...byAlice, clientId: "web", apiId: "orders", scopes: ["orders:read", "orders:write"] },
    ]);
    expect(await rememberedScopes(host, "bob")).toEqual([["orders:read"]]);
    expect((await host.auth.consents.list("nobody")).consents).toEqual([]);
  });

  it("lists none that has expired", async () => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(1_000);
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
  });

  it("revokes one: the end user is asked again, and the host hears of it", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    expect(host.events.at(-1)).toEqual({
      at: clock.now(),
      kind: "consent-revoked",
      subject: "alice",
      clientId: "web",
      apiId: "orders",
    });
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("revokes what descends from it: code, access token and refresh token, at every way of signing in", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: "web" });
    const otp = { method: "otp" } as const;
    const otpTokens = await obtainTokens(host, { client: "web", pair: otp });
    const code = await obtainCode(host, { client: "web" });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
    for (const [pair, held] of [
      [{}, tokens],
      [otp, otpTokens],
    ] as const) {
      const { access_token: accessToken, refresh_token: refreshToken = "" } = held;
      expect((await callApi(host, "/orders", accessToken)).status).toBe(401);
      expect((await refresh(host, { client: "web", refreshToken, pair })).body).toMatchObject({
        error: "invalid_grant",
      });
    }
  });

  it.each<[string, { client?: ClientName; pair?: CodeRequest["pair"]; as?: Authentication }]>([
    ["another end user's", { as: bob }],
    ["another client's", { client: "other" }],
    ["another API's", { pair: { api: "files" } }],
  ])("leaves %s consent and tokens", async (_, { client = "web", pair = {}, as = signedIn }) => {
    const host = testHost({ revocationLagSeconds: 0 });
    await allow(host);
    host.session = as;
    const { access_token: accessToken } = await obtainTokens(host, { client, pair });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect(await outcomeOfVisit(host, { client, pair })).toBe("granted");
    expect((await callApi(host, `/${pair.api ?? "orders"}`, accessToken)).status).toBe(200);
  });

  it("revokes nothing that does not exist, without an error", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "nobody", apiId: "orders" });
    expect(await outcomeOfVisit(host)).toBe("granted");
  });

  it("takes no yes of a page that was open during the revocation", async () => {
    const host = testHost();
    await allow(host);
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    const answer = await browser.answer(page, "approve", { scope_0: undefined });
    expect(outcomeOf(answer)).toBe("access_denied");
    expect(await rememberedScopes(host)).toEqual([]);
    const again = await authorize(browser, { client: "web", fields: bothScopes });
    expect(outcomeOf(await browser.answer(again, "approve"))).toBe("granted");
  });
});
