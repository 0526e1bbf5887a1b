// A clock is set, ahead or back, or that of another machine differs: nothing lasts longer by it, and an honest sign-in within five
// minutes of difference goes through.
import type { Authentication } from "../../lib";
import { generateSigningKey, memoryStorage } from "../../lib";
import type { Pair } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { refresh, revoke } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, testHost, type TestHost } from "../hosts/host";
import { callApi, consentKey, type Family, familyOf, obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

function session(authTime: number): Authentication {
  return { ...signedIn, authTime };
}

/** A host of which the calls of storage are counted by name. */
function countingHost(revocationLagSeconds: number): { host: TestHost; calls: string[] } {
  const calls: string[] = [];
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
    calls.push(name);
    return call();
  });
  return { host: testHost({ storage, revocationLagSeconds }), calls };
}

describe("authTime of a clock that is ahead (RFC 9068 §2.2.1)", () => {
  it.each([1, 60, 300])("by %i seconds signs in", async (ahead) => {
    const host = testHost();
    host.session = session(clock.now() + ahead);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
  });

  it("by more than five minutes is server_error, as milliseconds would be", async () => {
    const host = testHost();
    host.session = session(clock.now() + 301);
    const answer = redirectParameters(await authorize(host.browser(), { client: "web" }));
    expect(answer).toMatchObject({ error: "server_error" });
  });

  it.each(["0", "10", "298"])("is not young enough for max_age=%s: it may be older", async (max_age) => {
    const host = testHost();
    host.session = session(clock.now() + 100);
    clock.advance(99);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age } });
    expect(first.headers["location"]).toContain("/signin?interaction=");
    clock.advance(5);
    // on the same machine as before
    host.session = session(clock.now() + 100);
    const interaction = new URL(first.headers["location"] as string, "https://host.example").searchParams;
    const path = "/login/auth/password/api/orders/authorize/resume";
    const after = await browser.get(`${path}?interaction=${interaction.get("interaction")}`);
    expect(after.status).toBe(200);
  });

  it("is young enough for a max_age beyond the five minutes", async () => {
    const host = testHost();
    host.session = session(clock.now() + 60);
    const first = await authorize(host.browser(), { client: "web", fields: { max_age: "301" } });
    expect(first.status).toBe(200);
  });

  it("does not pass for a new sign-in with prompt=login", async () => {
    const host = testHost();
    const old = session(clock.now() + 200);
    // a host that does not look at reauthenticate
    host.session = () => old;
    const answer = await authorize(host.browser(), { client: "web", fields: { prompt: "login" } });
    expect(redirectParameters(answer)).toMatchObject({ error: "login_required" });
  });

  it("counts with prompt=login when the person signs in while the request is answered", async () => {
    const host = testHost();
    host.session = () => {
      clock.advance(2);
      return session(clock.now());
    };
    const answer = await authorize(host.browser(), { client: "web", fields: { prompt: "login" } });
    expect(answer.status).toBe(200);
  });
});

describe("a clock that is set ahead and back", () => {
  it("does not make a sign-in of the time between younger (OpenID Connect Core §3.1.2.1)", async () => {
    const host = testHost();
    clock.advance(250);
    host.session = session(clock.now());
    clock.advance(-250);
    clock.advance(60);
    const answer = await authorize(host.browser(), { client: "web", fields: { max_age: "30" } });
    expect(answer.headers["location"]).toContain("/signin?interaction=");
  });

  it("ends a pending request of the time between (RFC 6265)", async () => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    clock.advance(100_000);
    const first = await authorize(browser, { client: "web" });
    clock.advance(-100_000);
    host.session = signedIn;
    const lost = await browser.get(
      (first.headers["location"] as string).replace(
        "/signin",
        "/login/auth/password/api/orders/authorize/resume",
      ),
    );
    expect(lost.status).toBe(400);
  });

  it("leaves a pending request within five minutes (RFC 6265)", async () => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    clock.advance(300);
    const first = await authorize(browser, { client: "web" });
    clock.advance(-300);
    host.session = signedIn;
    const path = "/login/auth/password/api/orders/authorize/resume";
    const back = await browser.get((first.headers["location"] as string).replace("/signin", path));
    expect(back.status).toBe(200);
  });

  it("makes no remembered token last longer (RFC 7662 §4)", async () => {
    const { host, calls } = countingHost(300);
    const { access_token } = await obtainTokens(host, { client: "web" });
    await callApi(host, "/orders", access_token);
    clock.advance(299);
    await callApi(host, "/orders", access_token);
    clock.advance(-200);
    calls.length = 0;
    await callApi(host, "/orders", access_token);
    expect(calls).toContain("accessTokens.isRevoked");
  });

  it("makes no remembered client last longer (RFC 6749 §2.2)", async () => {
    const { host, calls } = countingHost(300);
    await authorize(host.browser(), { client: "web" });
    clock.advance(299);
    await authorize(host.browser(), { client: "web" });
    expect(calls.filter((name) => name === "clients.find")).toHaveLength(2);
    clock.advance(-200);
    calls.length = 0;
    await authorize(host.browser(), { client: "web" });
    expect(calls).toContain("clients.find");
  });
});

