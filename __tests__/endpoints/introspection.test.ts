import request from "supertest";
import { apis, issuer, type Pair, pairPath } from "../hosts/apis";
import { encode, type Fields } from "../browser/browser";
import {
  introspect,
  postToken,
  redeem,
  refresh,
  revoke,
  type TokenQuestion,
} from "../requests/client-requests";
import { type ClientName, credentials, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { callApi, familyOf, obtainCode } from "../browser/journey";
import { answerOf, postTo, refusal } from "../requests/json-answers";
import { failingStorage, failureEvent } from "../hosts/watched-host";

const clock = stopClockForEachTest();

const introspectPath = `${pairPath()}/introspect`;

const lifetimes = { refreshTokenIdleSeconds: 1000, refreshTokenSeconds: 5000 };

const post = postTo(introspectPath);

async function expectInactive(host: TestHost, question: TokenQuestion): Promise<void> {
  const response = await introspect(host, question);
  expect(response.status).toBe(200);
  expect(response.text).toBe('{"active":false}');
}

async function isActive(host: TestHost, question: TokenQuestion): Promise<unknown> {
  const { active } = (await introspect(host, question)).body as { active: unknown };
  return active;
}

function newHost(options: TestHostOptions = {}): TestHost {
  return testHost({ lifetimes, ...options });
}

const base64url22 = expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) as unknown;

describe("what introspection tells of a good token (RFC 7662 §2.2)", () => {
  it.each([
    ["a JWT", "orders", 600, "orders:read"],
    ["an opaque token", "reports", 120, "reports:read"],
  ] as const)("tells of %s what it stands for", async (_, api, seconds, scope) => {
    const host = newHost();
    host.session = { ...signedIn, acr: "urn:acr:2", amr: ["pwd", "otp"] };
    const pair: Pair = { api };
    const { accessToken, refreshToken } = await familyOf(host, "web", pair);
    clock.advance(10);
    const response = await introspect(host, { pair, token: accessToken });
    expect(answerOf(response)).toEqual({
      status: 200,
      body: {
        active: true,
        token_type: "bearer",
        iss: `https://host.example${pairPath(pair)}`,
        aud: `https://api.example/${api}`,
        sub: "alice",
        client_id: "web",
        jti: base64url22,
        iat: clock.now() - 10,
        exp: clock.now() - 10 + seconds,
        scope,
        authorization_id: refreshToken.split(".")[0],
        auth_time: signedIn.authTime,
        acr: "urn:acr:2",
        amr: ["pwd", "otp"],
      },
    });
  });

  it("tells of a client's own token that the client is its subject", async () => {
    const host = newHost();
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const { access_token } = (await postToken(host, { fields })).body as { access_token: string };
    expect(answerOf(await introspect(host, { token: access_token }))).toEqual({
      status: 200,
      body: {
        active: true,
        token_type: "bearer",
        iss: issuer,
        aud: "https://api.example/orders",
        sub: "machine",
        client_id: "machine",
        jti: base64url22,
        iat: clock.now(),
        exp: clock.now() + 600,
        scope: "orders:read",
      },
    });
  });
});

