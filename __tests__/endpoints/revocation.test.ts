import request from "supertest";
import { memoryStorage } from "../../lib";
import { issuer, type Pair, pairPath } from "../hosts/apis";
import { encode, type Fields } from "../browser/browser";
import { postToken, redeem, refresh, revoke } from "../requests/client-requests";
import { basic, type ClientName, clients, credentials, webSecret } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, familyOf, obtainCode } from "../browser/journey";
import {
  type Answer,
  answerOf,
  corsHeaders,
  postTo,
  preflight,
  refusal,
  serverError,
} from "../requests/json-answers";
import { intercept } from "../storage/slow-storage";
import { failingStorage, failureEvent } from "../hosts/watched-host";

const clock = stopClockForEachTest();

const revokePath = `${pairPath()}/revoke`;

const done: Answer = { status: 200, body: {} };

const post = postTo(revokePath);

/** What an API says to a token: the status. */
async function statusAt(host: TestHost, accessToken: string, api = "orders"): Promise<number> {
  return (await callApi(host, `/${api}`, accessToken)).status;
}

async function refreshStatus(
  host: TestHost,
  refreshToken: string,
  client: ClientName = "web",
): Promise<number> {
  return (await refresh(host, { client, refreshToken })).status;
}

/** Revocation is seen at the API at once. */
function promptHost(options: Parameters<typeof testHost>[0] = {}): TestHost {
  return testHost({ revocationLagSeconds: 0, ...options });
}

describe("revocation request (RFC 7009 §2.1)", () => {
  it.each(["get", "head", "put", "patch", "delete"] as const)("is refused with 405 as %s", async (method) => {
    const response = await request(testHost().app)[method](revokePath);
    expect(response.status).toBe(405);
    expect(response.headers["allow"]).toBe("POST, OPTIONS");
  });

  it.each(["/login/auth/unknown/api/orders/revoke", "/login/auth/password/api/unknown/revoke"])(
    "is answered with 404 at %s",
    async (path) => {
      const response = await request(testHost().app)
        .post(path)
        .type("form")
        .send(encode({ ...credentials("web"), token: "x" }));
      const description = "There is no authorization server at this address.";
      expect(answerOf(response)).toEqual(refusal(404, "not_found", description));
    },
  );

  it.each(["application/json", "text/plain", "multipart/form-data; boundary=x"])(
    "is refused as %s, and nothing is revoked",
    async (type) => {
      const host = promptHost();
      const { accessToken } = await familyOf(host);
      const body = JSON.stringify({ ...credentials("web"), token: accessToken });
      expect(answerOf(await post(host, body, { "Content-Type": type }))).toEqual(
        refusal(400, "invalid_request"),
      );
      expect(await statusAt(host, accessToken)).toBe(200);
    },
  );

  it("of more than 64 KiB is refused with 413", async () => {
    expect((await post(testHost(), "x".repeat(64 * 1024 + 1))).status).toBe(413);
  });

  it.each([
    ["no token", {}],
    ["an empty token", { token: "" }],
  ])("with %s is refused", async (_, fields) => {
    const response = await post(testHost(), encode({ ...credentials("web"), ...fields }));
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", "token is missing."));
  });

  it.each(["token", "token_type_hint", "client_id", "unknown"])("with %s twice is refused", async (name) => {
    const host = promptHost();
    const { accessToken } = await familyOf(host);
    const sent = { ...credentials("web"), token: accessToken, token_type_hint: "access_token" };
    const value = { ...sent, unknown: "x" }[name] ?? "";
    const response = await post(host, encode({ ...sent, [name]: [value, value] }));
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request"));
    expect(await statusAt(host, accessToken)).toBe(200);
  });

  it.each(["token", "client_id", "client_secret"])("with %s in the URL is refused", async (name) => {
    const host = promptHost();
    const { accessToken } = await familyOf(host);
    const sent: Record<string, string> = { ...credentials("web"), token: accessToken };
    const response = await request(host.app)
      .post(`${revokePath}?${encode({ [name]: sent[name] })}`)
      .type("form")
      .send(encode(sent));
    const description = "Parameters belong in the body, not in the URL.";
    expect(answerOf(response)).toEqual(refusal(400, "invalid_request", description));
    expect(await statusAt(host, accessToken)).toBe(200);
  });

  it("is answered in JSON that nobody may keep", async () => {
    const response = await revoke(testHost(), { token: "unknown" });
    expect(response.text).toBe("{}");
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      pragma: "no-cache",
    });
  });
});

