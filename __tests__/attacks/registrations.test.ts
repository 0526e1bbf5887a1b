// The attacker registers clients: anybody may. They want a name that deceives, a redirect that runs code or leads away from another
// API's issuer, trust, a full table or a busy server. They did not get any of it.
import express from "express";
import request, { type Response } from "supertest";
import { type Client, type ClientRegistrationAdapter, generateClientKey, memoryStorage } from "../../lib";
import { apis, pairPath } from "../hosts/apis";
import { clients } from "../hosts/clients";
import type { TestHost, TestHostOptions } from "../hosts/host";
import { obtainTokens, type Tokens } from "../browser/journey";
import { answerOf, invalidClient, refusal, serverError } from "../requests/json-answers";
import { everythingUnderWay, newLatch } from "../storage/latch";
import { rawRequest } from "../requests/raw-request";
import {
  authorizeAs,
  codeFor,
  nativeMetadata,
  redeemAs,
  register,
  registered,
  registerPath,
  registrationHost,
  tokenAs,
  webMetadata,
} from "../requests/registration";
import { intercept, watchWrites } from "../storage/slow-storage";
import { shortenTimeLimitForEachTest } from "../storage/time-limit";

shortenTimeLimitForEachTest();

const now = 1_800_000_000;

/** A host that notes every write to its storage. */
function watchedHost(
  adapter: Partial<ClientRegistrationAdapter> = {},
  options: TestHostOptions = {},
): TestHost & { readonly writes: readonly string[] } {
  const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
  return { ...registrationHost(adapter, { storage, ...options }), writes };
}

const nameSeen = async (host: TestHost, client_name: string): Promise<string> => {
  const { body } = await register(host, { ...nativeMetadata, client_name });
  return (body as { client_name: string }).client_name;
};

describe("a flood of registrations (RFC 7591 §5)", () => {
  const limit = 10_000;

  async function fill(
    { storage: { clientRegistrations } }: TestHost,
    { count = limit, extended }: { count?: number; extended: boolean },
  ): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const clientId = `dcr-${index}`;
      const client = { ...clients.native, clientId };
      await clientRegistrations.create({ client, expiresAt: now + 3_600 }, { limit, now });
      if (extended) await clientRegistrations.extend({ clientId, expiresAt: now + 7_200 }, now);
    }
  }

  it("pushes out the oldest one that nobody has approved, and never one that somebody has", async () => {
    const host = registrationHost();
    const { clientRegistrations } = host.storage;
    const approved = await registered(host, nativeMetadata);
    await codeFor(host, approved);
    await fill(host, { extended: false });
    const newest = await registered(host, nativeMetadata);
    const ids = [approved.client_id, "dcr-0", "dcr-1", "dcr-2", newest.client_id];
    const found = await Promise.all(ids.map((clientId) => clientRegistrations.find(clientId, now)));
    expect(found.map((each) => each !== undefined)).toEqual([true, false, false, true, true]);
  });

  it("that have nearly all places in use lets no two that register at once push out each other", async () => {
    const host = registrationHost();
    await fill(host, { count: 9_000, extended: true });
    const first = await registered(host, nativeMetadata);
    for (let count = 0; count < 20; count += 1) await registered(host, nativeMetadata);
    // now 9,001 are in use, and the other places stay for those that wait
    await codeFor(host, first);
    const response = await register(host, nativeMetadata);
    expect(answerOf(response)).toEqual(refusal(503, "temporarily_unavailable"));
  });

  it("that are all in use is told when to come again", async () => {
    const host = registrationHost();
    await fill(host, { extended: true });
    const response = await register(host, nativeMetadata);
    expect(answerOf(response)).toEqual(refusal(503, "temporarily_unavailable"));
    expect(response.headers["retry-after"]).toBe("3600");
    expect(host.events).toMatchObject([{ kind: "registration-refused", error: "temporarily_unavailable" }]);
    expect(await host.storage.clientRegistrations.find("dcr-0", now)).toBeDefined();
  });
});

