import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { createAuthServer, memoryStorage } from "../lib";
import { stopClock } from "./hosts/clock";
import { testHost } from "./hosts/host";
import { obtainTokens } from "./browser/journey";
import {
  emptyStorage,
  expectRefusal,
  goodApi,
  goodKey,
  goodOptions,
  goodSecret,
  jwk,
  marker,
  pem,
  withChanges,
} from "./records/options";

afterEach(() => jest.restoreAllMocks());

const otherJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

function orders(changes: object): object {
  return { apis: { orders: { ...goodApi, ...changes } } };
}

const smallLogo = "data:image/png;base64,iVBORw0KGgo";

type Mistake = readonly [mistake: string, changes: object, path: string, code: string];

const idp = "https://idp.example";
const idpKeys = { jwksUri: `${idp}/keys` };

/** Options with these identity assertions of an authentication method. */
function vouching(identityAssertions: unknown): object {
  return { authMethods: { password: { ...goodOptions.authMethods["password"], identityAssertions } } };
}

const identityMistakes: readonly Mistake[] = (
  [
    ["a function for identity assertions", () => undefined, "", "option-of-wrong-form"],
    ["nobody who vouches", { issuers: {}, accept: () => undefined }, ".issuers", "option-empty"],
    ["providers without accept", { issuers: { [idp]: idpKeys } }, ".accept", "option-missing"],
    ["accept without providers", { accept: () => undefined }, ".issuers", "option-missing"],
    [
      "accept that is no function",
      { issuers: { [idp]: idpKeys }, accept: true },
      ".accept",
      "option-not-a-function",
    ],
    [
      "an unknown key",
      { issuers: { [idp]: idpKeys }, accept: () => undefined, tenants: [] },
      ".tenants",
      "option-unknown",
    ],
    [
      "a URL for a provider",
      { issuers: { [idp]: `${idp}/keys` }, accept: () => undefined },
      `.issuers.${idp}`,
      "option-of-wrong-form",
    ],
    [
      "a provider without keys",
      { issuers: { [idp]: {} }, accept: () => undefined },
      `.issuers.${idp}.jwksUri`,
      "option-missing",
    ],
    [
      "a provider that is no URL",
      { issuers: { idp: idpKeys }, accept: () => undefined },
      ".issuers.idp",
      "url-not-absolute",
    ],
    [
      "a provider without TLS",
      { issuers: { "http://idp.example": idpKeys }, accept: () => undefined },
      ".issuers.http://idp.example",
      "url-not-https",
    ],
    [
      "keys without TLS",
      { issuers: { [idp]: { jwksUri: "http://idp.example/keys" } }, accept: () => undefined },
      `.issuers.${idp}.jwksUri`,
      "unfetchable-url",
    ],
    [
      "keys of this machine",
      { issuers: { [idp]: { jwksUri: "https://localhost/keys" } }, accept: () => undefined },
      `.issuers.${idp}.jwksUri`,
      "unfetchable-url",
    ],
  ] as const
).map(([mistake, given, path, code]) => [
  mistake,
  vouching(given),
  `authMethods.password.identityAssertions${path}`,
  code,
]);

