/** A mistake in a test throws: it must not pass for the wrong reason. */
import { type AuthServerOptions, generateSigningKey, memoryStorage, type Storage } from "../../lib";
import { refusedKinds, testClock, testSignIn, testTokens, type TestTokens } from "../../lib/testing";
import { clients } from "../hosts/clients";
import { goodOptions } from "../records/options";
import { fakeKms } from "../signing/fake-kms";
import { tokenHostOptions } from "./token-host";

afterEach(() => jest.restoreAllMocks());

const alice = { api: "orders", client: "web", subject: "alice", scope: "orders:read" };

async function tokensOf(changes: Partial<AuthServerOptions> = {}): Promise<TestTokens> {
  return testTokens(await tokenHostOptions(changes));
}

const all = ["issue", ...refusedKinds] as const;

/** The codes of what the kinds of token throw. */
async function thrownByEach(request: object, changes: Partial<AuthServerOptions> = {}): Promise<string[]> {
  const tokens = await tokensOf(changes);
  const codes = all.map(async (kind) => {
    const thrown: unknown = await tokens[kind](request as typeof alice).catch((error: unknown) => error);
    if (!(thrown instanceof TypeError)) throw new Error(`${kind} was minted`);
    expect(thrown.message.slice(0, `tokens.${kind}: `.length)).toBe(`tokens.${kind}: `);
    return (thrown as TypeError & { readonly code: string }).code;
  });
  return [...new Set(await Promise.all(codes))];
}

describe("every kind of token refuses", () => {
  it.each<[string, object, string]>([
    ["an unknown API", { api: "ordres" }, "unknown-api-of-token"],
    ["no API", { api: null }, "unknown-api-of-token"],
    ["an API that every object has", { api: "constructor" }, "unknown-api-of-token"],
    ["an unknown client", { client: "webb" }, "unknown-client"],
    ["a client that is no text", { client: 7 }, "client-missing"],
    ["an unknown scope", { scope: "orders:raed" }, "unknown-scope-of-token"],
    ["a scope of another API", { scope: ["files:read"] }, "unknown-scope-of-token"],
    ...["", [], " orders:read", ["orders:read", ""], [undefined], 7].map(
      (scope): [string, object, string] => [
        `the scope ${JSON.stringify(scope)}`,
        { scope },
        "malformed-scope-of-token",
      ],
    ),
    ["an unknown authentication method", { authMethod: "pasword" }, "unknown-auth-method-of-token"],
    ["an unknown key", { scopes: "orders:read" }, "unknown-key"],
    ...["api", "client", "subject", "scope", "authMethod", "claims", "seconds", "authTime"].map(
      (name): [string, object, string] => [
        `${name} that is undefined`,
        { [name]: undefined },
        "undefined-key",
      ],
    ),
    ["an empty subject", { subject: "" }, "wrong-person-of-token"],
    ["a subject that no database keeps", { subject: "a\0" }, "wrong-person-of-token"],
    ["a subject that is a client", { subject: "other" }, "subject-of-token-is-client-id"],
    ...[0, -1, 1.5, 601, Infinity, "60"].map((seconds): [string, object, string] => [
      `${seconds} seconds`,
      { seconds },
      "wrong-seconds-of-token",
    ]),
    ["an authTime in milliseconds", { authTime: Date.now() }, "wrong-person-of-token"],
    ["an amr that is no list", { amr: "pwd" }, "wrong-person-of-token"],
    ["a context without a key", { context: {} }, "wrong-person-of-token"],
    ["claims that are not JSON", { claims: { a: NaN } }, "wrong-claims"],
    ["claims of OAuth", { claims: { sub: "bob" } }, "wrong-claims"],
  ])("%s", async (_, change, code) => {
    expect(await thrownByEach({ ...alice, ...change })).toEqual([code]);
  });

  it("what the client may not have", async () => {
    const subscriptions = { orders: { scopes: ["orders:read"] } };
    const storage = memoryStorage({
      clients: [clients.spa, clients.machine, { ...clients.web, subscriptions }],
    });
    const thrown = (change: object): Promise<string[]> => thrownByEach({ ...alice, ...change }, { storage });
    expect(await thrown({ api: "files", scope: "files:read" })).toEqual(["no-subscription"]);
    expect(await thrown({ scope: "orders:write" })).toEqual(["scope-not-allowed"]);
    expect(await thrown({ client: "machine" })).toEqual(["client-without-grant"]);
    const tokens = await tokensOf({ storage });
    await expect(tokens.issue({ api: "orders", client: "spa" })).rejects.toMatchObject({
      code: "client-without-grant",
    });
  });

  it.each([undefined, null, "orders"])("%p in place of the request", async (request) => {
    expect(await thrownByEach(request as unknown as object)).toEqual(["not-plain"]);
  });

  it("a request that inherits a part, which would be lost", async () => {
    expect(await thrownByEach(Object.create(alice) as object)).toEqual(["not-plain"]);
  });

  it("a signed token where no key is given: nobody else would know the temporary one", async () => {
    jest.spyOn(process, "emitWarning").mockReturnValue();
    const { signingKeys: _, ...options } = await tokenHostOptions();
    const tokens = testTokens(options);
    await expect(tokens.foreign(alice)).rejects.toMatchObject({ code: "signing-keys-missing" });
    await tokens.issue({ api: "reports", client: "web", subject: "alice" });
  });

  it("a signed token by a key outside the process: tests would depend on it, and pay for it", async () => {
    const kms = fakeKms();
    const tokens = await tokensOf({ signingKeys: [generateSigningKey(), kms.signer] });
    await expect(tokens.issue(alice)).rejects.toMatchObject({
      code: "signs-outside",
      message:
        'tokens.issue: the key "kms-1" signs outside this process, and tests should not depend on that. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.',
    });
    await tokens.issue({ api: "reports", client: "web", subject: "alice" });
    expect(kms.messages).toEqual([]);
  });

  it("what is about an end user, without one", async () => {
    const { subject: _, ...own } = alice;
    const tokens = await tokensOf();
    await expect(tokens.issue({ ...own, acr: "gold" })).rejects.toThrow(
      "tokens.issue: acr is about an end user",
    );
    await expect(tokens.withdrawn(own)).rejects.toMatchObject({ code: "withdrawn-without-subject" });
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
    await expect(tokens.expired(alice)).rejects.toMatchObject({ code: "good-token-refused" });
  });

  it("a revoked one that the server would accept", async () => {
    const { storage } = await tokenHostOptions();
    const revoke = { revoke: nothing };
    const forgetful = await tokensOf({ storage: changed(storage, "accessTokens", revoke) });
    await expect(forgetful.revoked(alice)).rejects.toMatchObject({ code: "spoiled-token-accepted" });
    const other = await tokensOf({ storage: changed(storage, "authorizations", revoke) });
    await expect(other.withdrawn(alice)).rejects.toMatchObject({ code: "spoiled-token-accepted" });
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
    const refused = { code: "testing-in-production" };
    expect(() => testTokens(options)).toThrow(expect.objectContaining(refused));
    expect(() => testSignIn()).toThrow(expect.objectContaining(refused));
    expect(() => testClock()).toThrow(expect.objectContaining(refused));
    expect(() => authMethod.authenticate({} as never)).toThrow(expect.objectContaining(refused));
    for (const kind of all) await expect(tokens[kind](alice)).rejects.toMatchObject(refused);
    await expect(tokens.checkRoute(alice, () => ({ status: 200, headers: {} }))).rejects.toMatchObject(
      refused,
    );
  });
});
