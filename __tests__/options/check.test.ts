/** Mistakes in options whose shape is right, and what the host developer reads about them. */
import { type AuthServerOptions, defaultLifetimes } from "../../lib";
import { checkOptions } from "../../lib/options/check";
import type { OptionProblemCode } from "../../lib/options/problem";
import {
  authMethod,
  goodApi,
  goodOptions,
  goodSecret,
  marker,
  thrownBy,
  withChanges,
} from "../records/options";

afterEach(() => jest.restoreAllMocks());

type Mistake = readonly [mistake: string, changes: object, path: string, code: OptionProblemCode];

const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const scopes = { a: "Do A", b: "Do B" };

async function expectMistake(changes: object, path: string, code: OptionProblemCode): Promise<void> {
  const error = await thrownBy(() => checkOptions(withChanges(changes)));
  expect(error).toHaveProperty("code", code);
  expect(error.message.startsWith(`createAuthServer: ${path} `)).toBe(true);
}

const audience = "apis.orders.audience";
const publicUrl = "apis.orders.dpop.publicUrl";
const [methodIds, defaults] = ["apis.orders.authMethods", "apis.orders.defaultScopes"];
const idle = "lifetimes.refreshTokenIdleSeconds";
const tooLongIdle = { refreshTokenSeconds: 60, refreshTokenIdleSeconds: 61 };
const alike = { a: { text: "Do A", implies: ["b"] }, b: { text: "Do B", implies: ["a"] } };

const mistakes: readonly Mistake[] = [
  ["a relative URL", { baseUrl: "/login" }, "baseUrl", "url-not-absolute"],
  ["http on another machine", { baseUrl: "http://host.example/login" }, "baseUrl", "url-not-https"],
  ["a slash at its end", { baseUrl: "https://host.example/login/" }, "baseUrl", "url-ends-with-slash"],
  ["a query", { baseUrl: "https://host.example/login?a=b" }, "baseUrl", "url-with-query-or-fragment"],
  [
    "a password",
    { baseUrl: `https://me:${marker}@host.example/login` },
    "baseUrl",
    "url-with-user-or-password",
  ],
  ["upper case", { baseUrl: "https://HOST.example/login" }, "baseUrl", "url-not-normal"],
  ["an empty secret", { secrets: [""] }, "secrets.0", "variable-not-set"],
  ["a secret of 31 characters", { secrets: [marker.padEnd(31, ".")] }, "secrets.0", "short-secret"],
  ["a short secret behind a good one", { secrets: [goodSecret, marker] }, "secrets.1", "short-secret"],
  ["a secret twice", { secrets: [goodSecret, goodSecret] }, "secrets.1", "listed-twice"],
  [
    "a slash in an id",
    { authMethods: { password: authMethod, "a/b": authMethod } },
    "authMethods.a/b",
    "unusable-id",
  ],
  ["a way back up as an id", { apis: { "..": goodApi } }, "apis...", "unusable-id"],
  ["a space in an id", { apis: { "or ders": goodApi } }, "apis.or ders", "unusable-id"],
  [
    "65 characters in an id",
    { apis: { ["x".repeat(65)]: goodApi } },
    `apis.${"x".repeat(65)}`,
    "unusable-id",
  ],
  ["an audience that is no URL", orders({ audience: "orders" }), audience, "url-not-absolute"],
  ["an http audience", orders({ audience: "http://api.example/orders" }), audience, "url-not-https"],
  [
    "an audience with a fragment (RFC 8707 §2)",
    orders({ audience: "https://api.example/orders#a" }),
    audience,
    "url-with-query-or-fragment",
  ],
  ["an http publicUrl", orders({ dpop: { publicUrl: "http://api.example" } }), publicUrl, "url-not-https"],
  [
    "a publicUrl with a slash at its end",
    orders({ dpop: { publicUrl: "https://api.example/v1/" } }),
    publicUrl,
    "url-ends-with-slash",
  ],
  [
    "a publicUrl with a query",
    orders({ dpop: { publicUrl: "https://api.example/v1?a=b" } }),
    publicUrl,
    "url-with-query-or-fragment",
  ],
  [
    "a publicUrl with a fragment",
    orders({ dpop: { publicUrl: "https://api.example#a" } }),
    publicUrl,
    "url-with-query-or-fragment",
  ],
  [
    "one authentication method of two that is not there",
    {
      authMethods: { password: authMethod, sso: authMethod },
      ...orders({ authMethods: ["password", "otp"] }),
    },
    `${methodIds}.1`,
    "unknown-auth-method",
  ],
  [
    "an authentication method that every object inherits",
    orders({ authMethods: ["constructor"] }),
    `${methodIds}.0`,
    "unknown-auth-method",
  ],
  [
    "an authentication method twice",
    orders({ authMethods: ["password", "password"] }),
    `${methodIds}.1`,
    "listed-twice",
  ],
  [
    "a scope with a space",
    orders({ scopes: { "read orders": "See" } }),
    "apis.orders.scopes.read orders",
    "unusable-scope-name",
  ],
  [
    "a scope with a quotation mark",
    orders({ scopes: { 'a"b': "See" } }),
    'apis.orders.scopes.a"b',
    "unusable-scope-name",
  ],
  ["a scope without a name", orders({ scopes: { "": "See" } }), "apis.orders.scopes.", "unusable-scope-name"],
  [
    "a default scope that the API does not have",
    orders({ scopes, defaultScopes: ["a", "files:read"] }),
    defaults,
    "unknown-default-scope",
  ],
  [
    "a default scope twice",
    orders({ scopes, defaultScopes: ["a", "b", "a"] }),
    `${defaults}.2`,
    "listed-twice",
  ],
  [
    "default scopes where every request must name its scope",
    orders({ scopes, defaultScopes: ["a"], scope: "required" }),
    defaults,
    "unused-default-scopes",
  ],
  [
    "a scope that implies one of another API",
    orders({ scopes: { ...scopes, c: { text: "Do C", implies: ["a", "files:read"] } } }),
    "apis.orders.scopes.c.implies",
    "implies-unknown-scope",
  ],
  [
    "two scopes that imply each other",
    orders({ scopes: alike }),
    "apis.orders.scopes.a.implies",
    "implies-itself",
  ],
  [
    "an idle lifetime of the server",
    { lifetimes: { refreshTokenSeconds: 60 } },
    idle,
    "idle-lifetime-too-long",
  ],
  [
    "an idle lifetime of an API",
    orders({ lifetimes: tooLongIdle }),
    `apis.orders.${idle}`,
    "idle-lifetime-too-long",
  ],
  [
    "a scheme with a dot",
    { redirectSchemes: ["cursor", "com.example"] },
    "redirectSchemes.1",
    "scheme-with-dot",
  ],
  ["a script", { redirectSchemes: ["javascript"] }, "redirectSchemes.0", "scheme-of-browsers"],
  ["a scheme with its colon", { redirectSchemes: ["cursor:"] }, "redirectSchemes.0", "unusable-scheme"],
];