describe("a body made to hurt (RFC 7591 §3.1, RFC 8259 §9)", () => {
  const tooLarge = JSON.stringify({ ...webMetadata, x: "x".repeat(70_000) });
  const withParser: TestHostOptions = { before: (app) => void app.use(express.json({ limit: "1mb" })) };

  it.each([
    ["one piece, with its length", {}, { "Content-Length": String(tooLarge.length) }],
    ["chunks, without a length", {}, {}],
    ["chunks, behind a parser of the host that takes more", withParser, {}],
  ])("that is too large is refused with 413: in %s", async (_, options, length) => {
    const host = watchedHost({}, options);
    const headers = { "Content-Type": "application/json", ...length };
    const message = { method: "POST", path: registerPath(), headers, chunks: [tooLarge] };
    const response = await rawRequest(host.app, message);
    expect([response.status, response.headers.connection]).toEqual([413, "close"]);
    expect(host.writes).toEqual([]);
  });

  it("with a private key behind a public one is refused", async () => {
    const { privateKey, jwks } = generateClientKey();
    const keys = [...jwks.keys, { ...privateKey, kid: "private" }];
    const metadata = { ...webMetadata, token_endpoint_auth_method: "private_key_jwt", jwks: { keys } };
    expect(answerOf(await register(registrationHost(), metadata))).toEqual(
      refusal(400, "invalid_client_metadata"),
    );
  });

  it("is measured in bytes: of letters with accents, half as many fit", async () => {
    const host = registrationHost();
    const [key] = generateClientKey().jwks.keys;
    const metadataWith = (letter: string): object => ({
      ...webMetadata,
      token_endpoint_auth_method: "private_key_jwt",
      jwks: {
        keys: Array.from({ length: 10 }, (_, index) => ({ ...key, kid: index + letter.repeat(1_000) })),
      },
    });
    expect(await register(host, metadataWith("e"))).toHaveProperty("status", 201);
    expect(answerOf(await register(host, metadataWith("é")))).toEqual(
      refusal(400, "invalid_client_metadata"),
    );
  });

  it.each([
    ["lists", `{"redirect_uris":${"[".repeat(30_000)}${"]".repeat(30_000)}}`],
    ["objects", `${'{"x":'.repeat(10_000)}1${"}".repeat(10_000)}`],
  ])("of deeply nested %s is refused, also behind a parser of the host", async (_, text) => {
    for (const options of [{}, withParser]) {
      const host = watchedHost({}, options);
      expect(answerOf(await register(host, text))).toEqual(refusal(400, "invalid_request"));
      expect(host.writes).toEqual([]);
    }
  });

  it("with __proto__ gives no object other properties, and the host never sees the key", async () => {
    const seen: object[] = [];
    const host = registrationHost({
      approve: (_, { sent }) => {
        // as a host might, property by property
        seen.push(Object.assign({}, sent));
        return { kind: "approved" };
      },
    });
    const evil = '"__proto__":{"trusted":true,"client_uri":"https://evil.example/"}';
    const { status, body } = await register(
      host,
      `{${evil},"constructor":{"prototype":{"trusted":true}},"x":{${evil}},"redirect_uris":["https://app.example/"]}`,
    );
    expect([status, body]).toEqual([201, expect.not.objectContaining({ client_uri: expect.anything() })]);
    expect([Reflect.get(seen[0] ?? {}, "trusted"), Reflect.get({}, "trusted")]).toEqual([
      undefined,
      undefined,
    ]);
    expect(JSON.stringify(seen)).not.toContain("__proto__");
    const only = await register(host, '{"__proto__":{"redirect_uris":["https://app.example/"]}}');
    expect(answerOf(only)).toEqual(refusal(400, "invalid_redirect_uri"));
  });

  it("with a key twice is the same for the host, for the record and in the answer", async () => {
    const seen: unknown[] = [];
    const host = registrationHost({
      approve: (_, { redirect_uris, sent }) => {
        seen.push(redirect_uris, sent["redirect_uris"]);
        return { kind: "approved" };
      },
    });
    const [good, evil] = ['["https://app.example/"]', '["https://evil.example/"]'];
    const { client_id, redirect_uris } = await registered(
      host,
      `{"redirect_uris":${good},"redirect_uris":${evil}}`,
    );
    const stored = await host.storage.clientRegistrations.find(client_id, now);
    const all = [...seen, redirect_uris, stored?.redirectUris];
    expect(all).toEqual(all.map(() => ["https://evil.example/"]));
  });

  it("with two Authorization headers is refused: the host would see only one", async () => {
    const host = watchedHost();
    const Authorization = ["Bearer one", "Bearer two"];
    const headers = { "Content-Type": "application/json", Authorization };
    const chunks = [JSON.stringify(webMetadata)];
    const response = await rawRequest(host.app, { method: "POST", path: registerPath(), headers, chunks });
    expect(response.status).toBe(400);
    expect(host.writes).toEqual([]);
  });
});