describe("client authentication at the revocation endpoint (RFC 7009 §2.1, 6749 §2.3)", () => {
  it("takes HTTP Basic", async () => {
    const host = promptHost();
    const { accessToken } = await familyOf(host);
    const Authorization = basic("web", webSecret.secret);
    expect(answerOf(await post(host, encode({ token: accessToken }), { Authorization }))).toEqual(done);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it.each<ClientName>(["web", "native", "spa"])("takes the body of client %s", async (client) => {
    const host = promptHost();
    const { accessToken } = await familyOf(host, client);
    expect(answerOf(await revoke(host, { client, token: accessToken }))).toEqual(done);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it("takes a native client's refresh token by client_id alone", async () => {
    const host = promptHost();
    const { accessToken, refreshToken } = await familyOf(host, "native");
    expect(answerOf(await revoke(host, { client: "native", token: refreshToken }))).toEqual(done);
    expect(await refreshStatus(host, refreshToken, "native")).toBe(400);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it.each<[string, Fields]>([
    ["a wrong secret", { client_id: "web", client_secret: "wrong" }],
    ["no secret", { client_id: "web" }],
    ["another client's secret", { client_id: "other", client_secret: webSecret.secret }],
    ["an unknown client", { client_id: "unknown" }],
    ["a public client with a secret", { client_id: "native", client_secret: "x" }],
  ])("refuses %s with 401, and revokes nothing", async (_, fields) => {
    const host = promptHost();
    const { accessToken, refreshToken } = await familyOf(host);
    for (const token of [accessToken, refreshToken]) {
      const response = await post(host, encode({ token, ...fields }));
      expect(answerOf(response)).toEqual(refusal(401, "invalid_client", "Client authentication failed."));
      expect(response.headers["www-authenticate"]).toBeUndefined();
    }
    expect(await statusAt(host, accessToken)).toBe(200);
    expect(await refreshStatus(host, refreshToken)).toBe(200);
  });

  it("challenges a wrong secret by Basic", async () => {
    const Authorization = basic("web", "wrong");
    const response = await post(testHost(), encode({ token: "x" }), { Authorization });
    expect(answerOf(response)).toEqual(refusal(401, "invalid_client", "Client authentication failed."));
    expect(response.headers["www-authenticate"]).toBe(`Basic realm="${issuer}"`);
  });

  it("refuses two methods at once", async () => {
    const Authorization = basic("web", webSecret.secret);
    const response = await post(testHost(), encode({ ...credentials("web"), token: "x" }), { Authorization });
    expect(answerOf(response)).toEqual(
      refusal(400, "invalid_request", "Use one client authentication method."),
    );
  });

  it("refuses a request without a client", async () => {
    expect(answerOf(await post(testHost(), "token=x"))).toEqual(
      refusal(400, "invalid_request", "client_id is missing."),
    );
  });
});

describe("token_type_hint (RFC 7009 §2.1, §2.2)", () => {
  it.each([undefined, "", "refresh_token", "access_token", "id_token", "ACCESS_TOKEN", "constructor"])(
    "%p lets either kind of token be revoked",
    async (token_type_hint) => {
      const host = promptHost();
      const first = await familyOf(host);
      const second = await familyOf(host);
      const fields = { token_type_hint };
      expect(answerOf(await revoke(host, { token: first.accessToken, fields }))).toEqual(done);
      expect(await statusAt(host, first.accessToken)).toBe(401);
      expect(answerOf(await revoke(host, { token: second.refreshToken, fields }))).toEqual(done);
      expect(await refreshStatus(host, second.refreshToken)).toBe(400);
    },
  );
});

describe("revocation of a refresh token (RFC 7009 §2.1)", () => {
  it("ends its authorization: refresh and access tokens of both generations", async () => {
    const host = promptHost();
    const first = await familyOf(host);
    const { access_token: laterAccessToken, refresh_token: refreshToken } = (
      await refresh(host, { client: "web", refreshToken: first.refreshToken })
    ).body as { access_token: string; refresh_token: string };
    expect(await statusAt(host, laterAccessToken)).toBe(200);
    expect(answerOf(await revoke(host, { token: refreshToken }))).toEqual(done);
    expect(await refreshStatus(host, refreshToken)).toBe(400);
    expect(await statusAt(host, first.accessToken)).toBe(401);
    expect(await statusAt(host, laterAccessToken)).toBe(401);
  });

  it("ends it by a token that was rotated before", async () => {
    const host = promptHost();
    const { refreshToken: rotated } = await familyOf(host);
    const next = (await refresh(host, { client: "web", refreshToken: rotated })).body as Record<
      string,
      string
    >;
    expect(answerOf(await revoke(host, { token: rotated }))).toEqual(done);
    expect(await refreshStatus(host, next["refresh_token"] ?? "")).toBe(400);
    expect(await statusAt(host, next["access_token"] ?? "")).toBe(401);
  });

  it("ends opaque access tokens too", async () => {
    const host = promptHost();
    const pair: Pair = { api: "reports" };
    const { accessToken, refreshToken } = await familyOf(host, "web", pair);
    expect(answerOf(await revoke(host, { pair, token: refreshToken }))).toEqual(done);
    expect(await statusAt(host, accessToken, "reports")).toBe(401);
    expect((await refresh(host, { client: "web", pair, refreshToken })).status).toBe(400);
  });

  it("is seen at the API after revocationLagSeconds, five by default", async () => {
    const host = testHost();
    const { accessToken, refreshToken } = await familyOf(host);
    expect(await statusAt(host, accessToken)).toBe(200);
    await revoke(host, { token: refreshToken });
    clock.advance(4);
    expect(await statusAt(host, accessToken)).toBe(200);
    clock.advance(1);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it("is seen at once by an API that has not seen the token before", async () => {
    const host = testHost();
    const { accessToken, refreshToken } = await familyOf(host);
    await revoke(host, { token: refreshToken });
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it("leaves other authorizations of the same end user and client alone", async () => {
    const host = promptHost();
    const ended = await familyOf(host);
    const same = await familyOf(host);
    const elsewhere = await familyOf(host, "web", { method: "otp" });
    const stranger = await familyOf(host, "other");
    await revoke(host, { token: ended.refreshToken });
    expect(await statusAt(host, ended.accessToken)).toBe(401);
    for (const { accessToken } of [same, elsewhere, stranger])
      expect(await statusAt(host, accessToken)).toBe(200);
    expect(await refreshStatus(host, same.refreshToken)).toBe(200);
    expect(await refreshStatus(host, stranger.refreshToken, "other")).toBe(200);
  });

  it("does nothing more the second time", async () => {
    const host = promptHost();
    const { refreshToken } = await familyOf(host);
    expect(answerOf(await revoke(host, { token: refreshToken }))).toEqual(done);
    expect(answerOf(await revoke(host, { token: refreshToken }))).toEqual(done);
    expect(await refreshStatus(host, refreshToken)).toBe(400);
  });

  it("takes an expired one, and ends its authorization only if another clock may still take it", async () => {
    const lifetimes = { refreshTokenIdleSeconds: 700, refreshTokenSeconds: 7000 };
    const host = promptHost({ lifetimes });
    const { refreshToken } = await familyOf(host);
    clock.advance(1_000);
    expect(answerOf(await revoke(host, { token: refreshToken }))).toEqual(done);
    expect(host.events.map(({ kind }) => kind)).not.toContain("token-revoked");
    clock.advance(-1);
    expect(answerOf(await revoke(host, { token: refreshToken }))).toEqual(done);
    expect(host.events.map(({ kind }) => kind)).toContain("token-revoked");
  });
});

describe("revocation of an access token (RFC 7009 §2.1)", () => {
  it.each([
    ["a JWT", "orders"],
    ["an opaque token", "reports"],
  ] as const)("ends %s and that one only", async (_, api) => {
    const host = promptHost();
    const pair: Pair = { api };
    const { accessToken, refreshToken } = await familyOf(host, "web", pair);
    const sibling = (await refresh(host, { client: "web", pair, refreshToken })).body as Record<
      string,
      string
    >;
    expect(await statusAt(host, accessToken, api)).toBe(200);
    expect(answerOf(await revoke(host, { pair, token: accessToken }))).toEqual(done);
    expect(await statusAt(host, accessToken, api)).toBe(401);
    expect(await statusAt(host, sibling["access_token"] ?? "", api)).toBe(200);
    const next = await refresh(host, { client: "web", pair, refreshToken: sibling["refresh_token"] ?? "" });
    expect(next.status).toBe(200);
    expect(await statusAt(host, (next.body as { access_token: string }).access_token, api)).toBe(200);
  });

  it("is seen at the API within five seconds by default", async () => {
    const host = testHost();
    const { accessToken } = await familyOf(host);
    expect(await statusAt(host, accessToken)).toBe(200);
    await revoke(host, { token: accessToken });
    clock.advance(5);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it("ends a client's own token", async () => {
    const host = promptHost();
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    const [ended, kept] = await Promise.all([postToken(host, { fields }), postToken(host, { fields })]);
    const token = (ended.body as { access_token: string }).access_token;
    expect(answerOf(await revoke(host, { client: "machine", token }))).toEqual(done);
    expect(await statusAt(host, token)).toBe(401);
    expect(await statusAt(host, (kept.body as { access_token: string }).access_token)).toBe(200);
  });

  it("does nothing more the second time", async () => {
    const host = promptHost();
    const { accessToken } = await familyOf(host);
    expect(answerOf(await revoke(host, { token: accessToken }))).toEqual(done);
    expect(answerOf(await revoke(host, { token: accessToken }))).toEqual(done);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it.each([
    ["orders", 600],
    ["reports", 120],
  ] as const)("stores nothing for one at %s that has expired by every clock", async (api, lifeSeconds) => {
    const calls: string[] = [];
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
      calls.push(name);
      return call();
    });
    const host = promptHost({ storage });
    const { accessToken } = await familyOf(host, "web", { api });
    clock.advance(lifeSeconds + 300);
    expect(answerOf(await revoke(host, { pair: { api }, token: accessToken }))).toEqual(done);
    expect(calls).not.toContain("accessTokens.revoke");
    expect(host.events.map(({ kind }) => kind)).not.toContain("token-revoked");
    clock.advance(-1);
    await revoke(host, { pair: { api }, token: accessToken });
    expect(calls).toContain("accessTokens.revoke");
  });
});

describe("tokens that a client cannot revoke (RFC 7009 §2.1, §2.2, §2.2.1)", () => {
  it.each([
    ["an unknown token", "unknown"],
    ["what looks like a JWT", "a.b.c"],
    ["dots", ".."],
    ["a dot", "."],
    ["characters beyond ASCII", "é 🙂"],
    ["what looks like a refresh token", `${"A".repeat(22)}.${"a".repeat(43)}`],
    ["what looks like an opaque token", "a".repeat(43)],
    ["a very long token", "x".repeat(50_000)],
  ])("answers %s with 200", async (_, token) => {
    const host = testHost();
    expect(answerOf(await revoke(host, { token }))).toEqual(done);
    expect(host.events).toEqual([]);
  });

  it("answers a JWT with another signature with 200, and does nothing to the genuine one", async () => {
    const host = promptHost();
    const { accessToken } = await familyOf(host);
    const [header = "", payload = ""] = accessToken.split(".");
    const other = await familyOf(host);
    const [, , signature = ""] = other.accessToken.split(".");
    expect(answerOf(await revoke(host, { token: `${header}.${payload}.${signature}` }))).toEqual(done);
    expect(await statusAt(host, accessToken)).toBe(200);
  });

  const foreign: [string, { client?: ClientName; pair?: Pair }][] = [
    ["another client", { client: "other" }],
    ["a public client", { client: "native" }],
    ["the issuer of another authentication method", { pair: { method: "otp" } }],
    ["the issuer of another API", { pair: { api: "files" } }],
    ["the issuer of an API with opaque tokens", { pair: { api: "reports" } }],
  ];
  it.each(foreign)("leaves tokens presented by or at %s alone", async (_, asked) => {
    const host = promptHost();
    const { accessToken, refreshToken } = await familyOf(host);
    host.events.length = 0;
    for (const token of [accessToken, refreshToken])
      expect(answerOf(await revoke(host, { ...asked, token }))).toEqual(done);
    expect(host.events).toEqual([]);
    expect(await statusAt(host, accessToken)).toBe(200);
    expect(await refreshStatus(host, refreshToken)).toBe(200);
  });

  it.each(foreign)("leaves opaque tokens presented by or at %s alone", async (_, { client, pair }) => {
    const host = promptHost();
    const home: Pair = { api: "reports" };
    const { accessToken, refreshToken } = await familyOf(host, "web", home);
    const at: Pair = pair?.api === "reports" ? { api: "orders" } : { ...home, ...pair };
    for (const token of [accessToken, refreshToken])
      expect(answerOf(await revoke(host, { ...(client && { client }), pair: at, token }))).toEqual(done);
    expect(await statusAt(host, accessToken, "reports")).toBe(200);
    expect((await refresh(host, { client: "web", pair: home, refreshToken })).status).toBe(200);
  });

  it("does nothing to a code, and says so to its own client", async () => {
    const host = promptHost();
    const code = await obtainCode(host, { client: "web" });
    const unsupported = refusal(400, "unsupported_token_type", "An authorization code cannot be revoked.");
    expect(answerOf(await revoke(host, { token: code }))).toEqual(unsupported);
    expect(answerOf(await revoke(host, { token: code, client: "other" }))).toEqual(done);
    const response = await redeem(host, { client: "web", code });
    expect(response.status).toBe(200);
    const { access_token } = response.body as { access_token: string };
    expect(answerOf(await revoke(host, { token: code }))).toEqual(unsupported);
    expect(await statusAt(host, access_token)).toBe(200);
  });
});

describe("events of revocation requests (RFC 7009 §5, 9700 §4.14)", () => {
  it("tell what was revoked", async () => {
    const host = testHost();
    const { accessToken, refreshToken } = await familyOf(host);
    host.events.length = 0;
    await revoke(host, { token: accessToken });
    await revoke(host, { token: refreshToken });
    const about = { kind: "token-revoked", at: clock.now(), issuer, clientId: "web" };
    const [authorizationId] = refreshToken.split(".");
    expect(host.events).toEqual([
      { ...about, revoked: "access_token" },
      { ...about, revoked: "refresh_token", authorizationId },
    ]);
  });

  it("tell what was refused, and of which client when it is proved", async () => {
    const host = testHost();
    await revoke(host, { token: await obtainCode(host, { client: "web" }) });
    host.events.splice(0, 2);
    await revoke(host, { token: "t", fields: { client_secret: "wrong" } });
    const refused = { kind: "revocation-refused", at: clock.now(), issuer };
    expect(host.events).toMatchObject([
      { ...refused, clientId: "web", error: "unsupported_token_type", code: "code-not-revocable" },
      {
        kind: "client-authentication-failed",
        at: clock.now(),
        issuer,
        clientId: "web",
        code: "secret-wrong",
      },
      { ...refused, error: "invalid_client", code: "secret-wrong" },
    ]);
  });

  it("hold no token and no secret", async () => {
    const host = testHost();
    const { accessToken, refreshToken } = await familyOf(host);
    const hint = { token_type_hint: "a hint" };
    for (const token of [accessToken, refreshToken]) {
      await revoke(host, { token, fields: hint });
      await revoke(host, { token, fields: { client_secret: "a wrong secret" } });
      await revoke(host, { token });
    }
    const written = JSON.stringify(host.events);
    const values = [accessToken, refreshToken, webSecret.secret, "a wrong secret", "a hint"];
    expect(values.filter((value) => written.includes(value))).toEqual([]);
    expect(host.events.filter(({ kind }) => kind === "token-revoked")).toHaveLength(4);
  });
});

describe("storage that fails during a revocation request (RFC 7009 §2.2.1)", () => {
  const failure = new Error("the database says: password=hunter2");

  it.each([
    ["clients.find", "accessToken", "orders"],
    ["accessTokens.revoke", "accessToken", "orders"],
    ["accessTokens.find", "accessToken", "reports"],
    ["accessTokens.revoke", "accessToken", "reports"],
    ["clients.find", "refreshToken", "orders"],
    ["refreshTokens.find", "refreshToken", "orders"],
    ["authorizations.find", "refreshToken", "orders"],
    ["authorizations.revoke", "refreshToken", "orders"],
  ] as const)("is a server_error when %s throws for the %s of %s", async (name, kind, api) => {
    const watch = failingStorage(failure);
    const host = promptHost({ storage: watch.storage });
    const pair: Pair = { api };
    const family = await familyOf(host, "web", pair);
    const asked = { pair, token: family[kind] };
    host.events.length = 0;
    watch.failing = name;
    const response = await revoke(host, asked);
    watch.failing = undefined;
    expect(answerOf(response)).toEqual(serverError);
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(host.events).toEqual([failureEvent(pair, { call: name, cause: failure, at: clock.now() })]);
    expect(await statusAt(host, family.accessToken, api)).toBe(200);
    expect(answerOf(await revoke(host, asked))).toEqual(done);
    expect(await statusAt(host, family.accessToken, api)).toBe(401);
  });
});

describe("revocation from a page (RFC 7009 §2.3, Fetch standard)", () => {
  const registered = "https://spa.example";
  it("is allowed by the preflight of a browser client's origin, without credentials", async () => {
    const response = await preflight(testHost(), revokePath, registered);
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({
      "access-control-allow-origin": registered,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type",
      vary: "Origin",
    });
    expect(response.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it("can be read by a browser client", async () => {
    const host = promptHost();
    const { accessToken } = await familyOf(host, "spa");
    const response = await post(host, encode({ client_id: "spa", token: accessToken }), {
      Origin: registered,
    });
    expect(answerOf(response)).toEqual(done);
    expect(response.headers["access-control-allow-origin"]).toBe(registered);
    expect(response.headers["vary"]).toBe("Origin");
    expect(corsHeaders(response)).toEqual(["access-control-allow-origin", "access-control-expose-headers"]);
    expect(await statusAt(host, accessToken)).toBe(401);
  });

  it.each([
    "https://evil.example",
    "https://web.example",
    "https://phone.example",
    "http://spa.example",
    "null",
  ])("is allowed to %s by no header", async (from) => {
    const host = testHost();
    const asked = await preflight(host, revokePath, from);
    expect(asked.status).toBe(204);
    expect(corsHeaders(asked)).toEqual([]);
    const posted = await post(host, encode({ ...credentials("web"), token: "x" }), { Origin: from });
    expect(corsHeaders(posted)).toEqual([]);
    expect(posted.headers["vary"]).toBe("Origin");
  });
});