describe("values that createAuthServer does not take", () => {
  it.each(mistakes)("%s", (_, changes, path, code) => expectMistake(changes, path, code));

  it("tells the host what to write instead", async () => {
    const error = await thrownBy(() => checkOptions(withChanges({ secrets: [marker] })));
    expect(error.message).toMatch(/^createAuthServer: secrets\.0 is shorter .*\. Write random text, .*\.$/);
  });

  it.each([
    ["one", goodApi.audience, goodApi.audience],
    ["those whose RFC 9728 document has one URL", "https://api.example", "https://api.example/"],
  ])("as audiences of two APIs: %s", (_, first, second) =>
    expectMistake(
      { apis: { orders: { ...goodApi, audience: first }, files: { ...goodApi, audience: second } } },
      "apis.files.audience",
      "audience-of-two-apis",
    ),
  );
});

describe("values at the edge that createAuthServer takes", () => {
  it.each<readonly [string, object]>([
    ["a secret of 32 characters", { secrets: ["x".repeat(32)] }],
    ["the longest id", { apis: { ["x".repeat(64)]: goodApi } }],
    ["default scopes where requests may leave out theirs", orders({ scopes, defaultScopes: ["a", "b"] })],
    ["a scope that each request must name", orders({ scope: "required" })],
    ["scopes that imply others", orders({ scopes: { ...scopes, c: { text: "Do C", implies: ["a", "b"] } } })],
    ["an idle lifetime as long as the whole", { lifetimes: { refreshTokenIdleSeconds: 7_776_000 } }],
    ["a scheme without a dot", { redirectSchemes: ["cursor"] }],
  ])("%s", (_, changes) => {
    expect(() => checkOptions(withChanges(changes))).not.toThrow();
  });
});