const shapes: readonly Mistake[] = [
  ["an unknown option", { secret: marker }, "secret", "option-unknown"],
  ["no baseUrl", { baseUrl: undefined }, "baseUrl", "option-missing"],
  ["a URL object", { baseUrl: new URL(goodOptions.baseUrl) }, "baseUrl", "option-of-wrong-form"],
  ["one secret for a list", { secrets: goodSecret }, "secrets", "option-of-wrong-form"],
  ["no secret in the list", { secrets: [] }, "secrets", "option-empty"],
  ["a secret that is no text", { secrets: [Buffer.from(goodSecret)] }, "secrets.0", "option-of-wrong-form"],
  ["one key for a list", { signingKeys: pem }, "signingKeys", "option-of-wrong-form"],
  ["no key in the list", { signingKeys: [] }, "signingKeys", "option-empty"],
  ["no storage", { storage: undefined }, "storage", "option-missing"],
  ["the function for the storage", { storage: memoryStorage }, "storage", "option-of-wrong-form"],
  [
    "a storage without clients",
    { storage: { ...emptyStorage, clients: undefined } },
    "storage.clients",
    "option-missing",
  ],
  [
    "pushed requests, and a storage that cannot use them up",
    {
      ...orders({ pushedRequests: "optional" }),
      storage: Object.fromEntries(Object.entries(emptyStorage).filter(([name]) => name !== "parkedRequests")),
    },
    "storage.parkedRequests",
    "option-missing",
  ],
  [
    "refresh tokens that do not rotate",
    { storage: { ...emptyStorage, refreshTokens: { ...emptyStorage.refreshTokens, rotate: undefined } } },
    "storage.refreshTokens",
    "option-without-method",
  ],
  [
    "codes that nobody consumes",
    {
      storage: {
        ...emptyStorage,
        authorizationCodes: { ...emptyStorage.authorizationCodes, consume: undefined },
      },
    },
    "storage.authorizationCodes",
    "option-without-method",
  ],
  ["no authentication method", { authMethods: {} }, "authMethods", "option-empty"],
  ["a list of authentication methods", { authMethods: [] }, "authMethods", "option-of-wrong-form"],
  [
    "a function for an authentication method",
    { authMethods: { password: () => undefined } },
    "authMethods.password",
    "option-without-method",
  ],
  ...identityMistakes,
  ["no API", { apis: {} }, "apis", "option-empty"],
  ["null for an API", { apis: { orders: null } }, "apis.orders", "option-of-wrong-form"],
  ["an unknown option of an API", orders({ scopse: {} }), "apis.orders.scopse", "option-unknown"],
  ["an API without audience", orders({ audience: undefined }), "apis.orders.audience", "option-missing"],
  ["an API without scopes", orders({ scopes: undefined }), "apis.orders.scopes", "option-missing"],
  ["a list of scopes", orders({ scopes: ["orders:read"] }), "apis.orders.scopes", "option-of-wrong-form"],
  [
    "a scope without its sentence",
    orders({ scopes: { "orders:read": "" } }),
    "apis.orders.scopes.orders:read",
    "option-empty",
  ],
  [
    "a scope without any sentence",
    orders({ scopes: { "orders:read": {} } }),
    "apis.orders.scopes.orders:read",
    "option-empty",
  ],
  [
    "a scope with an empty sentence of a language",
    orders({ scopes: { "orders:read": { en: "See your orders", de: "" } } }),
    "apis.orders.scopes.orders:read.de",
    "option-empty",
  ],
  [
    "a scope with a number for the sentence of a language",
    orders({ scopes: { "orders:read": { en: 5 } } }),
    "apis.orders.scopes.orders:read.en",
    "option-of-wrong-form",
  ],
  [
    "a scope with a list of sentences",
    orders({ scopes: { "orders:read": ["See your orders"] } }),
    "apis.orders.scopes.orders:read",
    "option-of-wrong-form",
  ],
  [
    "a scope with null for its sentence",
    orders({ scopes: { "orders:read": null } }),
    "apis.orders.scopes.orders:read",
    "option-of-wrong-form",
  ],
  ["an API without a name", orders({ name: "" }), "apis.orders.name", "option-empty"],
  [
    "an API without authentication method",
    orders({ authMethods: [] }),
    "apis.orders.authMethods",
    "option-empty",
  ],
  [
    "a token that lives no second",
    orders({ accessTokenSeconds: 0 }),
    "apis.orders.accessTokenSeconds",
    "option-of-wrong-form",
  ],
  [
    "a token that lives for ever",
    orders({ accessTokenSeconds: Number.POSITIVE_INFINITY }),
    "apis.orders.accessTokenSeconds",
    "option-of-wrong-form",
  ],
  [
    "a lifetime as a text",
    orders({ accessTokenSeconds: "600" }),
    "apis.orders.accessTokenSeconds",
    "option-of-wrong-form",
  ],
  ["dpop as a yes", orders({ dpop: true }), "apis.orders.dpop", "option-of-wrong-form"],
  [
    "another word for tokens of dpop",
    orders({ dpop: { tokens: "always" } }),
    "apis.orders.dpop.tokens",
    "option-of-wrong-form",
  ],
  [
    "an unknown key in dpop",
    orders({ dpop: { token: "required" } }),
    "apis.orders.dpop.token",
    "option-unknown",
  ],
  [
    "a publicUrl that is no text",
    orders({ dpop: { publicUrl: new URL("https://api.example") } }),
    "apis.orders.dpop.publicUrl",
    "option-of-wrong-form",
  ],
  [
    "another token format",
    orders({ accessTokenFormat: "JWT" }),
    "apis.orders.accessTokenFormat",
    "option-of-wrong-form",
  ],
  [
    "a redirect rule that is none",
    orders({ redirectUri: true }),
    "apis.orders.redirectUri",
    "option-of-wrong-form",
  ],
  ["a scope rule that is none", orders({ scope: "none" }), "apis.orders.scope", "option-of-wrong-form"],
  ["a function for the consent adapter", { consent: () => undefined }, "consent", "option-without-method"],
  ["a function for the token adapter", { tokens: () => undefined }, "tokens", "option-without-method"],
  ["an unknown lifetime", { lifetimes: { codeSeconds: 60 } }, "lifetimes.codeSeconds", "option-unknown"],
  [
    "a code that lives for more than ten minutes (6749 §4.1.2)",
    { lifetimes: { authorizationCodeSeconds: 601 } },
    "lifetimes.authorizationCodeSeconds",
    "option-of-wrong-form",
  ],
  [
    "half a second",
    { lifetimes: { refreshTokenSeconds: 0.5 } },
    "lifetimes.refreshTokenSeconds",
    "option-of-wrong-form",
  ],
  [
    "an interaction that nobody can finish",
    { lifetimes: { interactionSeconds: 29 } },
    "lifetimes.interactionSeconds",
    "option-of-wrong-form",
  ],
  [
    "a revocation lag without bound",
    { revocationLagSeconds: 301 },
    "revocationLagSeconds",
    "option-of-wrong-form",
  ],
  ["another kind of use", { lastUses: "requests" }, "lastUses", "option-of-wrong-form"],
  ["an unknown option of pages", { pages: { colour: "#123456" } }, "pages.colour", "option-unknown"],
  ["a function for pages", { pages: () => "" }, "pages", "option-of-wrong-form"],
  ["a number for the host's name", { pages: { name: 5 } }, "pages.name", "option-of-wrong-form"],
  [
    "a logo to request",
    { pages: { logo: "https://host.example/logo.png" } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  [
    "a logo that is no picture",
    { pages: { logo: "data:text/html;base64,AAAA" } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  [
    "a logo that is not in base64",
    { pages: { logo: "data:image/svg+xml,<svg/>" } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  [
    "a logo that leaves its attribute",
    { pages: { logo: 'data:image/png;base64,AAAA" onerror="x' } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  [
    "a logo with a line feed at its end",
    { pages: { logo: `${smallLogo}\n` } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  [
    "a logo of more than 24 KB",
    { pages: { logo: smallLogo.padEnd(24_577, "A") } },
    "pages.logo",
    "option-of-wrong-form",
  ],
  ...["red", "#fff", "#12345g", "#1234567", "123456", "#123456;}", "#123456\n"].map(
    (accentColor): Mistake => [
      `the accent colour ${JSON.stringify(accentColor)}`,
      { pages: { accentColor } },
      "pages.accentColor",
      "option-of-wrong-form",
    ],
  ),
  ["a list of texts", { pages: { texts: [] } }, "pages.texts", "option-of-wrong-form"],
  ...["", "german", "de_AT", "de-", "__proto__", 'de" onclick="'].map((language): Mistake => [
    `texts in the language ${JSON.stringify(language)}`,
    { pages: { texts: { [language]: {} } } },
    "pages.texts",
    "option-of-wrong-form",
  ]),
  [
    "a text for the texts of a language",
    { pages: { texts: { de: "Hallo" } } },
    "pages.texts.de",
    "option-of-wrong-form",
  ],
  [
    "an unknown text",
    { pages: { texts: { de: { title: "Hallo" } } } },
    "pages.texts.de.title",
    "option-unknown",
  ],
  ["an empty text", { pages: { texts: { de: { allow: "" } } } }, "pages.texts.de.allow", "option-empty"],
  [
    "a number for a text",
    { pages: { texts: { de: { allow: 5 } } } },
    "pages.texts.de.allow",
    "option-of-wrong-form",
  ],
  ["a text for render", { pages: { render: "<h1>Hello</h1>" } }, "pages.render", "option-not-a-function"],
  ["an object for onEvent", { onEvent: {} }, "onEvent", "option-not-a-function"],
  ["an object for rateLimit", { rateLimit: { limit: 10 } }, "rateLimit", "option-not-a-function"],
];

const keys: readonly Mistake[] = [
  ["a text that is no key", { signingKeys: [marker] }, "signingKeys.0", "unusable-signing-key"],
  [
    "a broken PEM",
    { signingKeys: [pem.replace("PRIVATE KEY-----\n", `PRIVATE KEY-----\n${marker}`)] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  [
    "a JWK without its public half",
    { signingKeys: [{ kty: "EC", crv: "P-256", d: marker }] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  [
    "a JWK whose halves do not belong together",
    { signingKeys: [{ ...jwk, d: otherJwk.d }] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  [
    "a public key",
    { signingKeys: [goodKey, createPublicKey(goodKey)] },
    "signingKeys.1",
    "public-signing-key",
  ],
  [
    "a short RSA key",
    { signingKeys: [generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  [
    "an algorithm of another key",
    { signingKeys: [{ ...jwk, alg: "RS256" }] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  [
    "the algorithm HS256",
    { signingKeys: [{ ...jwk, alg: "HS256" }] },
    "signingKeys.0",
    "unusable-signing-key",
  ],
  ["a kid that is no text", { signingKeys: [{ ...jwk, kid: 7 }] }, "signingKeys.0", "unusable-signing-key"],
  ["nothing where a key should be", { signingKeys: [undefined] }, "signingKeys.0", "unusable-signing-key"],
  ["one key twice", { signingKeys: [goodKey, pem] }, "signingKeys", "signing-keys-with-one-kid"],
];

describe("options of createAuthServer", () => {
  it("takes good ones", () => {
    expect(() => createAuthServer(goodOptions)).not.toThrow();
  });

  it.each([
    ["a baseUrl without a path", { baseUrl: "https://host.example" }],
    ["http on this machine", { baseUrl: "http://localhost:3000/login" }],
    ["a loopback address", { baseUrl: "http://127.0.0.1:3000" }],
    ["an audience that is an origin", orders({ audience: "https://api.example" })],
    ["an API without any scope", orders({ scopes: {} })],
    ["dpop without anything", orders({ dpop: {} })],
    ["a publicUrl with a path", orders({ dpop: { publicUrl: "https://api.example/v1" } })],
    ["a publicUrl on this machine", orders({ dpop: { publicUrl: "http://localhost:3000" } })],
    ["sentences by language", orders({ scopes: { "orders:read": { en: "See", "de-AT": "Sehen" } } })],
    ["pages without anything", { pages: {} }],
    ["the longest logo", { pages: { logo: smallLogo.padEnd(24_576, "A") } }],
    ["an accent colour in any case", { pages: { accentColor: "#aAbBcC" } }],
    ["texts in languages of the host's own", { pages: { texts: { nl: { allow: "Ja" }, "zh-Hans-CN": {} } } }],
    ["the longest id", { apis: { ["x".repeat(64)]: goodApi } }],
    ["options that are undefined and widen nothing", { pages: undefined, onEvent: undefined }],
    [
      "ports that are classes",
      {
        storage: Object.fromEntries(
          Object.entries(emptyStorage).map(([name, port]) => [
            name,
            Object.create(port as object) as unknown,
          ]),
        ),
      },
    ],
  ])("takes %s", (_, changes) => {
    expect(() => createAuthServer(withChanges(changes))).not.toThrow();
  });

  it.each([...shapes, ...keys])("refuses %s", (_, changes, path, code) =>
    expectRefusal(() => createAuthServer(withChanges(changes)), { who: "createAuthServer", path, code }),
  );

  it.each([undefined, null, "https://host.example", []])("refuses %j instead of options", (options) =>
    expectRefusal(() => createAuthServer(options as never), {
      who: "createAuthServer",
      path: "options",
      code: "option-of-wrong-form",
    }),
  );
});

describe("secrets and signingKeys that are left out", () => {
  const { secrets: _secrets, signingKeys: _signingKeys, ...withoutBoth } = goodOptions;

  it.each([
    ["secrets", withoutBoth],
    ["secrets", { ...withoutBoth, signingKeys: [goodKey] }],
    ["signingKeys", { ...withoutBoth, secrets: [goodSecret] }],
  ])("are refused in production: %s", async (path, options) => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    await expectRefusal(() => createAuthServer(options), {
      who: "createAuthServer",
      path,
      code: "missing-in-production",
    });
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it("are not missed in production when they are there", () => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    expect(() => createAuthServer(goodOptions)).not.toThrow();
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it.each([
    ["both", withoutBoth, ["secrets", "signingKeys"] as const],
    ["secrets", { ...withoutBoth, signingKeys: [goodKey] }, ["secrets"] as const],
    ["signingKeys", { ...withoutBoth, secrets: [goodSecret] }, ["signingKeys"] as const],
    ["neither", goodOptions, []],
  ])("are made again elsewhere, and that is said once: %s", (_, options, names) => {
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    createAuthServer(options);
    const said = [
      expect.stringContaining(`throw-away ${names.join(" and ")}:`),
      { type: "AuthmountWarning", code: "temporary-values" },
    ];
    expect(emitWarning.mock.calls).toEqual(names.length === 0 ? [] : [said]);
  });

  it("serve a whole journey with what was made", async () => {
    stopClock();
    jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const host = testHost({ secrets: undefined, signingKeys: undefined } as never);
    expect(await obtainTokens(host, { client: "web" })).toMatchObject({ token_type: "bearer" });
  });
});
