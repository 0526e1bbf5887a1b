import { memoryStorage, type TokenAdapter, type TokenDecision, type TokenDecisionRequest } from "../../lib";
import { apis, pairPath, type Pair } from "../hosts/apis";
import { introspect, postToken, redeem, refresh } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainCode, obtainRefreshToken, obtainTokens } from "../browser/journey";
import { answerOf, refusal, serverError } from "../requests/json-answers";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { intercept, watchWrites } from "../storage/slow-storage";
import { shortenTimeLimit } from "../storage/time-limit";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const orders: Pair = { api: "orders" };
const reports: Pair = { api: "reports" };
/** JWT and opaque. */
const formats = [
  ["JWT", orders],
  ["opaque", reports],
] as const;
const bothScopes = { fields: { scope: "orders:read orders:write" } };

function hostWith(decide: TokenAdapter["decide"], options: TestHostOptions = {}): TestHost {
  return testHost({ ...options, tokens: { decide } });
}

/** A host whose decision can be changed, and what it was asked. */
function changingHost(options: TestHostOptions = {}) {
  const asked: TokenDecisionRequest[] = [];
  const next = { decision: (): TokenDecision | Promise<TokenDecision> => ({ kind: "issue" }) };
  const host = hostWith((request) => {
    asked.push(request);
    return next.decision();
  }, options);
  return { host, asked, next };
}

function machineToken(host: TestHost, pair: Pair = {}) {
  const fields = { grant_type: "client_credentials", ...credentials("machine") };
  return postToken(host, { pair, fields });
}

describe("tokens.decide is asked (RFC 6749 §4.1.3, §4.4, §6)", () => {
  it("about a code, a refresh and a client's own token, each with what is known", async () => {
    const { host, asked } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    expect(asked).toEqual([]);
    const { refresh_token: refreshToken } = tokensOf(await redeem(host, { client: "web", code }));
    await refresh(host, { client: "web", refreshToken });
    await machineToken(host);
    const ofAlice = {
      issuer: `https://host.example${pairPath()}`,
      authMethodId: "password",
      apiId: "orders",
      client: { clientId: "web", name: "Web Shop", confidential: true },
      subject: "alice",
      scopes: ["orders:read"],
      signal: expect.any(AbortSignal),
      authorization: {
        authorizationId: expect.stringMatching(/^[\w-]{22}$/),
        createdAt: clock.now(),
        grantedScopes: ["orders:read"],
        authTime: 1_799_999_000,
      },
    };
    expect(asked).toEqual([
      { ...ofAlice, grantType: "authorization_code" },
      { ...ofAlice, grantType: "refresh_token" },
      {
        grantType: "client_credentials",
        issuer: `https://host.example${pairPath()}`,
        authMethodId: "password",
        apiId: "orders",
        client: { clientId: "machine", name: "Night Job", confidential: true },
        scopes: ["orders:read"],
        signal: expect.any(AbortSignal),
      },
    ]);
  });

  it("after every other check: a wrong proof, a wrong client or a replay does not reach it", async () => {
    const { host, asked } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code, fields: { code_verifier: "A".repeat(43) } });
    await redeem(host, { client: "other", code });
    expect(asked).toEqual([]);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    await redeem(host, { client: "web", code });
    expect(asked).toHaveLength(1);
  });

  it("with copies: what it changes changes nothing", async () => {
    const host = hostWith((request) => {
      (request.scopes as string[]).push("orders:write");
      (request.authorization?.grantedScopes as string[] | undefined)?.push("orders:write");
      Object.assign(request.client, { confidential: false, clientId: "other" });
      return { kind: "issue" };
    });
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", access_token)).body).toMatchObject({
      clientId: "web",
      scopes: ["orders:read"],
    });
  });
});