describe.each([
  ["clientMetadataDocuments", "accept"],
  ["clientRegistration", "approve"],
])("origins of scripts, as browsers send them (RFC 6454 §6.2), of %s", (option, method) => {
  const withOrigins = (...browserOrigins: string[]): object =>
    orders({ [option]: { [method]: () => undefined, browserOrigins } });

  it.each([
    ["no URL", "https://["],
    ["a host alone", "app.example"],
    ["a path", "https://app.example/"],
    ["upper case", "https://App.example"],
    ["the default port", "https://app.example:443"],
    ["another scheme", "ws://app.example"],
    ["another scheme, and a host like that of the web", "ws://http:81"],
    ["null, which browsers send for any page without an origin", "null"],
  ])("are not %s", (_, origin) =>
    expectMistake(
      withOrigins("https://app.example", origin),
      `apis.orders.${option}.browserOrigins.1`,
      "unusable-origin",
    ),
  );

  it("may have a port, and may be http", () => {
    const origins = ["https://app.example", "http://localhost:6274"];
    expect(() => checkOptions(withChanges(withOrigins(...origins)))).not.toThrow();
  });
});

describe("options in production", () => {
  const { secrets: _secrets, ...withoutSecrets } = goodOptions;
  const { signingKeys: _signingKeys, ...withoutKeys } = goodOptions;
  const inProduction: readonly (readonly [OptionProblemCode, string, AuthServerOptions])[] = [
    ["missing-in-production", "secrets", withoutSecrets],
    ["missing-in-production", "signingKeys", withoutKeys],
    ["refused-in-production", "insecureLoopbackClients", withChanges({ insecureLoopbackClients: true })],
    ...["a secret for tests, of at least 32 characters", `${goodSecret}\n`].map(
      (phrase) =>
        ["secret-with-white-space", "secrets.1", withChanges({ secrets: [goodSecret, phrase] })] as const,
    ),
  ];

  it.each(inProduction)("are refused: %s, %s", async (code, path, options) => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const error = await thrownBy(() => checkOptions(options));
    expect(error).toMatchObject({ code, message: expect.stringContaining(` ${path} `) as string });
  });

  it.each(inProduction)("are taken elsewhere: %s, %s", (_, __, options) => {
    expect(() => checkOptions(options)).not.toThrow();
  });

  it("are taken when nothing is missing", () => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    expect(() => checkOptions(withChanges({ insecureLoopbackClients: false }))).not.toThrow();
  });
});

describe("an option that is undefined: a misspelt constant, say, must not count as left out", () => {
  const ofApi = [
    "name",
    "defaultScopes",
    "accessTokenSeconds",
    "accessTokenFormat",
    "redirectUri",
    "scope",
    "unknownScopes",
    "refreshTokenExpiry",
    "clientMetadataDocuments",
    "clientRegistration",
    "dpop",
    "lifetimes",
  ];

  const ofServer = [
    "consent",
    "tokens",
    "rateLimit",
    "lifetimes",
    "revocationLagSeconds",
    "lastUses",
    "redirectSchemes",
  ];

  it.each<readonly [path: string, changes: object]>([
    ...ofServer.map((name) => [name, { [name]: undefined }] as const),
    ...Object.keys(defaultLifetimes).map(
      (name) => [`lifetimes.${name}`, { lifetimes: { [name]: undefined } }] as const,
    ),
    ...ofApi.map((name) => [`apis.orders.${name}`, orders({ [name]: undefined })] as const),
    ["apis.orders.scopes.a.implies", orders({ scopes: { a: { text: "Do A", implies: undefined } } })],
    ["apis.orders.dpop.tokens", orders({ dpop: { tokens: undefined } })],
    ["apis.orders.dpop.publicUrl", orders({ dpop: { publicUrl: undefined } })],
    [
      "apis.orders.clientRegistration.browserOrigins",
      orders({ clientRegistration: { approve: () => undefined, browserOrigins: undefined } }),
    ],
    [
      "apis.orders.clientMetadataDocuments.browserOrigins",
      orders({ clientMetadataDocuments: { accept: () => undefined, browserOrigins: undefined } }),
    ],
  ])("is refused by its path: %s", (path, changes) => expectMistake(changes, path, "option-undefined"));

  it.each(["secrets", "signingKeys", "pages", "onEvent"])(
    "counts as left out where nothing widens: %s",
    (name) => {
      expect(() => checkOptions(withChanges({ [name]: undefined }))).not.toThrow();
    },
  );

  it.each(["clientMetadataDocuments", "clientRegistration"])(
    "may stand in what an adapter keeps for itself, which may lead back to it: %s",
    (option) => {
      const adapter = { accept: () => undefined, approve: () => undefined, user: undefined, rows: null };
      const itself = Object.assign(adapter, { connection: { adapter } });
      expect(() => checkOptions(withChanges(orders({ [option]: itself })))).not.toThrow();
    },
  );
});
