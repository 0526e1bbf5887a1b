import { memoryStorage } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { introspect, ownToken, redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { allow, rememberedScopes } from "../browser/consent";
import { bob, signedIn, signedOut, testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../browser/journey";

const clock = stopClockForEachTest();
const silent = { client: "web", fields: { prompt: "none" } } as const;

/** What of these tokens still works, once the lag has passed. */
async function works(host: TestHost, tokens: Tokens, api = "/orders"): Promise<readonly string[]> {
  clock.advance(5);
  const called = await callApi(host, api, tokens.access_token);
  const { refresh_token: refreshToken = "" } = tokens;
  const refreshed = await refresh(host, {
    client: "web",
    refreshToken,
    pair: { api: api.slice(1) as "orders" },
  });
  return [
    called.status === 200 ? "access token" : [],
    refreshed.status === 200 ? "refresh token" : [],
  ].flat();
}

async function machineToken(host: TestHost): Promise<string> {
  return ((await ownToken(host, { client: "machine" })).body as Tokens).access_token;
}

describe("auth.authorizations.list (RFC 6749 §1.3)", () => {
  it("tells of each login: which client, where, when, and when it was last used", async () => {
    const host = testHost();
    const first = clock.now();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    clock.advance(10);
    await obtainCode(host, { client: "native", pair: { api: "reports" } });
    clock.advance(10);
    await refresh(host, { client: "web", refreshToken });
    const { authorizations, next } = await host.auth.authorizations.list("alice");
    expect(next).toBeUndefined();
    const byClient = authorizations.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1));
    expect(byClient).toEqual([
      {
        authorizationId: expect.stringMatching(/^[\w-]{22}$/),
        clientId: "native",
        apiId: "reports",
        authMethodId: "password",
        scopes: ["reports:read"],
        contextKey: "",
        createdAt: first + 10,
        expiresAt: expect.any(Number),
      },
      {
        authorizationId: expect.stringMatching(/^[\w-]{22}$/),
        clientId: "web",
        apiId: "orders",
        authMethodId: "password",
        scopes: ["orders:read"],
        contextKey: "",
        createdAt: first,
        lastUsedAt: first + 20,
        expiresAt: expect.any(Number),
      },
    ]);
  });

  it("contains trusted clients, and nobody else's logins", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    await obtainCode(host, { client: "web" });
    host.session = bob;
    await obtainCode(host, { client: "web" });
    expect((await host.auth.authorizations.list("alice")).authorizations).toHaveLength(1);
    expect((await host.auth.authorizations.list("nobody")).authorizations).toEqual([]);
  });

  it("gives 100 at a time, each one once", async () => {
    const host = testHost({
      clients: Object.values(clients).map((client) => ({ ...client, trusted: true })),
    });
    for (const client of ["web", "native"] as const)
      for (let login = 0; login < 60; login += 1) await obtainCode(host, { client });
    const first = await host.auth.authorizations.list("alice", { after: undefined });
    const second = await host.auth.authorizations.list("alice", { after: first.next ?? "" });
    expect([first.authorizations.length, second.authorizations.length, second.next]).toEqual([
      100,
      20,
      undefined,
    ]);
    const ids = [...first.authorizations, ...second.authorizations].map((one) => one.authorizationId);
    expect(new Set(ids).size).toBe(120);
  });

  it("leaves out what has ended", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    await host.auth.clients.revoke("web");
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
  });

  it.each([
    [undefined],
    ["alice", { after: 7 }],
    ["alice", { afer: "x" }],
    ["alice", { after: "\0" }],
    ["alice", null],
  ])("rejects wrong arguments: %j %j", async (...args) => {
    const { list } = testHost().auth.authorizations;
    await expect(list(...(args as Parameters<typeof list>))).rejects.toThrow(TypeError);
  });
});

