import {
  type Authorization,
  type AuthServerOptions,
  type Client,
  memoryStorage,
  type Storage,
} from "../../lib";
import { apis, issuer, revocationLagSeconds } from "../hosts/apis";
import type { Fields } from "../browser/browser";
import { redeem, refresh } from "../requests/client-requests";
import { type ClientName, clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainRefreshToken, obtainTokens } from "../browser/journey";
import { type Answer, answerOf, invalidClient, invalidGrant, refusal } from "../requests/json-answers";
import { slowStorage } from "../storage/slow-storage";
import { type TokenBody, tokensOf } from "../requests/token-requests";
import { changingClients } from "../hosts/watched-host";

const clock = stopClockForEachTest();

const idle = { refreshTokenIdleSeconds: 100, refreshTokenSeconds: 250 };

describe("refresh (RFC 6749 §6, 9700 §4.14.2)", () => {
  it.each(["web", "native"] as const)("rotates: each answer to %s has a new token", async (client) => {
    const host = testHost();
    const seen = new Set([await obtainRefreshToken(host, { client })]);
    let [refreshToken = ""] = seen;
    for (let round = 0; round < 3; round += 1) {
      refreshToken = tokensOf(await refresh(host, { client, refreshToken })).refresh_token;
      seen.add(refreshToken);
    }
    expect(seen.size).toBe(4);
  });

  it("gives an access token for the end user that the API takes", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(1_000);
    const { access_token } = tokensOf(await refresh(host, { client: "web", refreshToken }));
    expect((await callApi(host, "/orders", access_token)).body).toMatchObject({
      subject: "alice",
      clientId: "web",
      issuedAt: clock.now(),
      expiresAt: clock.now() + 600,
      authTime: 1_799_999_000,
    });
  });

  it("gives no token to a subscription without the grant", async () => {
    const subscriptions = { orders: { grantTypes: ["authorization_code"] } } as const;
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    const code = await obtainCode(host, { client: "web" });
    expect(tokensOf(await redeem(host, { client: "web", code }))).not.toHaveProperty("refresh_token");
  });
});

describe("reuse of a refresh token (RFC 6749 §6, 9700 §4.14.2)", () => {
  it("revokes its authorization when a used token comes again, and no other", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const first = await obtainRefreshToken(host);
    const otherVisit = await obtainRefreshToken(host);
    const phone = await obtainRefreshToken(host, { client: "native" });
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(200);

    expect(answerOf(await refresh(host, { client: "web", refreshToken: first }))).toEqual(invalidGrant);

    expect((await callApi(host, "/orders", second.access_token)).status).toBe(401);
    const dead = await refresh(host, { client: "web", refreshToken: second.refresh_token });
    expect(answerOf(dead)).toEqual(invalidGrant);
    expect((await refresh(host, { client: "web", refreshToken: otherVisit })).status).toBe(200);
    expect((await refresh(host, { client: "native", refreshToken: phone })).status).toBe(200);
    expect(host.events).toContainEqual(
      expect.objectContaining({ kind: "replay-detected", replayed: "refresh_token", clientId: "web" }),
    );
  });

  it("notices a token from several rotations ago", async () => {
    const host = testHost();
    const first = await obtainRefreshToken(host);
    let newest = first;
    for (let round = 0; round < 4; round += 1) {
      newest = tokensOf(await refresh(host, { client: "web", refreshToken: newest })).refresh_token;
    }
    await refresh(host, { client: "web", refreshToken: first });
    expect(answerOf(await refresh(host, { client: "web", refreshToken: newest }))).toEqual(invalidGrant);
  });

  it.each(["other", "native"] as const)(
    "lets %s, another client, change nothing by a used token",
    async (thief) => {
      const host = testHost({ revocationLagSeconds: 0 });
      const first = await obtainRefreshToken(host);
      const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
      for (const refreshToken of [first, second.refresh_token]) {
        expect(answerOf(await refresh(host, { client: thief, refreshToken }))).toEqual(invalidGrant);
      }
      expect((await callApi(host, "/orders", second.access_token)).status).toBe(200);
      const third = await refresh(host, { client: "web", refreshToken: second.refresh_token });
      expect(third.status).toBe(200);
    },
  );

  it("lets exactly one of 20 simultaneous refreshes win, and ends what it won", async () => {
    const storage = slowStorage(memoryStorage({ clients: Object.values(clients) }), 2);
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const refreshToken = await obtainRefreshToken(host);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refresh(host, { client: "web", refreshToken })),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const won = winner?.body as TokenBody;
    expect((await callApi(host, "/orders", won.access_token)).status).toBe(401);
    const next = await refresh(host, { client: "web", refreshToken: won.refresh_token });
    expect(answerOf(next)).toEqual(invalidGrant);
  });
});

