// What thieves and tricked clients try with exchanges (RFC 8693 §5), and what ends while one is under way (RFC 7009 §2.1).
import { memoryStorage, type Storage } from "../../lib";
import { callApi, obtainTokens } from "../browser/journey";
import type { Pair } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { bob, signedIn, type TestHost } from "../hosts/host";
import { claimsOf } from "../requests/bound-requests";
import {
  exchange,
  exchangeApis,
  exchangeClients,
  exchanged,
  exchangeHost,
  ordersToken,
  serviceOf,
} from "../requests/exchanges";
import { holdingStorage } from "../storage/held-call";
import { intercept, watchWrites } from "../storage/slow-storage";

stopClockForEachTest();

const files: Pair = { api: "files" };

describe("a confused deputy (RFC 8693 §5)", () => {
  it("reaches for each person only what this person has allowed", async () => {
    const host = exchangeHost();
    const ofAlice = await ordersToken(host, "orders:read");
    host.session = bob;
    const ofBob = await ordersToken(host, "orders:write");
    const [alices, bobs] = [
      await exchanged(host, { token: ofAlice }),
      await exchanged(host, { token: ofBob }),
    ];
    expect(claimsOf(alices)).toMatchObject({ sub: "alice", scope: "files:read" });
    expect(claimsOf(bobs)).toMatchObject({ sub: "bob", scope: "files:read files:write" });
    host.session = signedIn;
  });

  it("cannot exchange what was meant for another API, although it is for the same person", async () => {
    const host = exchangeHost();
    for (const pair of [files, { api: "reports" }] as const) {
      const scope = `${pair.api}:read`;
      const { access_token: token } = await obtainTokens(host, { client: "web", pair, fields: { scope } });
      expect((await exchange(host, { token, pair: { api: "reports" } })).status).toBe(400);
    }
  });

  it("cannot lend its client id: a thief has the token, but not the secret", async () => {
    const host = exchangeHost();
    const fields = { client_id: "orders-api", client_secret: "guessed" };
    const answer = await exchange(host, { token: await ordersToken(host), fields });
    expect(answer.status).toBe(401);
  });

  it("enters no API by a method that it has dropped, by an old token (RFC 9700 §2.3)", async () => {
    const storage = memoryStorage({ clients: exchangeClients });
    const token = await ordersToken(exchangeHost({ storage }));
    const orders = {
      ...exchangeApis["orders"],
      authMethods: ["otp", "sso"],
    } as (typeof exchangeApis)[string];
    const host = exchangeHost({ storage, apis: { ...exchangeApis, orders } });
    expect((await exchange(host, { token })).status).toBe(400);
  });

  it("enters no API by a weaker method than that of the issuer which it asks", async () => {
    const host = exchangeHost();
    const token = await ordersToken(host);
    for (const method of ["otp", "sso"] as const)
      expect((await exchange(host, { token, pair: { ...files, method } })).status).toBe(400);
  });
});

describe("an exchange whose storage fails, at each call (RFC 6749 §5.2)", () => {
  it.each(["before", "after"] as const)("stores nothing but what nobody has: %s its work", async (when) => {
    const calls: string[] = [];
    let failing = -1;
    const plain = memoryStorage({ clients: exchangeClients });
    const { storage: watched, writes } = watchWrites(plain);
    const storage = intercept(watched, async (name, call): Promise<unknown> => {
      calls.push(name);
      if (calls.length - 1 !== failing) return call();
      if (when === "after") await call();
      throw new Error("storage is away");
    });
    const host = exchangeHost({ storage, revocationLagSeconds: 0 });
    const token = await ordersToken(host);
    calls.length = 0;
    await exchanged(host, { token, pair: { api: "reports" } });
    const all = [...calls];
    for (const [number, name] of all.entries()) {
      [calls.length, writes.length, failing] = [0, 0, number];
      const { status } = await exchange(host, { token, pair: { api: "reports" } });
      failing = -1;
      expect([name, status]).toEqual([name, 500]);
      const left = name === "accessTokens.create" && when === "after" ? [name] : [];
      expect([name, writes]).toEqual([name, left]);
    }
    expect(all.at(-1)).toBe("accessTokens.create");
  });
});

describe("what ends while an exchange is under way, at each call of storage (RFC 7009 §2.1)", () => {
  const ends: Readonly<Record<string, (host: TestHost, plain: Storage) => Promise<unknown>>> = {
    "the person": ({ auth }) => auth.subjects.revoke("alice"),
    "the person's client": ({ auth }) => auth.clients.revoke("web"),
    "the exchanging client": ({ auth }) => auth.clients.revoke("orders-api"),
    "the API of the token": ({ auth }) => auth.apis.revoke("orders"),
    "the API of the exchange": ({ auth }) => auth.apis.revoke("reports"),
    "a part of the consent": ({ auth }) =>
      auth.consents.narrow({ subject: "alice", clientId: "web", apiId: "orders", scopes: ["orders:write"] }),
    "the record of the exchanging client": (_, plain) =>
      (plain as ReturnType<typeof memoryStorage>).clients.save({
        ...serviceOf("orders-api"),
        disabled: true,
      }),
    "the record of the person's client": (_, plain) =>
      (plain as ReturnType<typeof memoryStorage>).clients.save({ ...clients.web, disabled: true }),
  };
  const calls = [
    "clients.find",
    "endMarks.find",
    "authorizations.find",
    "accessTokens.isRevoked",
    "accessTokens.create",
  ];
  const rows = Object.keys(ends).flatMap((end) => calls.map((call) => [end, call] as const));

  it.each(rows)("%s, at %s: no token lives on", async (end, call) => {
    const plain = memoryStorage({ clients: exchangeClients });
    for (const moment of ["before", "after"] as const) {
      const { storage, reached, release, arm } = holdingStorage(plain, { call, moment });
      const host = exchangeHost({ storage, revocationLagSeconds: 0 });
      const token = await ordersToken(host);
      arm();
      const asked = exchange(host, { token, pair: { api: "reports" } });
      await reached.opened;
      await ends[end]?.(host, plain);
      release.open();
      const { status, body } = await asked;
      const { access_token: made = "" } = body as { access_token?: string };
      // a client that is found after everything of it was ended asks anew, and for what still stands
      const isBornAfter =
        moment === "before" && call === "endMarks.find" && /exchanging client|of the exchange/.test(end);
      if (status === 200 && !isBornAfter) expect((await callApi(host, "/reports", made)).status).toBe(401);
      expect([200, 400, 401]).toContain(status);
      await plain.clients.save(clients.web);
      await plain.clients.save(serviceOf("orders-api"));
    }
  });
});
