/** A mistake in a test throws: it must not pass for the wrong reason. */
import { type AuthServerOptions, memoryStorage, type Storage } from "../../lib";
import { refusedKinds, testClock, testSignIn, testTokens, type TestTokens } from "../../lib/testing";
import { clients } from "../fixture/clients";
import { goodOptions } from "../fixture/options";
import { tokenHostOptions } from "../fixture/token-host";

afterEach(() => jest.restoreAllMocks());

const alice = { api: "orders", client: "web", subject: "alice", scope: "orders:read" };

async function tokensOf(changes: Partial<AuthServerOptions> = {}): Promise<TestTokens> {
  return testTokens(await tokenHostOptions(changes));
}

const all = ["issue", ...refusedKinds] as const;

/** What each kind of token throws, without its own name. */
async function thrownByEach(request: object, changes: Partial<AuthServerOptions> = {}): Promise<string[]> {
  const tokens = await tokensOf(changes);
  const messages = all.map(async (kind) => {
    const thrown: unknown = await tokens[kind](request as typeof alice).catch((error: unknown) => error);
    if (!(thrown instanceof TypeError)) throw new Error(`${kind} was minted`);
    expect(thrown.message.slice(0, `tokens.${kind}: `.length)).toBe(`tokens.${kind}: `);
    return thrown.message.slice(`tokens.${kind}: `.length);
  });
  return [...new Set(await Promise.all(messages))];
}

const reserved = "claims names a claim that only the server may set (docs/tokens.md lists them).";
const known = "api, client, subject, scope, authMethod, claims, seconds, context, authTime, acr, amr";
const scopesOfOrders = "orders:read, orders:write";

describe("every kind of token refuses", () => {
  it.each<[string, object, string]>([
    ["an unknown API", { api: "ordres" }, "api is not an id in apis. Write one of: orders, reports, files."],
    ["no API", { api: null }, "api is not an id in apis. Write one of: orders, reports, files."],
    [
      "an API that every object has",
      { api: "constructor" },
      "api is not an id in apis. Write one of: orders, reports, files.",
    ],
    [
      "an unknown client",
      { client: "webb" },
      'storage.clients has no client "webb". Write one of: web, other, native, spa, machine.',
    ],
    ["a client that is no text", { client: 7 }, "client must be the id of a client of storage.clients."],
    [
      "an unknown scope",
      { scope: "orders:raed" },
      `the API "orders" has no scope "orders:raed". Write some of: ${scopesOfOrders}.`,
    ],
    [
      "a scope of another API",
      { scope: ["files:read"] },
      `the API "orders" has no scope "files:read". Write some of: ${scopesOfOrders}.`,
    ],
    ...["", [], " orders:read", ["orders:read", ""], [undefined], 7].map(
      (scope): [string, object, string] => [
        `the scope ${JSON.stringify(scope)}`,
        { scope },
        `scope must name scopes of the API "orders": ${scopesOfOrders}. Leave it out for a token without scopes.`,
      ],
    ),
    [
      "an unknown authentication method",
      { authMethod: "pasword" },
      'authMethod is not one of the API "orders". Write one of: password, otp, sso.',
    ],
    ["an unknown key", { scopes: "orders:read" }, `scopes is not known here. Known: ${known}.`],
    ...["api", "client", "subject", "scope", "authMethod", "claims", "seconds", "authTime"].map(
      (name): [string, object, string] => [
        `${name} that is undefined`,
        { [name]: undefined },
        `${name} is undefined. Leave the key out, or write a value.`,
      ],
    ),
    ["an empty subject", { subject: "" }, "subject must be a string of 1 to 255 characters."],
    [
      "a subject that no database keeps",
      { subject: "a\0" },
      "subject must be well-formed Unicode without NUL.",
    ],
    [
      "a subject that is a client",
      { subject: "other" },
      "subject is the id of a client. End users have other ids; leave subject out for a client's own token.",
    ],
    ...[0, -1, 1.5, 601, Infinity, "60"].map((seconds): [string, object, string] => [
      `${seconds} seconds`,
      { seconds },
      "seconds must be whole seconds from 1 to 600, the lifetime of the API.",
    ]),
    [
      "an authTime in milliseconds",
      { authTime: Date.now() },
      "authTime must not be in the future; it is in seconds, not milliseconds.",
    ],
    ["an amr that is no list", { amr: "pwd" }, "amr must be a list of strings."],
    [
      "a context without a key",
      { context: {} },
      "context.key must be a string of 1 to 128 characters; leave context out when there is none.",
    ],
    ["claims that are not JSON", { claims: { a: NaN } }, "claims must be a plain object of JSON values."],
    ["claims of OAuth", { claims: { sub: "bob" } }, reserved],
  ])("%s", async (_, change, message) => {
    expect(await thrownByEach({ ...alice, ...change })).toEqual([message]);
  });

  it("what the client may not have", async () => {
    const subscriptions = { orders: { scopes: ["orders:read"] } };
    const storage = memoryStorage({
      clients: [clients.spa, clients.machine, { ...clients.web, subscriptions }],
    });
    const thrown = (change: object): Promise<string[]> => thrownByEach({ ...alice, ...change }, { storage });
    expect(await thrown({ api: "files", scope: "files:read" })).toEqual([
      'the client "web" has no subscription to the API "files". It has: orders.',
    ]);
    expect(await thrown({ scope: "orders:write" })).toEqual([
      'the subscription of the client "web" lacks a scope of: orders:write. It has: orders:read.',
    ]);
    expect(await thrown({ client: "machine" })).toEqual([
      'the client "machine" may not use authorization_code at the API "orders". Leave the subject out, or take another client.',
    ]);
    const tokens = await tokensOf({ storage });
    await expect(tokens.issue({ api: "orders", client: "spa" })).rejects.toThrow(
      'tokens.issue: the client "spa" may not use client_credentials at the API "orders". Name a subject, or take another client.',
    );
  });

  it.each([undefined, null, "orders"])("%p in place of the request", async (request) => {
    expect(await thrownByEach(request as unknown as object)).toEqual([
      `write an object with some of: ${known}.`,
    ]);
  });

  it("a request that inherits a part, which would be lost", async () => {
    expect(await thrownByEach(Object.create(alice) as object)).toEqual([
      "api is inherited. Write a plain object.",
    ]);
  });

  it("a signed token where no key is given: nobody else would know the temporary one", async () => {
    jest.spyOn(process, "emitWarning").mockReturnValue();
    const { signingKeys: _, ...options } = await tokenHostOptions();
    const tokens = testTokens(options);
    await expect(tokens.foreign(alice)).rejects.toThrow(
      'tokens.foreign: the API "orders" has signed access tokens (JWT), and the options have no signingKeys: each server then makes a temporary key that nobody else knows. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.',
    );
    await tokens.issue({ api: "reports", client: "web", subject: "alice" });
  });

  it("what is about an end user, without one", async () => {
    const { subject: _, ...own } = alice;
    const tokens = await tokensOf();
    await expect(tokens.issue({ ...own, acr: "gold" })).rejects.toThrow(
      "tokens.issue: acr is about an end user, and there is no subject. Write the subject, or leave it out.",
    );
    await expect(tokens.withdrawn(own)).rejects.toThrow(
      "tokens.withdrawn: a person takes back what they allowed, and there is no subject. Write one.",
    );
  });
});