describe("refresh tokens that buy nothing (RFC 6749 §6)", () => {
  const failures: Record<string, { client: ClientName; fields: Fields; expected: Answer }> = {
    "a wrong secret": { client: "web", fields: { client_secret: "wrong" }, expected: invalidClient },
    "no secret": { client: "web", fields: { client_secret: undefined }, expected: invalidClient },
    "a native client's secret": {
      client: "native",
      fields: { client_secret: "anything" },
      expected: invalidClient,
    },
    "the resource of another API": {
      client: "web",
      fields: { resource: "https://api.example/reports" },
      expected: refusal(400, "invalid_target"),
    },
    "a wider scope": {
      client: "web",
      fields: { scope: "orders:read orders:write" },
      expected: refusal(400, "invalid_scope"),
    },
    "an unknown scope": {
      client: "web",
      fields: { scope: "orders:delete" },
      expected: refusal(400, "invalid_scope"),
    },
    "a malformed scope": {
      client: "web",
      fields: { scope: 'orders:read "' },
      expected: refusal(400, "invalid_scope"),
    },
    "a browser client": {
      client: "web",
      fields: { client_id: "spa", client_secret: undefined },
      expected: refusal(400, "unauthorized_client"),
    },
  };

  it.each(Object.entries(failures))(
    "refuses %s and burns nothing",
    async (_, { client, fields, expected }) => {
      const host = testHost();
      const refreshToken = await obtainRefreshToken(host, { client });
      expect(answerOf(await refresh(host, { client, refreshToken, fields }))).toEqual(expected);
      expect((await refresh(host, { client, refreshToken })).status).toBe(200);
    },
  );

  it("refuses a request without refresh_token", async () => {
    const response = await refresh(testHost(), { client: "web", refreshToken: "" });
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "refresh_token is missing."));
  });

  it("tells nothing of tokens that buy nothing: one answer for all, in every header", async () => {
    const host = testHost({ lifetimes: idle });
    const foreign = await obtainRefreshToken(host, { client: "other" });
    const elsewhere = await obtainTokens(host, { client: "web", pair: { method: "sso" } });
    const used = await obtainRefreshToken(host);
    await refresh(host, { client: "web", refreshToken: used });
    const expired = await obtainRefreshToken(host);
    const code = await obtainCode(host, { client: "web" });
    const attempt = async (refreshToken: string): Promise<unknown> => {
      const { status, headers, text } = await refresh(host, { client: "web", refreshToken });
      return { status, text, headers: { ...headers, date: "" } };
    };
    const answers = [
      await attempt("unknown"),
      await attempt(`${"A".repeat(22)}.${"A".repeat(43)}`),
      await attempt(`${used.slice(0, 22)}.${"A".repeat(43)}`),
      await attempt(code),
      await attempt(foreign),
      await attempt(elsewhere.refresh_token ?? ""),
      await attempt(used),
    ];
    clock.advance(100);
    answers.push(await attempt(expired));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 400, text: JSON.stringify(invalidGrant.body) });
  });

  it("takes no refresh token as a code, and does not burn it", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    expect(answerOf(await redeem(host, { client: "web", code: refreshToken }))).toEqual(invalidGrant);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("takes no code as a refresh token, and does not burn it", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await refresh(host, { client: "web", refreshToken: code }))).toEqual(invalidGrant);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("refuses all tokens of a consent that was revoked", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });
});