describe("claims (RFC 9068 §2.2)", () => {
  const claims = {
    org: { id: "o-1", roles: ["admin"] },
    roles: ["admin"],
    groups: ["staff", "Büro"],
    entitlements: ["export"],
  };

  it.each(formats)("are with the request of the API, and introspected: %s", async (_, pair) => {
    const host = hostWith(() => ({ kind: "issue", claims: claims }));
    const { access_token } = await obtainTokens(host, { client: "web", pair });
    expect((await callApi(host, `/${pair.api}`, access_token)).body).toMatchObject({ claims });
    const told = await introspect(host, { client: "web", token: access_token, pair });
    expect(told.body).toMatchObject({ active: true, sub: "alice", ...claims });
  });

  it("are those of each token: a refresh asks again, and drops what is not given again", async () => {
    const { host, next } = changingHost();
    next.decision = () => ({ kind: "issue", claims: { plan: "gold" } });
    const first = await obtainTokens(host, { client: "web" });
    next.decision = () => ({ kind: "issue" });
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first.refresh_token ?? "" }));
    expect((await callApi(host, "/orders", first.access_token)).body).toMatchObject({
      claims: { plan: "gold" },
    });
    expect((await callApi(host, "/orders", second.access_token)).body).not.toHaveProperty("claims");
  });

  it.each(formats)("cannot be changed by a handler, not even deep inside: %s", async (_, pair) => {
    const host = hostWith(() => ({ kind: "issue", claims: claims }));
    const seen: unknown[] = [];
    host.app.get("/deep", host.auth.requireBearer({ api: pair.api ?? "" }), (req, res) => {
      const own = req.auth?.claims as typeof claims | undefined;
      seen.push(own && JSON.stringify(own));
      expect(() => own?.org.roles.push("root")).toThrow(TypeError);
      res.end();
    });
    const { access_token } = await obtainTokens(host, { client: "web", pair });
    await callApi(host, "/deep", access_token);
    await callApi(host, "/deep", access_token);
    expect(seen).toEqual([JSON.stringify(claims), JSON.stringify(claims)]);
  });

  it("are a copy of what the host gave", async () => {
    const own = { plan: "gold" };
    const host = hostWith(() => ({ kind: "issue", claims: own }));
    const { access_token } = await obtainTokens(host, { client: "web", pair: reports });
    own.plan = "root";
    expect((await callApi(host, "/reports", access_token)).body).toMatchObject({ claims: { plan: "gold" } });
  });

  it("may have 4 KB of any text", async () => {
    const text = "ü".repeat(2_040);
    const host = hostWith(() => ({ kind: "issue", claims: { text } }));
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", access_token)).body).toMatchObject({ claims: { text } });
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  it.each<[string, unknown]>([
    ["sub", { sub: "bob" }],
    ["aud", { aud: "https://api.example/files" }],
    ["scope", { scope: "orders:write" }],
    ["client_id", { client_id: "other" }],
    ["exp", { exp: 9_999_999_999 }],
    ["authorization_id", { authorization_id: "A".repeat(22) }],
    ["cnf", { cnf: {} }],
    ["act", { act: { sub: "bob" } }],
    ["active", { active: false }],
    ["__proto__", JSON.parse('{"__proto__": {"a": 1}}')],
    ["too much", { text: "x".repeat(4_090) }],
    ["a circle", circle],
    ["a bigint", { n: 1n }],
    ["undefined", { plan: undefined }],
    ["a function", { plan: () => "gold" }],
    ["a list", ["gold"]],
    ["a text", "gold"],
    ["null", null],
    ["a Map", new Map([["plan", "gold"]])],
  ])("are refused as the host's mistake, and nothing is spent: %s", async (_, wrong) => {
    const { host, next } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    next.decision = () => ({ kind: "issue", claims: wrong as object });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(serverError);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: expect.objectContaining({ code: "wrong-answer-of-tokens" }),
    });
    next.decision = () => ({ kind: "issue" });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});

