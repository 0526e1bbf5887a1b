import { generateKeyPairSync } from "node:crypto";
import { type Client, memoryStorage } from "../../lib";
import { authorize } from "../browser/authorize";
import {
  accessTokenOf,
  bearerAnswerOf,
  formats,
  ownAccessToken,
  refusedByBearer,
  watchedStorage,
} from "../requests/bearer-answers";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, type TestHost, testHost } from "../hosts/host";
import { callApi, consentKey, obtainCode, obtainTokens } from "../browser/journey";
import { intercept } from "../storage/slow-storage";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

/** The status of a call in each second, beginning now. */
async function statusesBySecond(
  host: TestHost,
  { path, token, seconds }: { path: string; token: string; seconds: number },
): Promise<readonly number[]> {
  const seen = [];
  for (let second = 0; second < seconds; second += 1) {
    seen.push((await callApi(host, path, token)).status);
    clock.advance(1);
  }
  return seen;
}

describe("how long a revoked token may pass (RFC 7662 §4, 9700 §4.14)", () => {
  it.each(formats)(
    "a %s token that was accepted may pass for 5 seconds more, by default",
    async (_, pair) => {
      const host = testHost();
      const token = await accessTokenOf(host, { pair });
      const path = `/${pair.api}`;
      expect((await callApi(host, path, token)).status).toBe(200);
      await host.auth.consents.revoke(consentKey(pair));
      const seen = await statusesBySecond(host, { path, token, seconds: 8 });
      expect(seen).toEqual([200, 200, 200, 200, 200, 401, 401, 401]);
    },
  );

  it.each(formats)("a %s token may pass for as long as the host says", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 2 });
    const token = await accessTokenOf(host, { pair });
    const path = `/${pair.api}`;
    expect(await statusesBySecond(host, { path, token, seconds: 4 })).toEqual([200, 200, 200, 200]);
    // storage was asked in seconds 0, 2 and, here, 4
    expect((await callApi(host, path, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    expect(await statusesBySecond(host, { path, token, seconds: 3 })).toEqual([200, 200, 401]);
  });

  it.each(formats)("a %s token passes no longer because the clock was set back", async (_, pair) => {
    const host = testHost();
    const token = await accessTokenOf(host, { pair });
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    clock.advance(-5);
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it.each(formats)("a %s token never passes with a lag of 0", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 0 });
    const token = await accessTokenOf(host, { pair });
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it.each(formats)("a %s token that was not seen before never passes", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessTokenOf(host, { pair });
    await host.auth.consents.revoke(consentKey(pair));
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it("counts in every process that shares the storage", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const [here, there] = [testHost({ storage }), testHost({ storage })];
    const token = await accessTokenOf(here);
    expect((await callApi(there, "/orders", token)).status).toBe(200);
    await here.auth.consents.revoke(consentKey({}));
    clock.advance(5);
    expect(bearerAnswerOf(await callApi(there, "/orders", token))).toEqual(refusedByBearer("invalid_token"));
  });

  it.each(formats)("never serves a remembered %s token past its expiry", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessTokenOf(host, { pair });
    const lifetime = pair.api === "orders" ? 600 : 120;
    clock.advance(lifetime - 1);
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    clock.advance(1);
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });
});

describe("what is asked and remembered of access tokens (RFC 7662 §4)", () => {
  const firstLook = {
    orders: ["accessTokens.isRevoked", "authorizations.find"],
    reports: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
  };
  /** Left out within the lag: the client is remembered from when it asked for the token. */
  const clientLook = ["clients.find", "endMarks.find"];

  it.each(formats)("asks storage once for a %s token within the lag", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const token = await accessTokenOf(host, { pair });
    watch.calls.length = 0;
    await statusesBySecond(host, { path: `/${pair.api}`, token, seconds: 5 });
    expect(watch.calls).toEqual(firstLook[pair.api]);
    await statusesBySecond(host, { path: `/${pair.api}`, token, seconds: 5 });
    expect(watch.calls).toEqual([...firstLook[pair.api], ...firstLook[pair.api], ...clientLook]);
  });

  it.each(formats)("asks storage each time for a %s token with a lag of 0", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const token = await accessTokenOf(host, { pair });
    watch.calls.length = 0;
    for (let round = 0; round < 3; round += 1) await callApi(host, `/${pair.api}`, token);
    const look = [...firstLook[pair.api], ...clientLook];
    expect(watch.calls).toEqual([...look, ...look, ...look]);
  });

  it("asks storage of a client's own JWT only whether it or its client was revoked", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const token = await ownAccessToken(host, {});
    watch.calls.length = 0;
    await statusesBySecond(host, { path: "/orders", token, seconds: 3 });
    const look = ["accessTokens.isRevoked", ...clientLook];
    expect(watch.calls).toEqual([...look, ...look, ...look]);
  });

  it("never asks storage for a forged JWT, and remembers nothing of one", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const signingKeys = [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey];
    const forged = await accessTokenOf(testHost({ signingKeys }));
    watch.calls.length = 0;
    const seen = await statusesBySecond(host, { path: "/orders", token: forged, seconds: 3 });
    expect(seen).toEqual([401, 401, 401]);
    expect(watch.calls).toEqual([]);
  });

  it("remembers nothing of an unknown opaque token", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const seen = await statusesBySecond(host, { path: "/reports", token: "A".repeat(43), seconds: 3 });
    expect(seen).toEqual([401, 401, 401]);
    expect(watch.calls).toEqual(["accessTokens.find", "accessTokens.find", "accessTokens.find"]);
  });

  it("remembers nothing of a refused token: one that storage finds later passes", async () => {
    const shared = memoryStorage({ clients: Object.values(clients) });
    let behind = true;
    const replica = intercept(shared, (name, call) =>
      behind && name === "authorizations.find" ? Promise.resolve(undefined) : call(),
    );
    const token = await accessTokenOf(testHost({ storage: shared }));
    const host = testHost({ storage: replica, revocationLagSeconds: 300 });
    expect(bearerAnswerOf(await callApi(host, "/orders", token))).toEqual(refusedByBearer("invalid_token"));
    behind = false;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });

  it("keeps the tokens of two APIs apart", async () => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessTokenOf(host);
    for (const path of ["/orders", "/files", "/orders", "/files"]) {
      expect((await callApi(host, path, token)).status).toBe(path === "/orders" ? 200 : 401);
    }
  });
});