describe("an end that is made while the clock is ahead (RFC 7009 §2.1)", () => {
  const ahead = 299;
  const lifetimes = { refreshTokenIdleSeconds: 700, refreshTokenSeconds: 700 };

  /** Makes an end by a clock that is ahead, and sets it right. */
  async function endWhileAhead(end: () => Promise<unknown>): Promise<void> {
    clock.advance(ahead);
    await end();
    clock.advance(-ahead);
  }

  it.each<[string, Pair, lifeSeconds: number]>([
    ["a JWT", { api: "orders" }, 600],
    ["an opaque token", { api: "reports" }, 120],
  ])(
    "a token that is revoked while the clock is ahead stays revoked when it is right: %s",
    async (...given) => {
      const [, pair, lifeSeconds] = given;
      const host = testHost({ revocationLagSeconds: 0 });
      const { accessToken } = await familyOf(host, "web", pair);
      clock.advance(lifeSeconds - 10);
      await endWhileAhead(() => revoke(host, { pair, token: accessToken }));
      expect(host.events.at(-1)).toMatchObject({ kind: "token-revoked", revoked: "access_token" });
      expect((await callApi(host, `/${pair.api}`, accessToken)).status).toBe(401);
    },
  );

  it("a JWT that is revoked where its key counts as retired already stays revoked (key rotation)", async () => {
    const signingKeys = [{ key: generateSigningKey(), signsFrom: clock.now() + 5 }, generateSigningKey()];
    const host = testHost({ revocationLagSeconds: 0, signingKeys });
    const { accessToken } = await familyOf(host);
    clock.advance(590);
    expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
    await endWhileAhead(() => revoke(host, { token: accessToken }));
    expect((await callApi(host, "/orders", accessToken)).status).toBe(401);
  });

  const refreshTokenEnds: Record<string, (host: TestHost, family: Family) => Promise<unknown>> = {
    "revocation of the refresh token": (host, { refreshToken }) => revoke(host, { token: refreshToken }),
    "auth.authorizations.revoke": ({ auth }, { refreshToken }) =>
      auth.authorizations.revoke({ subject: "alice", authorizationId: refreshToken.slice(0, 22) }),
    "auth.subjects.revoke": ({ auth }) => auth.subjects.revoke("alice"),
    "auth.consents.revoke": ({ auth }) => auth.consents.revoke(consentKey({})),
  };

  it.each(Object.entries(refreshTokenEnds))(
    "a token that is revoked while the clock is ahead stays revoked when it is right: %s",
    async (_, end) => {
      const host = testHost({ revocationLagSeconds: 0, lifetimes });
      const family = await familyOf(host);
      // ten seconds before the refresh token ends
      clock.advance(690);
      await endWhileAhead(() => end(host, family));
      expect((await refresh(host, { client: "web", refreshToken: family.refreshToken })).status).toBe(400);
    },
  );

  it.each(Object.entries(refreshTokenEnds).slice(1))(
    "ends the last access token of an authorization too: %s",
    async (_, end) => {
      const host = testHost({ revocationLagSeconds: 0, lifetimes });
      const family = await familyOf(host);
      clock.advance(690);
      const { refreshToken } = family;
      const { access_token } = tokensOf(await refresh(host, { client: "web", refreshToken }));
      // five seconds before it ends, and a few more before its authorization does
      clock.advance(595);
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
      await endWhileAhead(() => end(host, family));
      expect(host.events.at(-1)?.kind).not.toBe("nothing-to-revoke");
      expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    },
  );
});

describe("requests that come at once (RFC 7662 §4)", () => {
  it.each([
    [5, 1],
    [0, 20],
  ])("with one token ask storage once per lag: a lag of %i, %i times", async (lag, times) => {
    const { host, calls } = countingHost(lag);
    const { access_token } = await obtainTokens(host, { client: "web" });
    await callApi(host, "/orders", access_token);
    clock.advance(lag);
    calls.length = 0;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => callApi(host, "/orders", access_token)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(calls.filter((name) => name === "accessTokens.isRevoked")).toHaveLength(times);
  });
});