describe("auth.authorizations.revoke (RFC 7009 §2.1)", () => {
  it("ends one login, and no other", async () => {
    const host = testHost();
    const gone = await obtainTokens(host, { client: "web" });
    const [{ authorizationId } = { authorizationId: "" }] = (await host.auth.authorizations.list("alice"))
      .authorizations;
    const kept = await obtainTokens(host, { client: "web" });
    await host.auth.authorizations.revoke({ subject: "alice", authorizationId });
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-ended",
      subject: "alice",
      clientId: "web",
    });
    expect(await works(host, gone)).toEqual([]);
    expect(await works(host, kept)).toEqual(["access token", "refresh token"]);
    expect(await rememberedScopes(host, "alice")).toEqual([["orders:read"]]);
  });

  it("ends nothing of somebody else, whoever names its id", async () => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web" });
    const [{ authorizationId } = { authorizationId: "" }] = (await host.auth.authorizations.list("alice"))
      .authorizations;
    await host.auth.authorizations.revoke({ subject: "mallory", authorizationId });
    expect(host.events.at(-1)).toMatchObject({ kind: "nothing-to-revoke", subject: "mallory" });
    expect(await works(host, tokens)).toEqual(["access token", "refresh token"]);
  });

  it.each(["x", "a".repeat(22), "\0", `${"a".repeat(21)}%`, "../etc", "😀".repeat(22)])(
    "does nothing for the id %j",
    async (authorizationId) => {
      const host = testHost();
      await host.auth.authorizations.revoke({ subject: "alice", authorizationId });
      expect(host.events.at(-1)).toMatchObject({ kind: "nothing-to-revoke", subject: "alice" });
    },
  );

  it.each([[undefined], ["an id"], [{ authorizationId: "an id" }], [{ subject: "", authorizationId: "x" }]])(
    "rejects %j",
    async (target) => {
      await expect(testHost().auth.authorizations.revoke(target as never)).rejects.toMatchObject({
        code: "text-missing",
      });
    },
  );
});

describe("auth.subjects.revoke (RFC 7009 §2.1)", () => {
  it("signs out everywhere: every client, API and code; consents stay", async () => {
    const host = testHost();
    const tokens = [
      ["/orders", await obtainTokens(host, { client: "web" })],
      ["/reports", await obtainTokens(host, { client: "web", pair: { api: "reports" } })],
    ] as const;
    const code = await obtainCode(host, { client: "web" });
    host.session = bob;
    const others = await obtainTokens(host, { client: "web" });
    await host.auth.subjects.revoke("alice");
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "subject-ended", subject: "alice" });
    expect((await redeem(host, { client: "web", code })).status).toBe(400);
    for (const [api, own] of tokens) expect(await works(host, own, api)).toEqual([]);
    expect(await works(host, others)).toEqual(["access token", "refresh token"]);
    expect(await rememberedScopes(host, "alice")).toEqual([["orders:read"], ["reports:read"]]);
  });

  it("with consents, forgets them too: the next visit asks", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.subjects.revoke("alice", { consents: "revoke" });
    expect(await rememberedScopes(host, "alice")).toEqual([]);
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "consent_required",
    });
  });

  it("lets a new sign-in begin anew, once authenticate has said so twice", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.subjects.revoke("alice");
    let asked = 0;
    host.session = () => {
      asked += 1;
      return signedIn;
    };
    expect(redirectParameters(await authorize(host.browser(), silent))).toHaveProperty("code");
    expect(asked).toBe(2);
  });

  it("gives nothing to a session that ended between the two questions", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.subjects.revoke("alice");
    const answers = [signedIn, signedOut];
    host.session = () => answers.shift() ?? signedOut;
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "login_required",
    });
    const others = [signedIn, bob];
    host.session = () => others.shift() ?? bob;
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "access_denied",
    });
  });

  it("gives nothing to a session that has another context by the second question, and takes its newer data", async () => {
    const contexts: { key: string; data?: Record<string, unknown> }[] = [];
    const authorizations: unknown[] = [];
    const host = testHost({
      clients: [{ ...clients.web, trusted: true }],
      tokens: {
        decide({ authorization }) {
          authorizations.push(authorization?.context);
          return { kind: "issue" };
        },
      },
    });
    await host.auth.subjects.revoke("alice");
    host.session = () => ({ ...signedIn, context: contexts.shift() ?? { key: "none left" } });
    contexts.push({ key: "acme" }, { key: "home" });
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "access_denied",
    });
    contexts.push({ key: "acme", data: { role: "admin" } }, { key: "acme", data: { role: "guest" } });
    await obtainTokens(host, { client: "web", fields: { prompt: "none" } });
    expect(authorizations).toEqual([{ key: "acme", data: { role: "guest" } }]);
  });

  it("lists what still lives when it failed half-way, so that nobody believes it has ended", async () => {
    const memory = memoryStorage({ clients: Object.values(clients) });
    let isBroken = false;
    const revokeAll: typeof memory.authorizations.revokeAll = async (...args) => {
      if (isBroken) throw new Error("the database is gone");
      return memory.authorizations.revokeAll(...args);
    };
    const host = testHost({
      storage: { ...memory, authorizations: { ...memory.authorizations, revokeAll } },
    });
    const tokens = await obtainTokens(host, { client: "web" });
    isBroken = true;
    await expect(host.auth.subjects.revoke("alice")).rejects.toThrow("the database is gone");
    expect((await callApi(host, "/orders", tokens.access_token)).status).toBe(200);
    expect((await host.auth.authorizations.list("alice")).authorizations).toHaveLength(1);
    isBroken = false;
    await host.auth.subjects.revoke("alice");
    expect((await host.auth.authorizations.list("alice")).authorizations).toEqual([]);
    expect(await works(host, tokens)).toEqual([]);
  });

  it.each([
    ["", {}],
    ["alice", { consents: undefined }],
    ["alice", { consents: true }],
    ["alice", { consent: "revoke" }],
    ["alice", null],
  ])("rejects %j with %j and ends nothing", async (subject, options) => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web" });
    await expect(host.auth.subjects.revoke(subject, options as never)).rejects.toThrow(TypeError);
    expect(await works(host, tokens)).toEqual(["access token", "refresh token"]);
  });
});