describe("a redirect URI made to hurt (RFC 7591 §5, RFC 8252 §7.1, RFC 9700 §4.11)", () => {
  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    " https://app.example/",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://app.example/x",
    "intent://x#Intent;end",
    "https:evil.example",
    "https://user@evil.example/",
    "https:\\\\evil.example",
    "//evil.example/",
    "/callback",
    "http://localhost.evil.example/",
    "http://10.0.0.1/",
    "https://example\u0430.com/",
  ])("%j is refused", async (uri) => {
    const host = watchedHost();
    const metadata = { ...nativeMetadata, redirect_uris: [...nativeMetadata.redirect_uris, uri] };
    expect(answerOf(await register(host, metadata))).toEqual(refusal(400, "invalid_redirect_uri"));
    expect(host.writes).toEqual([]);
  });

  it("as one of eleven is refused", async () => {
    const uris = Array.from({ length: 11 }, (_, index) => `https://app.example/${index}`);
    const eleven = await register(registrationHost(), { redirect_uris: uris });
    const ten = await register(registrationHost(), { redirect_uris: uris.slice(1) });
    expect([eleven.status, ten.status]).toEqual([400, 201]);
  });
});

describe("a name made to deceive (RFC 7591 §5)", () => {
  it.each([
    ["changes its direction", "Bank\u202egro.live", "Bankgro.live"],
    ["isolates a part", "\u2066Bank\u2069", "Bank"],
    ["breaks the line", "Bank\r\n\u2028Allow", "BankAllow"],
    ["hides a part", "B\u200bank\u0000\u001b[2K", "Bank[2K"],
    ["pads itself", "Bank      \u00a0\u00a0   of us", "Bank of us"],
    ["is nothing", "\u200b\u202e ", "dcr-"],
    ["has halves of characters", "Bank\ud800", "Bank"],
  ])("that %s is cleaned", async (_, sent, name) => {
    const seen = await nameSeen(registrationHost(), sent);
    expect(seen.startsWith("dcr-") ? "dcr-" : seen).toBe(name);
  });

  it("of 10,000 characters is cut", async () => {
    expect(await nameSeen(registrationHost(), "x".repeat(10_000))).toBe("x".repeat(100));
  });

  it("with markup is text on the consent page", async () => {
    const host = registrationHost();
    const client = await registered(host, { ...nativeMetadata, client_name: "<script>alert(1)</script>" });
    const page = await authorizeAs(host.browser(), client);
    expect(page.text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(page.text).not.toContain("<script>alert");
  });
});

describe("a registration used where it does not count (RFC 7591 §3, RFC 6749 §2)", () => {
  const { orders, files } = apis;
  const clientRegistration = { approve: () => ({ kind: "approved" }) as const };
  const both = (): TestHost =>
    registrationHost({}, {
      apis: { ...apis, orders: { ...orders, clientRegistration }, files: { ...files, clientRegistration } },
    } as TestHostOptions);

  it.each(["files", "reports"] as const)("is unknown at another API: %s", async (api) => {
    const host = both();
    const client = await registered(host, webMetadata);
    const page = await authorizeAs(host.browser(), client, {
      pair: { api },
      fields: { scope: `${api}:read` },
    });
    // a page, not a redirect to where the stranger wants people to go
    expect([page.status, page.headers["location"]]).toEqual([400, undefined]);
    const code = await codeFor(host, client);
    expect(answerOf(await redeemAs(host, client, code, { api }))).toEqual(invalidClient);
    expect((await redeemAs(host, client, code)).status).toBe(200);
  });

  it("has no trust, whatever its record says", async () => {
    const storage = intercept(memoryStorage({ clients: [] }), async (name, call) => {
      const found = (await call()) as Client | undefined;
      if (name !== "clientRegistrations.find" || !found) return found;
      return { ...found, trusted: true, subscriptions: { orders: { trusted: true } } };
    });
    const host = registrationHost({}, { storage });
    const client = await registered(host, { ...webMetadata, trusted: true });
    const page = await authorizeAs(host.browser(), client);
    expect(page.status).toBe(200);
    const silent = await authorizeAs(host.browser(), client, { fields: { prompt: "none" } });
    // a page, because a refusal must not lead straight to a stranger's site (RFC 9700 §4.11.2)
    expect(silent.status).toBe(400);
    expect(silent.text).toContain("consent_required");
  });

  it.each(["https:", "HTTPS:"])("cannot have a link lead straight to its site by %s", async (scheme) => {
    const host = registrationHost();
    const client = await registered(host, { redirect_uris: [`${scheme}//evil.example/callback`] });
    const silent = await authorizeAs(host.browser(), client, { fields: { prompt: "none" } });
    expect(silent.status).toBe(400);
    expect(silent.headers).not.toHaveProperty("location");
  });

  it("sends a secret although it is a public client, and is refused", async () => {
    const host = registrationHost();
    const client = await registered(host, { ...nativeMetadata, client_secret: "a secret of its own" });
    expect(client).not.toHaveProperty("client_secret");
    const code = await codeFor(host, client);
    const answer = await redeemAs(host, { ...client, client_secret: "a secret of its own" }, code);
    expect(answerOf(answer)).toEqual(invalidClient);
  });

  it("cannot choose its id or its secret", async () => {
    const host = registrationHost();
    const chosen = { client_id: "web", client_secret: "chosen by me" };
    const client = await registered(host, { ...webMetadata, ...chosen });
    expect(client.client_id).not.toBe("web");
    const forged = { ...client, client_secret: "chosen by me" };
    const answer = await tokenAs(host, forged, {
      fields: { grant_type: "refresh_token", refresh_token: "x" },
    });
    expect(answerOf(answer)).toEqual(invalidClient);
  });
});

describe("a host that is slow, fails or answers too late (clientRegistration.approve)", () => {
  it("holds up nobody else, and until it has answered nothing is stored", async () => {
    const [asked, answered] = [newLatch(), newLatch()];
    const host = watchedHost({
      approve: async (_, { client_name }) => {
        if (client_name !== "Slow") return { kind: "approved" };
        asked.open();
        await answered.opened;
        return { kind: "approved" };
      },
    });
    // the time limit is real here: the latch opens long before it
    jest.restoreAllMocks();
    const slow = register(host, { ...webMetadata, client_name: "Slow" });
    await asked.opened;
    expect(host.writes).toEqual([]);
    expect((await register(host, webMetadata)).status).toBe(201);
    answered.open();
    expect((await slow).status).toBe(201);
    expect(host.writes).toEqual(["clientRegistrations.create", "clientRegistrations.create"]);
  });

  it("that answers after five seconds has registered nobody", async () => {
    const answered = newLatch();
    const host = watchedHost({
      approve: () => answered.opened.then(() => ({ kind: "approved" })),
    });
    const response = await register(host, webMetadata);
    expect(answerOf(response)).toEqual(refusal(503, "temporarily_unavailable"));
    expect(response.headers["retry-after"]).toBe("1");
    answered.open();
    await everythingUnderWay();
    expect(host.writes).toEqual([]);
    expect(host.events.map(({ kind }) => kind)).toEqual(["server-error"]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("the policy service is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("the policy service is down"))],
  ])("that %s has registered nobody, and the client hears nothing of why", async (_, approve) => {
    const host = watchedHost({ approve });
    expect(answerOf(await register(host, webMetadata))).toEqual(serverError);
    expect(host.writes).toEqual([]);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: expect.any(Error) }]);
  });

  it("is not asked about a message that is refused anyway", async () => {
    const approve = jest.fn(() => ({ kind: "approved" }) as const);
    await register(registrationHost({ approve }), { redirect_uris: ["javascript:alert(1)"] });
    expect(approve).not.toHaveBeenCalled();
  });
});