describe("narrower and shorter tokens (RFC 6749 §3.3, §6)", () => {
  it("have fewer scopes for this access token only", async () => {
    const { host, next } = changingHost();
    next.decision = () => ({ kind: "issue", scopes: ["orders:read"] });
    const first = await obtainTokens(host, { client: "web", ...bothScopes });
    expect(first).toMatchObject({ scope: "orders:read" });
    expect((await callApi(host, "/orders", first.access_token)).body).toMatchObject({
      scopes: ["orders:read"],
    });
    next.decision = () => ({ kind: "issue" });
    const refreshToken = first.refresh_token ?? "";
    expect(tokensOf(await refresh(host, { client: "web", refreshToken }))).toMatchObject({
      scope: "orders:read orders:write",
    });
  });

  it("are invalid_scope when no scope is left, and nothing is spent", async () => {
    const { host, next } = changingHost();
    const code = await obtainCode(host, { client: "web", ...bothScopes });
    next.decision = () => ({ kind: "issue", scopes: [] });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(refusal(400, "invalid_scope"));
    next.decision = () => ({ kind: "issue" });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("live shorter, and say so", async () => {
    const host = hostWith(() => ({ kind: "issue", accessTokenSeconds: 30 }));
    const { access_token, ...others } = await obtainTokens(host, { client: "web" });
    expect(others).toMatchObject({ expires_in: 30 });
    clock.advance(29);
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    clock.advance(1);
    expect((await callApi(host, "/orders", access_token)).status).toBe(401);
  });

  it.each<[string, object]>([
    ["a wider scope", { scopes: ["orders:read", "orders:write"] }],
    ["a scope of nobody", { scopes: ["root"] }],
    ["a text for scopes", { scopes: "orders:read" }],
    ["scopes that are undefined", { scopes: undefined }],
    ["a longer life", { accessTokenSeconds: 601 }],
    ["no life", { accessTokenSeconds: 0 }],
    ["half a second", { accessTokenSeconds: 0.5 }],
    ["a life that is undefined", { accessTokenSeconds: undefined }],
    ["claims that are undefined", { claims: undefined }],
  ])("are refused as the host's mistake: %s", async (_, wrong) => {
    const host = hostWith(() => ({ kind: "issue", ...wrong }));
    const code = await obtainCode(host, { client: "web" });
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(serverError);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["true", true],
    ["another kind", { kind: "granted" }],
    ["a description in other characters", { kind: "refuse", description: 'say "no"' }],
    ["revoke as text", { kind: "refuse", revoke: "yes" }],
    ["revoke that is undefined", { kind: "refuse", revoke: undefined }],
    ["later without a time", { kind: "later" }],
    ["later at once", { kind: "later", retryAfterSeconds: 0 }],
    ["later than a day", { kind: "later", retryAfterSeconds: 86_401 }],
  ])("an answer that is none is a server_error and spends nothing: %s", async (_, answer) => {
    const { host, next } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    next.decision = () => answer as TokenDecision;
    expect(answerOf(await redeem(host, { client: "web", code }))).toEqual(serverError);
    next.decision = () => ({ kind: "issue" });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});

/** A host that decides after so many seconds, and says how long its refresh tokens live. */
function slowHost(accessTokenSeconds: number) {
  const stating = { ...apis["orders"]!, refreshTokenExpiry: "state" } as const;
  const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
  const slow = { seconds: 3 };
  const lifetimes = { refreshTokenIdleSeconds: 100 };
  const host = hostWith(
    async () => {
      clock.advance(slow.seconds);
      return { kind: "issue", accessTokenSeconds };
    },
    { apis: { ...apis, orders: stating }, lifetimes, storage },
  );
  return { host, writes, slow };
}

describe("a decision that takes a while (RFC 6749 §5.1)", () => {
  it.each(formats)("expires_in is what is left when decide was slow: %s", async (_, pair) => {
    const { host } = slowHost(10);
    const introspected = async (token: string): Promise<unknown> =>
      ((await introspect(host, { pair, token })).body as { exp: number }).exp - clock.now();
    const told = pair.api === "orders" ? { refresh_token_expires_in: 97 } : {};
    const first = await obtainTokens(host, { client: "web", pair });
    expect(first).toMatchObject({ expires_in: 7, ...told });
    expect(await introspected(first.access_token)).toBe(7);
    const next = await refresh(host, { client: "web", pair, refreshToken: first.refresh_token ?? "" });
    expect(next.body).toMatchObject({ expires_in: 7, ...told });
    expect(await introspected(tokensOf(next).access_token)).toBe(7);
  });

  it.each([
    ["a second that has just ended", 1],
    ["a clock that was set back", -100],
  ])("does not count %s", async (_, seconds) => {
    const { host, slow } = slowHost(10);
    slow.seconds = seconds;
    expect((await machineToken(host)).body).toMatchObject({ expires_in: 10 });
  });

  it("is counted for a client's own token too", async () => {
    expect((await machineToken(slowHost(10).host)).body).toMatchObject({ expires_in: 7 });
  });

  const late = refusal(503, "temporarily_unavailable", "Try again later.");

  it.each(formats)("spends nothing when the token would be dead: %s", async (_, pair) => {
    const { host, writes, slow } = slowHost(3);
    const code = await obtainCode(host, { client: "web", pair });
    writes.length = 0;
    expect(answerOf(await redeem(host, { client: "web", pair, code }))).toEqual(late);
    expect(host.events.at(-1)).toMatchObject({
      kind: "token-refused",
      error: "temporarily_unavailable",
      code: "token-lifetime-used-up",
    });
    slow.seconds = 2;
    const { body } = await redeem(host, { client: "web", pair, code });
    expect(body).toMatchObject({ expires_in: 1 });
    const { refresh_token: refreshToken } = body as { refresh_token: string };
    slow.seconds = 4;
    expect(answerOf(await refresh(host, { client: "web", pair, refreshToken }))).toEqual(late);
    expect(writes.filter((name) => /consume|rotate/.test(name))).toEqual(["authorizationCodes.consume"]);
    slow.seconds = 0;
    expect((await refresh(host, { client: "web", pair, refreshToken })).status).toBe(200);
  });

  it("gives a client no dead token of its own", async () => {
    expect(answerOf(await machineToken(slowHost(3).host))).toEqual(late);
  });

  it("never says 0, which some clients take for no end, when spending took the rest", async () => {
    const memory = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(memory, (name, call) => {
      if (name === "authorizationCodes.consume") clock.advance(10);
      return call();
    });
    const host = hostWith(() => ({ kind: "issue", accessTokenSeconds: 10 }), { storage });
    expect(await obtainTokens(host, { client: "web" })).toMatchObject({ expires_in: 1 });
  });
});

describe("a refusal by the host (RFC 6749 §5.2)", () => {
  it("is invalid_grant, with the host's words, and spends nothing", async () => {
    const { host, next } = changingHost();
    const refreshToken = await obtainRefreshToken(host);
    next.decision = () => ({ kind: "refuse", description: "Your plan has ended." });
    const answer = await refresh(host, { client: "web", refreshToken });
    expect(answerOf(answer)).toEqual(refusal(400, "invalid_grant", "Your plan has ended."));
    expect(host.events.at(-1)).toMatchObject({
      kind: "token-refused",
      code: "token-decision-refused",
    });
    next.decision = () => ({ kind: "issue" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("is unauthorized_client for a client's own token", async () => {
    const host = hostWith(() => ({ kind: "refuse", revoke: true }));
    expect(answerOf(await machineToken(host))).toEqual(refusal(400, "unauthorized_client"));
  });

  it.each(formats)(
    "with revoke ends everything that descends from the authorization: %s",
    async (_, pair) => {
      const { host, next } = changingHost({ revocationLagSeconds: 0 });
      const { access_token, refresh_token: refreshToken = "" } = await obtainTokens(host, {
        client: "web",
        pair,
      });
      next.decision = () => ({ kind: "refuse", revoke: true });
      await refresh(host, { client: "web", refreshToken, pair });
      expect(host.events.map(({ kind }) => kind).slice(-2)).toEqual(["authorization-ended", "token-refused"]);
      next.decision = () => ({ kind: "issue" });
      expect((await refresh(host, { client: "web", refreshToken, pair })).status).toBe(400);
      expect((await callApi(host, `/${pair.api}`, access_token)).status).toBe(401);
    },
  );

  it("stores nothing", async () => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const { host, next } = changingHost({ storage });
    const code = await obtainCode(host, { client: "web", pair: reports });
    writes.length = 0;
    next.decision = () => ({ kind: "refuse" });
    await redeem(host, { client: "web", code, pair: reports });
    expect(writes).toEqual([]);
  });
});

describe("later (RFC 9110 §10.2.3)", () => {
  it("is 503 with Retry-After, and keeps the refresh token", async () => {
    const { host, next } = changingHost();
    const refreshToken = await obtainRefreshToken(host);
    next.decision = () => ({ kind: "later", retryAfterSeconds: 90 });
    const answer = await refresh(host, { client: "web", refreshToken });
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "90"]);
    expect(answer.body).toMatchObject({ error: "temporarily_unavailable" });
    expect(host.events.at(-1)).toMatchObject({ kind: "token-refused", error: "temporarily_unavailable" });
    next.decision = () => ({ kind: "issue" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });
});

describe("a decision that fails (RFC 6749 §5.2)", () => {
  const cause = new Error("the user table is locked");

  it.each<[string, () => Promise<TokenDecision>]>([
    [
      "throws",
      () => {
        throw cause;
      },
    ],
    ["rejects", () => Promise.reject(cause)],
  ])("%s: the request fails, and nothing is spent", async (_, fail) => {
    const { host, next } = changingHost();
    const refreshToken = await obtainRefreshToken(host);
    next.decision = fail;
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(serverError);
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause });
    next.decision = () => ({ kind: "issue" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("hides no replay: the winner's tokens end although the hook is broken", async () => {
    const { host, next } = changingHost({ revocationLagSeconds: 0 });
    const first = await obtainRefreshToken(host);
    const second = tokensOf(await refresh(host, { client: "web", refreshToken: first }));
    next.decision = () => {
      throw cause;
    };
    expect(answerOf(await refresh(host, { client: "web", refreshToken: first }))).toEqual(
      refusal(400, "invalid_grant"),
    );
    expect((await callApi(host, "/orders", second.access_token)).status).toBe(401);
  });

  it("lets exactly one of several simultaneous exchanges win, each of which is asked about", async () => {
    const { host, asked, next } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    next.decision = async () => {
      await everythingUnderWay();
      return { kind: "issue" };
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(host, { client: "web", code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(asked.length).toBeGreaterThan(1);
  });

  it("finds the code spent while it was asked", async () => {
    const gate = newLatch();
    const { host, next } = changingHost();
    const code = await obtainCode(host, { client: "web" });
    let isFirst = true;
    next.decision = async () => {
      if (isFirst) {
        isFirst = false;
        await gate.opened;
      }
      return { kind: "issue" };
    };
    const slow = redeem(host, { client: "web", code });
    const quick = redeem(host, { client: "web", code });
    expect((await quick).status).toBe(200);
    gate.open();
    expect((await slow).status).toBe(400);
  });
});

describe("a decision that comes too late (RFC 6749 §5.2)", () => {
  it("is temporarily_unavailable, aborts the signal, and has no effect when it comes", async () => {
    const timers = shortenTimeLimit();
    const gate = newLatch();
    const { host, asked, next } = changingHost();
    const { access_token, refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    next.decision = async () => {
      await gate.opened;
      return { kind: "refuse", revoke: true };
    };
    const answer = await refresh(host, { client: "web", refreshToken });
    expect(answer.status).toBe(503);
    expect(asked.at(-1)?.signal.aborted).toBe(true);
    expect(timers.begun.length).toBeGreaterThan(0);
    gate.open();
    await new Promise((resolve) => setImmediate(resolve));
    next.decision = () => ({ kind: "issue" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
  });
});

describe("storage that fails while an authorization is ended", () => {
  it("is told as a failure, not as a refusal", async () => {
    const cause = new Error("the disk is full");
    const shared = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(shared, (name, call) =>
      name === "authorizations.revoke" ? Promise.reject(cause) : call(),
    );
    const { host, next } = changingHost({ storage });
    const refreshToken = await obtainRefreshToken(host);
    next.decision = () => ({ kind: "refuse", revoke: true });
    expect(answerOf(await refresh(host, { client: "web", refreshToken }))).toEqual(serverError);
  });
});

describe("without tokens.decide", () => {
  it("a token has no claims", async () => {
    const host = testHost();
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", access_token)).body).not.toHaveProperty("claims");
  });
});