describe("auth.subjects.erase (RFC 6749 §10.2)", () => {
  it("ends everything and leaves no record that names the person but opaque tokens until they expire", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const host = testHost({ storage });
    const jwt = await obtainTokens(host, { client: "web" });
    const opaque = await obtainTokens(host, { client: "web", pair: { api: "reports" } });
    await host.auth.subjects.erase("alice");
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "subject-erased", subject: "alice" });
    expect(await storage.authorizations.erase({ subject: "alice" }, clock.now())).toBe(0);
    expect(await storage.consents.list("alice", clock.now())).toEqual([]);
    expect(await works(host, jwt)).toEqual([]);
    expect(await works(host, opaque, "/reports")).toEqual([]);
  });
});

describe("everything of a client (RFC 6749 §2.2, 7009 §2.1)", () => {
  it("ends with auth.clients.revoke: consents, codes and tokens, its own ones too", async () => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "web" });
    const machine = await machineToken(host);
    expect(await rememberedScopes(host, "alice")).toHaveLength(1);
    await host.auth.clients.revoke("web");
    await host.auth.clients.revoke("machine");
    expect(await rememberedScopes(host, "alice")).toEqual([]);
    expect(host.events.at(-1)).toEqual({ at: clock.now(), kind: "client-ended", clientId: "machine" });
    expect(await works(host, tokens)).toEqual([]);
    expect((await redeem(host, { client: "web", code })).status).toBe(400);
    expect((await callApi(host, "/orders", machine)).status).toBe(401);
    expect(redirectParameters(await authorize(host.browser(), silent))).toMatchObject({
      error: "consent_required",
    });
  });

  it("begins anew afterwards: what it gets then is valid", async () => {
    const host = testHost();
    await host.auth.clients.revoke("machine");
    clock.advance(5);
    const token = await machineToken(host);
    clock.advance(5);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });

  it.each([
    ["deleted", () => undefined],
    ["no longer subscribed", () => ({ ...clients.web, subscriptions: { files: {} } })],
  ])("stops within the lag at routes and introspection when the client is %s", async (_, changed) => {
    const memory = memoryStorage({ clients: Object.values(clients) });
    let isChanged = false;
    const find = async (clientId: string) =>
      isChanged && clientId === "web" ? changed() : memory.clients.find(clientId);
    const host = testHost({ storage: { ...memory, clients: { ...memory.clients, find } } });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    isChanged = true;
    clock.advance(5);
    expect((await callApi(host, "/orders", token)).status).toBe(401);
    expect((await introspect(host, { client: "machine", token })).body).toEqual({ active: false });
  });
});