describe("introspection of a good token (RFC 7662 §2.2)", () => {
  it("tells a client of its own refresh token, and uses nothing up", async () => {
    const host = newHost();
    const { refreshToken } = await familyOf(host);
    expect(answerOf(await introspect(host, { token: refreshToken }))).toEqual({
      status: 200,
      body: {
        active: true,
        iss: issuer,
        client_id: "web",
        sub: "alice",
        exp: clock.now() + 1000,
        scope: "orders:read",
      },
    });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it.each<ClientName>(["other", "machine"])(
    "tells %s of an access token of another client",
    async (client) => {
      const host = newHost();
      const { accessToken } = await familyOf(host);
      const response = await introspect(host, { client, token: accessToken });
      expect(response.body).toMatchObject({ active: true, client_id: "web", sub: "alice" });
    },
  );

  it.each([undefined, "access_token", "refresh_token", "unknown"])(
    "does not mind the token_type_hint %p",
    async (token_type_hint) => {
      const host = newHost();
      const { accessToken, refreshToken } = await familyOf(host);
      const fields = { token_type_hint };
      expect(await isActive(host, { token: accessToken, fields })).toBe(true);
      expect(await isActive(host, { token: refreshToken, fields })).toBe(true);
    },
  );

  it.each(["orders", "reports"] as const)("agrees with the API %s to the last second", async (api) => {
    const host = newHost({ revocationLagSeconds: 0 });
    const pair: Pair = { api };
    const { accessToken } = await familyOf(host, "web", pair);
    clock.advance((api === "orders" ? 600 : 120) - 1);
    expect(await isActive(host, { pair, token: accessToken })).toBe(true);
    expect((await callApi(host, `/${api}`, accessToken)).status).toBe(200);
    clock.advance(1);
    await expectInactive(host, { pair, token: accessToken });
    expect((await callApi(host, `/${api}`, accessToken)).status).toBe(401);
  });

  it("is answered in JSON that nobody may keep", async () => {
    const host = newHost();
    const { accessToken } = await familyOf(host);
    for (const token of [accessToken, "unknown"]) {
      const { headers } = await introspect(host, { token });
      expect(headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
        pragma: "no-cache",
      });
    }
  });
});

describe("introspection of any other token (RFC 7662 §2.2, §4)", () => {
  it.each([
    ["unknown text", "unknown"],
    ["what looks like a JWT", "a.b.c"],
    ["dots", ".."],
    ["what looks like a refresh token", `${"A".repeat(22)}.${"a".repeat(43)}`],
    ["what looks like an opaque token", "a".repeat(43)],
    ["characters beyond ASCII", "é 🙂"],
    ["a very long text", "x".repeat(50_000)],
  ])("tells nothing of %s", async (_, token) => {
    const host = newHost();
    await expectInactive(host, { token });
    await expectInactive(host, { token, pair: { api: "reports" } });
  });

  it("tells nothing of a JWT with another signature", async () => {
    const host = newHost();
    const [one, two] = [await familyOf(host), await familyOf(host)];
    const [header, payload] = one.accessToken.split(".");
    await expectInactive(host, { token: `${header}.${payload}.${two.accessToken.split(".")[2]}` });
  });

  it("tells nothing of an expired refresh token", async () => {
    const host = newHost();
    const { refreshToken } = await familyOf(host);
    clock.advance(999);
    expect(await isActive(host, { token: refreshToken })).toBe(true);
    clock.advance(1);
    await expectInactive(host, { token: refreshToken });
  });

  it.each(["orders", "reports"] as const)("tells nothing of a revoked access token of %s", async (api) => {
    const host = newHost();
    const pair: Pair = { api };
    const { accessToken, refreshToken } = await familyOf(host, "web", pair);
    await revoke(host, { token: accessToken, pair });
    await expectInactive(host, { pair, token: accessToken });
    expect(await isActive(host, { pair, token: refreshToken })).toBe(true);
  });

  it.each(["orders", "reports"] as const)("tells nothing of a revoked authorization of %s", async (api) => {
    const host = newHost();
    const pair: Pair = { api };
    const { accessToken, refreshToken } = await familyOf(host, "web", pair);
    const kept = await familyOf(host, "web", pair);
    await revoke(host, { token: refreshToken, pair });
    for (const token of [accessToken, refreshToken]) await expectInactive(host, { pair, token });
    for (const token of [kept.accessToken, kept.refreshToken])
      expect(await isActive(host, { pair, token })).toBe(true);
  });

  it("tells nothing of tokens whose code was replayed", async () => {
    const host = newHost();
    const code = await obtainCode(host, { client: "web" });
    const body = (await redeem(host, { client: "web", code })).body as Record<string, string>;
    expect((await redeem(host, { client: "web", code })).status).toBe(400);
    await expectInactive(host, { token: body["access_token"] ?? "" });
    await expectInactive(host, { token: body["refresh_token"] ?? "" });
  });

  it("tells nothing of a used refresh token, and does not take the question for a replay", async () => {
    const host = newHost();
    const { refreshToken: used } = await familyOf(host);
    const next = (await refresh(host, { client: "web", refreshToken: used })).body as Record<string, string>;
    await expectInactive(host, { token: used });
    expect(await isActive(host, { token: next["access_token"] ?? "" })).toBe(true);
    expect(await isActive(host, { token: next["refresh_token"] ?? "" })).toBe(true);
  });

  it.each<ClientName>(["other", "machine"])("tells %s nothing of another's refresh token", async (client) => {
    const host = newHost();
    const { refreshToken } = await familyOf(host);
    await expectInactive(host, { client, token: refreshToken });
    expect(await isActive(host, { token: refreshToken })).toBe(true);
  });

  it.each<Pair>([{}, { api: "reports" }])(
    "tells of an access token of %j at another issuer of that API, and whose it is; nothing of its refresh token",
    async (home) => {
      const host = newHost();
      const { accessToken, refreshToken } = await familyOf(host, "web", home);
      const away: Pair = { ...home, method: "otp" };
      const { body } = await introspect(host, { token: accessToken, pair: away });
      expect(body).toMatchObject({ active: true, iss: `https://host.example${pairPath(home)}` });
      await expectInactive(host, { pair: away, token: refreshToken });
    },
  );

  it.each(["orders", "reports"] as const)(
    "tells nothing of a token of %s once its authentication method no longer leads to the API",
    async (api) => {
      const before = newHost();
      const { storage } = before;
      const { accessToken } = await familyOf(before, "web", { api });
      const options = apis[api];
      const host = newHost({
        storage,
        apis: { ...apis, ...(options && { [api]: { ...options, authMethods: ["otp"] } }) },
      });
      await expectInactive(host, { pair: { api, method: "otp" }, token: accessToken });
    },
  );

  const pairs: [Pair, Pair][] = [
    [{}, { api: "files" }],
    [{}, { api: "reports" }],
    [{ api: "reports" }, {}],
  ];
  it.each(pairs)("tells nothing of tokens of %j at %j", async (home, away) => {
    const host = newHost();
    const { accessToken, refreshToken } = await familyOf(host, "web", home);
    for (const token of [accessToken, refreshToken]) {
      await expectInactive(host, { pair: away, token });
      expect(await isActive(host, { pair: home, token })).toBe(true);
    }
  });

  it.each(["orders", "reports"] as const)(
    "tells nothing of a token of %s as soon as its client has ended, whatever is remembered of it",
    async (api) => {
      const host = testHost({ revocationLagSeconds: 300 });
      const { accessToken } = await familyOf(host, "web", { api });
      expect(await isActive(host, { pair: { api }, token: accessToken })).toBe(true);
      await host.auth.clients.revoke("web");
      await expectInactive(host, { pair: { api }, token: accessToken });
    },
  );

  it("tells nothing of a code, and does not burn it", async () => {
    const host = newHost();
    const code = await obtainCode(host, { client: "web" });
    await expectInactive(host, { token: code });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});

describe("who may ask (RFC 7662 §2.1)", () => {
  it("is a client that proves itself by HTTP Basic", async () => {
    const host = newHost();
    const { accessToken } = await familyOf(host);
    const Authorization = `Basic ${Buffer.from(`web:${webSecret.secret}`).toString("base64")}`;
    const response = await post(host, encode({ token: accessToken }), { Authorization });
    expect(response.body).toMatchObject({ active: true, client_id: "web" });
  });

  it.each<ClientName>(["native", "spa"])("is not the public client %s", async (client) => {
    const host = newHost();
    const { accessToken } = await familyOf(host, client);
    const response = await introspect(host, { client, token: accessToken });
    expect(answerOf(response)).toEqual(
      refusal(401, "invalid_client", "Introspection requires client authentication."),
    );
  });

  it("is not a client without a subscription to the API", async () => {
    const host = newHost();
    const pair: Pair = { api: "files" };
    const { accessToken } = await familyOf(host, "web", pair);
    expect(answerOf(await introspect(host, { client: "machine", pair, token: accessToken }))).toEqual(
      refusal(400, "unauthorized_client", "The client has no subscription to this API."),
    );
  });

  it.each<[string, Fields]>([
    ["a wrong secret", { client_id: "web", client_secret: "wrong" }],
    ["no secret", { client_id: "web" }],
    ["an unknown client", { client_id: "unknown", client_secret: "x" }],
    ["a public client with a secret", { client_id: "native", client_secret: "x" }],
  ])("is nobody with %s", async (_, fields) => {
    const host = newHost();
    const { accessToken } = await familyOf(host);
    expect(answerOf(await post(host, encode({ token: accessToken, ...fields })))).toEqual(
      refusal(401, "invalid_client", "Client authentication failed."),
    );
  });

  it("is nobody with an access token instead of a secret", async () => {
    const host = newHost();
    const { accessToken } = await familyOf(host);
    const Authorization = `Bearer ${accessToken}`;
    const response = await post(host, encode({ token: accessToken }), { Authorization });
    expect(answerOf(response)).toEqual(refusal(401, "invalid_client", "Client authentication failed."));
    expect(response.headers["www-authenticate"]).toBe(`Basic realm="${issuer}"`);
  });
});

describe("introspection request (RFC 7662 §2.1, §2.3)", () => {
  it.each(["get", "head", "options", "put", "delete"] as const)(
    "is refused with 405 as %s",
    async (method) => {
      const asked = request(newHost().app)[method](introspectPath);
      const response = await asked.set("Origin", "https://spa.example");
      expect(response.status).toBe(405);
      expect(response.headers["allow"]).toBe("POST");
      expect(response.headers["access-control-allow-origin"]).toBeUndefined();
    },
  );

  it("cannot be read by a page, a browser client's included", async () => {
    const response = await post(newHost(), encode({ ...credentials("web"), token: "x" }), {
      Origin: "https://spa.example",
    });
    expect(response.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it.each([{}, { token: "" }])("without a token, %j, is refused", async (fields: Fields) => {
    expect(answerOf(await post(newHost(), encode({ ...credentials("web"), ...fields })))).toEqual(
      refusal(400, "invalid_request", "token is missing."),
    );
  });

  it("with a token twice is refused", async () => {
    const body = encode({ ...credentials("web"), token: ["x", "x"] });
    expect(answerOf(await post(newHost(), body))).toEqual(refusal(400, "invalid_request"));
  });

  it("with the token in the URL is refused", async () => {
    const body = encode({ ...credentials("web"), token: "x" });
    const response = await request(newHost().app).post(`${introspectPath}?token=x`).type("form").send(body);
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "Parameters belong in the body, not in the URL."),
    );
  });

  it("as JSON is refused", async () => {
    const body = JSON.stringify({ ...credentials("web"), token: "x" });
    expect(answerOf(await post(newHost(), body, { "Content-Type": "application/json" }))).toEqual(
      refusal(400, "invalid_request"),
    );
  });

  it("at an unknown pair is answered with 404", async () => {
    const body = encode({ ...credentials("web"), token: "x" });
    const response = await request(newHost().app)
      .post("/login/auth/unknown/api/orders/introspect")
      .type("form")
      .send(body);
    expect(answerOf(response)).toEqual(refusal(404, "not_found"));
  });
});

describe("events of introspection requests (RFC 7662 §4)", () => {
  it("tell of refusals, and of nothing else", async () => {
    const host = newHost();
    const { accessToken } = await familyOf(host, "web", { api: "files" });
    host.events.length = 0;
    await introspect(host, { pair: { api: "files" }, token: accessToken });
    await introspect(host, { token: "unknown" });
    expect(host.events).toEqual([]);
    await introspect(host, { client: "native", token: accessToken });
    await introspect(host, { client: "machine", pair: { api: "files" }, token: accessToken });
    const refused = { kind: "introspection-refused", at: clock.now() };
    expect(host.events).toEqual([
      {
        ...refused,
        issuer,
        clientId: "native",
        error: "invalid_client",
        code: "introspection-by-public-client",
        reason: expect.any(String) as string,
      },
      {
        ...refused,
        issuer: `https://host.example${pairPath({ api: "files" })}`,
        clientId: "machine",
        error: "unauthorized_client",
        code: "introspection-without-subscription",
        reason: expect.any(String) as string,
      },
    ]);
    expect(JSON.stringify(host.events)).not.toContain(accessToken);
  });
});

describe("storage that fails during an introspection request (RFC 7662 §2.3)", () => {
  it.each([
    ["clients.find", "accessToken", "orders"],
    ["accessTokens.isRevoked", "accessToken", "orders"],
    ["authorizations.find", "accessToken", "orders"],
    ["accessTokens.find", "accessToken", "reports"],
    ["refreshTokens.find", "refreshToken", "orders"],
    ["authorizations.find", "refreshToken", "orders"],
  ] as const)("is a server_error when %s throws for the %s of %s", async (name, kind, api) => {
    const failure = new Error("the database says: password=hunter2");
    const watch = failingStorage(failure);
    const host = newHost({ storage: watch.storage, revocationLagSeconds: 0 });
    const pair: Pair = { api };
    const question = { pair, token: (await familyOf(host, "web", pair))[kind] };
    host.events.length = 0;
    watch.failing = name;
    const response = await introspect(host, question);
    watch.failing = undefined;
    expect(answerOf(response)).toEqual(
      refusal(500, "server_error", "The server could not answer this request."),
    );
    expect(host.events).toEqual([failureEvent(pair, { call: name, cause: failure, at: clock.now() })]);
    expect(await isActive(host, question)).toBe(true);
  });
});