/** A host whose storage stores registrations in this way. */
function withCreate(create: () => Promise<unknown>): TestHost {
  const storage = intercept(memoryStorage({ clients: [] }), (name, call) =>
    name === "clientRegistrations.create" ? create() : call(),
  );
  return registrationHost({}, { storage });
}

describe("storage that fails (RFC 7591 §3.2)", () => {
  it.each([
    ["rejects", () => Promise.reject(new Error("the database is down")), serverError],
    ["hangs", () => new Promise<never>(() => undefined), refusal(503, "temporarily_unavailable")],
  ])("gives nobody an id or a secret when it %s", async (_, create, expected) => {
    const host = withCreate(create);
    expect(answerOf(await register(host, webMetadata))).toEqual(expected);
    expect(host.events.map(({ kind }) => kind)).toEqual(["server-error"]);
  });
});

describe("what the host hears (RFC 7591 §5)", () => {
  it("contains neither the secret, nor the initial access token, nor a word of the client", async () => {
    const host = registrationHost({
      approve: (_, { client_name }) => ({ kind: client_name === "marked" ? "approved" : "refused" }),
    });
    const headers = { Authorization: "Bearer initial-token" };
    const marked = { ...webMetadata, client_name: "marked" };
    const { body } = await register(host, marked, { headers });
    await register(host, { ...marked, client_name: "no marked name" }, { headers });
    await register(host, { ...marked, redirect_uris: ["ftp://marked.example/"] }, { headers });
    const { client_secret } = body as { client_secret: string };
    const heard = JSON.stringify(host.events);
    expect(host.events).toHaveLength(3);
    for (const word of [client_secret, "initial-token", "marked", "app.example"])
      expect(heard).not.toContain(word);
  });
});

describe("introspection by a client that anybody can register (RFC 7662 §2.1, §4)", () => {
  it("tells of its own tokens, and of nobody else's", async () => {
    const host = registrationHost();
    const stranger = await registered(host, webMetadata);
    const { access_token: own } = (await redeemAs(host, stranger, await codeFor(host, stranger)))
      .body as Tokens;
    const { access_token: others } = await obtainTokens(host, { client: "web" });
    const { client_id, client_secret = "" } = stranger;
    const ask = (token: string): Promise<Response> =>
      Promise.resolve(
        request(host.app)
          .post(`${pairPath()}/introspect`)
          .auth(client_id, client_secret)
          .type("form")
          .send({ token }),
      );
    expect((await ask(own)).body).toMatchObject({ active: true, client_id });
    expect((await ask(others)).body).toEqual({ active: false });
  });
});