/** A storage whose methods are these, where they are given. */
function changed(storage: Storage, port: "accessTokens" | "authorizations", methods: object): Storage {
  return { ...storage, [port]: { ...storage[port], ...methods } };
}

const nothing = (): Promise<void> => Promise.resolve();
const failing = (): Promise<void> => Promise.reject(new Error("no database"));

describe("a token that is not what it should be is not given out", () => {
  it("a good one that the server would refuse", async () => {
    const { storage } = await tokenHostOptions();
    const tokens = await tokensOf({ storage: changed(storage, "authorizations", { create: nothing }) });
    await expect(tokens.expired(alice)).rejects.toThrow(
      "tokens.expired: a good token is refused with these options: the authorization was revoked, or everything of its client was ended.",
    );
  });

  it("a revoked one that the server would accept", async () => {
    const { storage } = await tokenHostOptions();
    const revoke = { revoke: nothing };
    const forgetful = await tokensOf({ storage: changed(storage, "accessTokens", revoke) });
    await expect(forgetful.revoked(alice)).rejects.toThrow("tokens.revoked: the token is still accepted.");
    const other = await tokensOf({ storage: changed(storage, "authorizations", revoke) });
    await expect(other.withdrawn(alice)).rejects.toThrow("tokens.withdrawn: the token is still accepted.");
  });

  it("what storage rejects with reaches the test", async () => {
    const { storage } = await tokenHostOptions();
    const tokens = await tokensOf({ storage: changed(storage, "authorizations", { create: failing }) });
    await expect(tokens.issue(alice)).rejects.toThrow("no database");
  });
});

describe("testTokens", () => {
  it.each<[string, object, string]>([
    ["an option is missing", { apis: {} }, "createAuthServer: apis must not be empty."],
    ["an option is unknown", { issuer: "a" }, "createAuthServer: issuer is not an option."],
  ])("says so when %s", (_, change, message) => {
    expect(() => testTokens({ ...goodOptions, ...change })).toThrow(
      `testTokens takes the options of createAuthServer. ${message}`,
    );
  });
});

function setEnvironment(value: string): void {
  Object.assign(process.env, { NODE_ENV: value });
}

describe("in production", () => {
  const before = process.env["NODE_ENV"] ?? "";
  afterEach(() => setEnvironment(before));

  it("nothing of it works", async () => {
    const options = await tokenHostOptions();
    const tokens = testTokens(options);
    const { authMethod, signIn } = testSignIn();
    signIn("alice");
    setEnvironment("production");
    const refused = "authmount/testing is for tests, and NODE_ENV is production.";
    expect(() => testTokens(options)).toThrow(`testTokens: ${refused}`);
    expect(() => testSignIn()).toThrow(`testSignIn: ${refused}`);
    expect(() => testClock()).toThrow(`testClock: ${refused}`);
    expect(() => authMethod.authenticate({} as never)).toThrow(`testSignIn: ${refused}`);
    for (const kind of all) await expect(tokens[kind](alice)).rejects.toThrow(`tokens.${kind}: ${refused}`);
    await expect(tokens.checkRoute(alice, () => ({ status: 200, headers: {} }))).rejects.toThrow(refused);
  });
});
