/** Mistakes in options whose shape is right, and what the host developer reads about them. */
import { type AuthServerOptions, defaultLifetimes } from "../../lib";
import { checkOptions } from "../../lib/options/check";
import {
  authMethod,
  goodApi,
  goodOptions,
  goodSecret,
  marker,
  thrownBy,
  withChanges,
} from "../fixture/options";

afterEach(() => jest.restoreAllMocks());

type Mistake = readonly [mistake: string, changes: object, message: string];

const orders = (changes: object): object => ({ apis: { orders: { ...goodApi, ...changes } } });
const scopes = { a: "Do A", b: "Do B" };

async function expectMessage(changes: object, message: string): Promise<void> {
  const error = await thrownBy(() => checkOptions(withChanges(changes)));
  expect(error.message).toBe(`createAuthServer: ${message}`);
}

const writeBaseUrl =
  'Write the public URL of the mount point without a trailing slash, such as "https://host/login".';
const writeSecret = "Write random text, such as the output of: npx authmount secret.";
const writeId =
  "is not a usable id. Write 1 to 64 letters, digits, or - _ ~ . (not starting with a dot): the id is part of URLs.";
const writeAudience = 'Write the API\'s URL, such as "https://api.example.com/orders".';
const writeOtherUrl =
  "Write a different URL for each API, or a token for one would also be valid at the other.";
const writeScope =
  'is not a scope name. Write visible ASCII characters without spaces, " and \\ (RFC 6749 §3.3).';
const writeListed = "Name only scopes that are listed under scopes.";
const writeLifetime =
  "is longer than refreshTokenSeconds. Write an idle lifetime of at most refreshTokenSeconds.";
const writeScheme = 'Write a list of lower-case custom schemes, such as ["cursor"] for cursor://.';

const urls: readonly Mistake[] = [
  ["a relative one", { baseUrl: "/login" }, "is not an absolute URL"],
  ["http on another machine", { baseUrl: "http://host.example/login" }, "must be https"],
  ["a slash at its end", { baseUrl: "https://host.example/login/" }, "ends with a slash"],
  ["a query", { baseUrl: "https://host.example/login?a=b" }, "must have neither query nor fragment"],
  ["a fragment", { baseUrl: "https://host.example/login#a" }, "must have neither query nor fragment"],
  [
    "a password",
    { baseUrl: `https://me:${marker}@host.example/login` },
    "must not contain a user name or password",
  ],
  [
    "upper case",
    { baseUrl: "https://HOST.example/login" },
    "is not in its normal form, https://host.example/login",
  ],
  [
    "the default port",
    { baseUrl: "https://host.example:443/login" },
    "is not in its normal form, https://host.example/login",
  ],
  [
    "a way back up",
    { baseUrl: "https://host.example/a/../login" },
    "is not in its normal form, https://host.example/login",
  ],
];

const secrets: readonly Mistake[] = [
  ["an empty one", { secrets: [""] }, "secrets.0 is empty: is the environment variable set?"],
  ["one of 31 characters", { secrets: [marker.padEnd(31, ".")] }, "secrets.0 is shorter than 32 characters"],
  [
    "a short one behind a good one",
    { secrets: [goodSecret, marker] },
    "secrets.1 is shorter than 32 characters",
  ],
  ["one twice", { secrets: [goodSecret, goodSecret] }, "secrets.1 is listed twice"],
];

const ids: readonly Mistake[] = [
  ["a slash", { authMethods: { password: authMethod, "a/b": authMethod } }, "authMethods.a/b"],
  ["a way back up", { apis: { "..": goodApi } }, "apis..."],
  ["a space", { apis: { "or ders": goodApi } }, "apis.or ders"],
  ["65 characters", { apis: { ["x".repeat(65)]: goodApi } }, `apis.${"x".repeat(65)}`],
];

const apis: readonly Mistake[] = [
  [
    "an audience that is no URL",
    orders({ audience: "orders" }),
    `audience is not an absolute URL. ${writeAudience}`,
  ],
  [
    "an http audience",
    orders({ audience: "http://api.example/orders" }),
    `audience must be https. ${writeAudience}`,
  ],
  [
    "an audience with a fragment (RFC 8707 §2)",
    orders({ audience: "https://api.example/orders#a" }),
    `audience must have neither query nor fragment. ${writeAudience}`,
  ],
  [
    "an audience in another form than URL parsers give it",
    orders({ audience: "https://API.example/orders" }),
    `audience is not in its normal form, https://api.example/orders. ${writeAudience}`,
  ],
  [
    "one authentication method of two that is not there",
    {
      authMethods: { password: authMethod, sso: authMethod },
      ...orders({ authMethods: ["password", "otp"] }),
    },
    "authMethods.1 is not an id in authMethods. Write one of: password, sso.",
  ],
  [
    "an authentication method that every object inherits",
    orders({ authMethods: ["constructor"] }),
    "authMethods.0 is not an id in authMethods. Write one of: password.",
  ],
  [
    "an authentication method twice",
    orders({ authMethods: ["password", "password"] }),
    "authMethods.1 is listed twice. Leave it out.",
  ],
  ["a scope with a space", orders({ scopes: { "read orders": "See" } }), `scopes.read orders ${writeScope}`],
  ["a scope with a quotation mark", orders({ scopes: { 'a"b': "See" } }), `scopes.a"b ${writeScope}`],
  ["a scope without a name", orders({ scopes: { "": "See" } }), `scopes. ${writeScope}`],
  [
    "a default scope that the API does not have",
    orders({ scopes, defaultScopes: ["a", "files:read"] }),
    `defaultScopes names a scope that this API does not have. ${writeListed}`,
  ],
  [
    "a default scope twice",
    orders({ scopes, defaultScopes: ["a", "b", "a"] }),
    "defaultScopes.2 is listed twice. Leave it out.",
  ],
  [
    "default scopes where every request must name its scope",
    orders({ scopes, defaultScopes: ["a"], scope: "required" }),
    'defaultScopes can never be used, because scope is required. Leave out defaultScopes, or write scope: "optional".',
  ],
  [
    "a scope that implies one of another API",
    orders({ scopes: { ...scopes, c: { text: "Do C", implies: ["a", "files:read"] } } }),
    `scopes.c.implies names or leads to a scope that this API does not have. ${writeListed}`,
  ],
  [
    "two scopes that imply each other",
    orders({ scopes: { a: { text: "Do A", implies: ["b"] }, b: { text: "Do B", implies: ["a"] } } }),
    "scopes.a.implies leads back to the scope itself. Leave it out: two scopes that imply each other are one and the same.",
  ],
];