describe("what the host is told of a refresh (RFC 6749 §5.2, §6)", () => {
  it("whom its token is for", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host);
    await refresh(host, { client: "web", refreshToken });
    expect(host.events.at(-1)).toEqual({
      kind: "token-refreshed",
      at: clock.now(),
      issuer,
      clientId: "web",
      subject: "alice",
      authorizationId: refreshToken.slice(0, refreshToken.indexOf(".")),
      scopes: ["orders:read"],
    });
  });

  interface Refused {
    /** What happens before, and the token that is sent then. */
    readonly token?: (host: TestHost, token: string) => string | Promise<string>;
    readonly fields?: Fields;
    readonly refused: string;
  }

  const beyond = "refresh-beyond-grant";
  const refusals: Record<string, Refused> = {
    "its token has another form than ours": {
      token: () => "token",
      refused: "refresh-token-not-of-this-server",
    },
    "its token was given to nobody": {
      token: (_, token) => `${token.slice(0, 22)}.${"A".repeat(43)}`,
      refused: "refresh-token-unknown",
    },
    "its token is too old": {
      token: (_, token) => {
        clock.advance(idle.refreshTokenIdleSeconds);
        return token;
      },
      refused: "refresh-token-unknown",
    },
    "everything of the client was ended": {
      token: async ({ auth }, token) => {
        await auth.clients.revoke("web");
        return token;
      },
      refused: "authorization-revoked",
    },
    "it asks for more than was granted": {
      fields: { scope: "orders:read orders:write" },
      refused: beyond,
    },
    "its scope is malformed": { fields: { scope: 'orders:read "' }, refused: beyond },
  };

  it.each(Object.entries(refusals))(
    "why it is refused when %s",
    async (_, { token = (_host, sent) => sent, fields = {}, refused }) => {
      const host = testHost({ lifetimes: idle, revocationLagSeconds: 0 });
      const refreshToken = await token(host, await obtainRefreshToken(host));
      expect((await refresh(host, { client: "web", refreshToken, fields })).status).toBe(400);
      expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", clientId: "web", code: refused });
    },
  );
});

describe("an authorization that storage gives without the end of its refresh tokens (RFC 9700 §4.14.2)", () => {
  it("has none, and no access token comes of one", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const authorizations: Storage["authorizations"] = {
      ...storage.authorizations,
      async find(id, now) {
        const { refreshableUntil: _, ...found } = (await storage.authorizations.find(id, now)) ?? {};
        return found as Authorization;
      },
    };
    const whole = testHost({ storage });
    const host = testHost({ storage: { ...storage, authorizations } });
    const refreshToken = await obtainRefreshToken(whole);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
    expect(host.events.at(-1)).toMatchObject({ code: "refreshing-over" });
    expect((await refresh(whole, { client: "web", refreshToken })).status).toBe(200);
  });
});

describe("scopes of a refresh (RFC 6749 §6)", () => {
  it("narrows the access token, while the new refresh token keeps the original scope", async () => {
    const host = testHost();
    const first = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    const narrow = tokensOf(
      await refresh(host, { client: "web", refreshToken: first, fields: { scope: "orders:read" } }),
    );
    expect(narrow.scope).toBe("orders:read");
    expect((await callApi(host, "/orders", narrow.access_token)).body).toMatchObject({
      scopes: ["orders:read"],
    });
    expect((await callApi(host, "/orders/changes", narrow.access_token)).status).toBe(403);
    const full = tokensOf(await refresh(host, { client: "web", refreshToken: narrow.refresh_token }));
    expect(full.scope).toBe("orders:read orders:write");
    expect((await callApi(host, "/orders/changes", full.access_token)).status).toBe(200);
  });

  it("takes an equal scope, in any order", async () => {
    const host = testHost();
    const refreshToken = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    const fields = { scope: "orders:write orders:read" };
    const { scope } = tokensOf(await refresh(host, { client: "web", refreshToken, fields }));
    expect(new Set(scope.split(" "))).toEqual(new Set(["orders:read", "orders:write"]));
  });

  it("is invalid_scope when an API that ignores unknown scopes knows none of them", async () => {
    const orders = { ...apis["orders"], unknownScopes: "ignore" } as (typeof apis)[string];
    const host = testHost({ apis: { ...apis, orders } });
    const refreshToken = await obtainRefreshToken(host);
    const answer = await refresh(host, { client: "web", refreshToken, fields: { scope: "openid" } });
    const description = "The client may have none of these scopes at this API.";
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_scope", description));
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("no longer issues scopes that were taken out of the subscription", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const first = await obtainRefreshToken(host, { fields: { scope: "orders:read orders:write" } });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    clock.advance(revocationLagSeconds);
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
    expect(second.scope).toBe("orders:read");
    expect((await callApi(host, "/orders/changes", second.access_token)).status).toBe(403);
    const fields = { scope: "orders:read orders:write" };
    const third = tokensOf(
      await refresh(host, { client: "web", refreshToken: second.refresh_token, fields }),
    );
    expect(third.scope).toBe("orders:read");
  });

  const lost = refusal(400, "invalid_scope", "The client may have none of these scopes at this API.");

  it.each<[string, Fields]>([
    ["by name", { scope: "orders:write" }],
    ["by leaving scope out", {}],
  ])("asked for only what the subscription has lost, it is invalid_scope: %s", async (_, fields) => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const refreshToken = await obtainRefreshToken(host, { fields: { scope: "orders:write" } });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    expect(answerOf(await refresh(host, { client: "web", refreshToken, fields }))).toEqual(lost);
    expect(host.events.at(-1)).toMatchObject({
      kind: "token-refused",
      error: "invalid_scope",
      code: "granted-scopes-lost",
    });
    // nothing was spent
    records.set("web", clients.web);
    const { scope } = tokensOf(await refresh(host, { client: "web", refreshToken }));
    expect(scope).toBe("orders:write");
  });

  it("narrowed to what the subscription has lost, it is invalid_scope", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const fields = { scope: "orders:read orders:write" };
    const refreshToken = await obtainRefreshToken(host, { fields });
    records.set("web", { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } });
    const narrowed = { scope: "orders:write" };
    expect(answerOf(await refresh(host, { client: "web", refreshToken, fields: narrowed }))).toEqual(lost);
    expect(tokensOf(await refresh(host, { client: "web", refreshToken })).scope).toBe("orders:read");
  });

  it("serves no client that was taken out of the table", async () => {
    const records = new Map<string, Client>(Object.entries(clients));
    const host = testHost({
      storage: { ...memoryStorage({ clients: [] }), clients: changingClients(records) },
    });
    const refreshToken = await obtainRefreshToken(host);
    records.delete("web");
    clock.advance(revocationLagSeconds);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidClient);
  });
});