describe("end users who take their consent back (RFC 6749 §10.2, 7009 §1)", () => {
  it("see what they have allowed", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    clock.advance(10);
    await obtainTokens(host, { client: "spa", pair: { api: "files", method: "sso" } });
    host.session = bob;
    await obtainTokens(host, { client: "web" });
    const expiresAt = clock.now() + 31_536_000;
    expect((await host.auth.consents.list("alice")).consents).toEqual([
      {
        subject: "alice",
        clientId: "spa",
        apiId: "files",
        contextKey: "",
        scopes: ["files:read"],
        grantedAt: clock.now(),
        expiresAt,
        endMarks: [],
      },
      {
        subject: "alice",
        clientId: "web",
        apiId: "orders",
        contextKey: "",
        scopes: ["orders:read"],
        grantedAt: clock.now() - 10,
        expiresAt: expiresAt - 10,
        endMarks: [],
      },
    ]);
    expect((await host.auth.consents.list("nobody")).consents).toEqual([]);
  });

  it.each(formats)("stop refresh at once and the API within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web", pair });
    const code = await obtainCode(host, { client: "web", pair });
    expect((await callApi(host, `/${pair.api}`, tokens.access_token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    const { refresh_token: refreshToken = "" } = tokens;
    const refreshed = await refresh(host, { client: "web", refreshToken, pair });
    expect(refreshed.body).toMatchObject({ error: "invalid_grant" });
    const redeemed = await redeem(host, { client: "web", code, pair });
    expect(redeemed.body).toMatchObject({ error: "invalid_grant" });
    clock.advance(5);
    const called = await callApi(host, `/${pair.api}`, tokens.access_token);
    expect(bearerAnswerOf(called)).toEqual(refusedByBearer("invalid_token", pair));
  });

  it("stop the client at every authentication method of that API, and nothing else", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const ended = [
      await accessTokenOf(host),
      await accessTokenOf(host, { pair: { method: "otp" } }),
      await accessTokenOf(host, { pair: { method: "sso" } }),
    ];
    const going: [string, string][] = [
      ["/orders", await accessTokenOf(host, { client: "other" })],
      ["/files", await accessTokenOf(host, { pair: { api: "files" } })],
      ["/orders", await ownAccessToken(host, { client: "web" })],
    ];
    host.session = bob;
    going.push(["/orders", await accessTokenOf(host)]);
    await host.auth.consents.revoke(consentKey({}));
    for (const token of ended) expect((await callApi(host, "/orders", token)).status).toBe(401);
    for (const [path, token] of going) expect((await callApi(host, path, token)).status).toBe(200);
  });

  it("are asked again", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(302);
    await host.auth.consents.revoke(consentKey({}));
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect((await callApi(host, "/orders", await accessTokenOf(host))).status).toBe(200);
  });

  it("may do so twice, and for a client they never met", async () => {
    const host = testHost();
    const allowed = consentKey({});
    await host.auth.consents.revoke(allowed);
    await obtainTokens(host, { client: "web" });
    host.events.splice(1);
    await host.auth.consents.revoke(allowed);
    await host.auth.consents.revoke(allowed);
    expect(host.events).toEqual([
      { kind: "nothing-to-revoke", at: clock.now(), ...allowed },
      { kind: "consent-revoked", at: clock.now(), ...allowed },
      { kind: "nothing-to-revoke", at: clock.now(), ...allowed },
    ]);
  });
});

describe("access tokens of a client that loses its subscription (RFC 6749 §2.2)", () => {
  it("are worth nothing any more at that API", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    records.set("web", { ...clients.web, subscriptions: {} });
    expect((await callApi(host, "/orders", token)).status).toBe(401);
  });
});

describe("access tokens after a replay (RFC 9700 §4.5, §4.14.2)", () => {
  it.each(formats)("end with a replayed code, within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web", pair });
    const response = await redeem(host, { client: "web", code, pair });
    const { access_token } = response.body as { access_token: string };
    expect((await callApi(host, `/${pair.api}`, access_token)).status).toBe(200);
    await redeem(host, { client: "web", code, pair });
    clock.advance(5);
    const called = await callApi(host, `/${pair.api}`, access_token);
    expect(bearerAnswerOf(called)).toEqual(refusedByBearer("invalid_token", pair));
  });

  it.each(formats)("end with a replayed refresh token, all of them, within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const first = await obtainTokens(host, { client: "web", pair });
    const { refresh_token: refreshToken = "" } = first;
    const second = await refresh(host, { client: "web", refreshToken, pair });
    const accessTokens = [first.access_token, (second.body as { access_token: string }).access_token];
    for (const token of accessTokens) expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await refresh(host, { client: "web", refreshToken, pair });
    clock.advance(5);
    for (const token of accessTokens) {
      expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
        refusedByBearer("invalid_token", pair),
      );
    }
  });
});