const lifetimes: readonly Mistake[] = [
  [
    "of the server",
    { lifetimes: { refreshTokenSeconds: 60 } },
    `lifetimes.refreshTokenIdleSeconds ${writeLifetime}`,
  ],
  [
    "of an API",
    orders({ lifetimes: { refreshTokenSeconds: 60, refreshTokenIdleSeconds: 61 } }),
    `apis.orders.lifetimes.refreshTokenIdleSeconds ${writeLifetime}`,
  ],
];

const schemes: readonly Mistake[] = [
  ["one with a dot", { redirectSchemes: ["cursor", "com.example"] }, "1 has a dot, so it need not be listed"],
  ["a script", { redirectSchemes: ["javascript"] }, "0 is a scheme that browsers open or run"],
  ["one with its colon", { redirectSchemes: ["cursor:"] }, '0 is not a scheme in lower case without ":"'],
];

describe("values that createAuthServer does not take", () => {
  it.each(urls)("of baseUrl: %s", (_, changes, problem) =>
    expectMessage(changes, `baseUrl ${problem}. ${writeBaseUrl}`),
  );

  it.each(secrets)("of secrets: %s", (_, changes, problem) =>
    expectMessage(changes, `${problem}. ${writeSecret}`),
  );

  it.each(ids)("in ids: %s", (_, changes, path) => expectMessage(changes, `${path} ${writeId}`));

  it.each(apis)("of an API: %s", (_, changes, problem) => expectMessage(changes, `apis.orders.${problem}`));

  it.each([
    ["one", goodApi.audience, goodApi.audience],
    ["those whose RFC 9728 document has one URL", "https://api.example", "https://api.example/"],
  ])("as audiences of two APIs: %s", (_, first, second) =>
    expectMessage(
      { apis: { orders: { ...goodApi, audience: first }, files: { ...goodApi, audience: second } } },
      `apis.files.audience is also the audience of apis.orders. ${writeOtherUrl}`,
    ),
  );

  it.each(lifetimes)("as idle lifetimes: %s", (_, changes, message) => expectMessage(changes, message));

  it.each(schemes)("of redirectSchemes: %s", (_, changes, problem) =>
    expectMessage(changes, `redirectSchemes.${problem}. ${writeScheme}`),
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
    expectMessage(
      withOrigins("https://app.example", origin),
      `apis.orders.${option}.browserOrigins.1 is not an origin. Write a list of origins, such as ["https://app.example"].`,
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
  const noTemporary = "is missing, and temporary ones are not allowed in production.";
  const mistakes: readonly (readonly [string, AuthServerOptions])[] = [
    [`secrets ${noTemporary} Write a list of secrets, the newest first.`, withoutSecrets],
    [`signingKeys ${noTemporary} Write a list of private keys, the active one first.`, withoutKeys],
    [
      "insecureLoopbackClients is not allowed in production. Leave it out.",
      withChanges({ insecureLoopbackClients: true }),
    ],
    ...["a secret for tests, of at least 32 characters", `${goodSecret}\n`].map(
      (phrase): [string, AuthServerOptions] => [
        "secrets.1 contains white space, as a phrase does, or a file with a line break at its end. Write random text, such as the output of: npx authmount secret.",
        withChanges({ secrets: [goodSecret, phrase] }),
      ],
    ),
  ];

  it.each(mistakes)("are refused: %s", async (message, options) => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const error = await thrownBy(() => checkOptions(options));
    expect(error.message).toBe(`createAuthServer: ${message}`);
  });

  it.each(mistakes)("are taken elsewhere: %s", (_, options) => {
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
    "lifetimes",
  ];

  const ofServer = ["consent", "tokens", "rateLimit", "lifetimes", "revocationLagSeconds", "redirectSchemes"];

  it.each<readonly [path: string, changes: object]>([
    ...ofServer.map((name) => [name, { [name]: undefined }] as const),
    ...Object.keys(defaultLifetimes).map(
      (name) => [`lifetimes.${name}`, { lifetimes: { [name]: undefined } }] as const,
    ),
    ...ofApi.map((name) => [`apis.orders.${name}`, orders({ [name]: undefined })] as const),
    ["apis.orders.scopes.a.implies", orders({ scopes: { a: { text: "Do A", implies: undefined } } })],
    [
      "apis.orders.clientRegistration.browserOrigins",
      orders({ clientRegistration: { approve: () => undefined, browserOrigins: undefined } }),
    ],
    [
      "apis.orders.clientMetadataDocuments.browserOrigins",
      orders({ clientMetadataDocuments: { accept: () => undefined, browserOrigins: undefined } }),
    ],
  ])("is refused by its path: %s", (path, changes) =>
    expectMessage(changes, `${path} is undefined. Leave the key out for the default, or write a value.`),
  );

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