describe("lifetimes of refresh tokens (RFC 9700 §4.14.2)", () => {
  it.each([
    [99, 200],
    [100, 400],
  ])("%i seconds after its issue answers a token with %i", async (seconds, status) => {
    const host = testHost({ lifetimes: idle });
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(seconds);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(status);
  });

  it("starts the idle time again with each rotation, and never the absolute one", async () => {
    const host = testHost({ lifetimes: idle });
    let refreshToken = await obtainRefreshToken(host);
    for (const seconds of [90, 90, 69]) {
      clock.advance(seconds);
      refreshToken = tokensOf(await refresh(host, { client: "web", refreshToken })).refresh_token;
    }
    // second 249 of 250
    clock.advance(1);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });

  it("ends before that of the last access token, which lives to its own end", async () => {
    const host = testHost({ lifetimes: idle });
    let tokens = tokensOf(
      await redeem(host, { client: "web", code: await obtainCode(host, { client: "web" }) }),
    );
    for (const seconds of [90, 90, 69]) {
      clock.advance(seconds);
      tokens = tokensOf(await refresh(host, { client: "web", refreshToken: tokens.refresh_token }));
    }
    clock.advance((apis["orders"]?.accessTokenSeconds ?? 0) - 1);
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
  });

  it("is not left to storage that forgets too late", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const { refreshTokens } = storage;
    const late: Storage["refreshTokens"] = {
      ...refreshTokens,
      find: (handle) => refreshTokens.find(handle, 0),
      rotate: (step) => refreshTokens.rotate(step, 0),
    };
    const host = testHost({ lifetimes: idle, storage: { ...storage, refreshTokens: late } });
    const refreshToken = await obtainRefreshToken(host);
    clock.advance(100);
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(invalidGrant);
  });
});

describe("the life of a refresh token (draft-ietf-oauth-refresh-token-expiration)", () => {
  const stating = { orders: { ...apis["orders"], refreshTokenExpiry: "state" } } as AuthServerOptions["apis"];

  it("is not told by default", async () => {
    const tokens = await obtainTokens(testHost(), { client: "web" });
    expect(tokens).not.toHaveProperty("refresh_token_expires_in");
  });

  it("is told where the API says so: the idle time, and less when the authorization ends before", async () => {
    const host = testHost({ apis: { ...apis, ...stating }, lifetimes: idle });
    const first = await obtainTokens(host, { client: "web" });
    expect(first).toMatchObject({ refresh_token_expires_in: 100 });
    clock.advance(90);
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first.refresh_token ?? "" }));
    expect(second).toMatchObject({ refresh_token_expires_in: 100 });
    clock.advance(90);
    const third = tokensOf(await refresh(host, { client: "web", refreshToken: second.refresh_token }));
    expect(third).toMatchObject({ refresh_token_expires_in: 70 });
  });

  it("is not told to a client without a refresh token", async () => {
    const subscriptions = { orders: { grantTypes: ["authorization_code"] } } as const;
    const host = testHost({ apis: { ...apis, ...stating }, clients: [{ ...clients.web, subscriptions }] });
    expect(await obtainTokens(host, { client: "web" })).not.toHaveProperty("refresh_token_expires_in");
  });
});
