import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { createAuthServer, defaultLifetimes, memoryStorage } from "../lib";
import { stopClock } from "./fixture/clock";
import { testHost } from "./fixture/host";
import { obtainTokens } from "./fixture/journey";
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
} from "./fixture/options";

afterEach(() => jest.restoreAllMocks());

const otherJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

function orders(changes: object): object {
  return { apis: { orders: { ...goodApi, ...changes } } };
}

const writeSecret = "Write random text, such as the output of: npx authmount secret.";

const writeKey =
  "Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA of at least 2048 bits; or { key, signsFrom } with signsFrom in epoch seconds.";

const writeAudience = 'Write the API\'s URL, such as "https://api.example.com/orders".';
const writeSentence = "Write the sentence that people read, or a sentence for each language.";
const writeLogo = "Write a data:image/…;base64, URI of at most 24 KB: pages load nothing from the network.";
const writeLanguage = "Write language tags such as en or de-AT.";

const knownOptions =
  "Known options: baseUrl, secrets, signingKeys, storage, authMethods, apis, tokens, consent, rateLimit, pages, lifetimes, revocationLagSeconds, redirectSchemes, insecureLoopbackClients, onEvent.";

const smallLogo = "data:image/png;base64,iVBORw0KGgo";

type Mistake = readonly [mistake: string, changes: object, path: string, fix: string];

const shapes: readonly Mistake[] = [
  ["an unknown option", { secret: marker }, "secret", knownOptions],
  ["no baseUrl", { baseUrl: undefined }, "baseUrl", 'such as "https://host/login".'],
  ["a URL object", { baseUrl: new URL(goodOptions.baseUrl) }, "baseUrl", 'such as "https://host/login".'],
  ["one secret for a list", { secrets: goodSecret }, "secrets", "Write a list of secrets, the newest first."],
  ["no secret in the list", { secrets: [] }, "secrets", "Write a list of secrets, the newest first."],
  ["a secret that is no text", { secrets: [Buffer.from(goodSecret)] }, "secrets.0", writeSecret],
  ["one key for a list", { signingKeys: pem }, "signingKeys", "the active one first."],
  ["no key in the list", { signingKeys: [] }, "signingKeys", "the active one first."],
  ["no storage", { storage: undefined }, "storage", "such as memoryStorage({ clients })."],
  [
    "the function for the storage",
    { storage: memoryStorage },
    "storage",
    "such as memoryStorage({ clients }).",
  ],
  [
    "a storage without clients",
    { storage: { ...emptyStorage, clients: undefined } },
    "storage.clients",
    "Write a ClientStore.",
  ],
  [
    "refresh tokens that do not rotate",
    { storage: { ...emptyStorage, refreshTokens: { ...emptyStorage.refreshTokens, rotate: undefined } } },
    "storage.refreshTokens",
    "Write a RefreshTokenStore.",
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
    "Write an AuthorizationCodeStore.",
  ],
  ["no authentication method", { authMethods: {} }, "authMethods", "{ password: { authenticate } }."],
  ["a list of authentication methods", { authMethods: [] }, "authMethods", "{ password: { authenticate } }."],
  [
    "a function for an authentication method",
    { authMethods: { password: () => undefined } },
    "authMethods.password",
    "Write an AuthMethod: { authenticate(request) { … } }.",
  ],
  ["no API", { apis: {} }, "apis", "{ orders: { audience, authMethods, scopes } }."],
  [
    "null for an API",
    { apis: { orders: null } },
    "apis.orders",
    "Write an object with audience, authMethods and scopes.",
  ],
  [
    "an unknown option of an API",
    orders({ scopse: {} }),
    "apis.orders.scopse",
    "Known options: name, audience, authMethods, scopes, defaultScopes, accessTokenSeconds, accessTokenFormat, redirectUri, scope, unknownScopes, refreshTokenExpiry, clientMetadataDocuments, clientRegistration, lifetimes.",
  ],
  ["an API without audience", orders({ audience: undefined }), "apis.orders.audience", writeAudience],
  ["an API without scopes", orders({ scopes: undefined }), "apis.orders.scopes", '"See your orders" }.'],
  ["a list of scopes", orders({ scopes: ["orders:read"] }), "apis.orders.scopes", '"See your orders" }.'],
  [
    "a scope without its sentence",
    orders({ scopes: { "orders:read": "" } }),
    "apis.orders.scopes.orders:read",
    "Write the sentence that people read, or a sentence for each language.",
  ],
  [
    "a scope without any sentence",
    orders({ scopes: { "orders:read": {} } }),
    "apis.orders.scopes.orders:read",
    writeSentence,
  ],
  [
    "a scope with an empty sentence of a language",
    orders({ scopes: { "orders:read": { en: "See your orders", de: "" } } }),
    "apis.orders.scopes.orders:read.de",
    writeSentence,
  ],
  [
    "a scope with a number for the sentence of a language",
    orders({ scopes: { "orders:read": { en: 5 } } }),
    "apis.orders.scopes.orders:read.en",
    writeSentence,
  ],
  [
    "a scope with a list of sentences",
    orders({ scopes: { "orders:read": ["See your orders"] } }),
    "apis.orders.scopes.orders:read",
    writeSentence,
  ],
  [
    "a scope with null for its sentence",
    orders({ scopes: { "orders:read": null } }),
    "apis.orders.scopes.orders:read",
    writeSentence,
  ],
  ["an API without a name", orders({ name: "" }), "apis.orders.name", "Write the name that people read."],
  [
    "an API without authentication method",
    orders({ authMethods: [] }),
    "apis.orders.authMethods",
    "Write a list of at least one id from authMethods.",
  ],
  [
    "a token that lives no second",
    orders({ accessTokenSeconds: 0 }),
    "apis.orders.accessTokenSeconds",
    "Write whole seconds from 1 to 86400.",
  ],
  [
    "a token that lives for ever",
    orders({ accessTokenSeconds: Number.POSITIVE_INFINITY }),
    "apis.orders.accessTokenSeconds",
    "Write whole seconds from 1 to 86400.",
  ],
  [
    "a lifetime as a text",
    orders({ accessTokenSeconds: "600" }),
    "apis.orders.accessTokenSeconds",
    "Write whole seconds from 1 to 86400.",
  ],
  [
    "another token format",
    orders({ accessTokenFormat: "JWT" }),
    "apis.orders.accessTokenFormat",
    "Write one of: jwt, opaque.",
  ],
  [
    "a redirect rule that is none",
    orders({ redirectUri: true }),
    "apis.orders.redirectUri",
    "Write one of: required, optional.",
  ],
  [
    "a scope rule that is none",
    orders({ scope: "none" }),
    "apis.orders.scope",
    "Write one of: required, optional.",
  ],
  [
    "a function for the consent adapter",
    { consent: () => undefined },
    "consent",
    "Write a ConsentAdapter: { decide(request) { … } }.",
  ],
  [
    "a function for the token adapter",
    { tokens: () => undefined },
    "tokens",
    "Write a TokenAdapter: { decide(request) { … } }.",
  ],
  [
    "an unknown lifetime",
    { lifetimes: { codeSeconds: 60 } },
    "lifetimes.codeSeconds",
    `Known options: ${Object.keys(defaultLifetimes).join(", ")}.`,
  ],
  [
    "a code that lives for more than ten minutes (6749 §4.1.2)",
    { lifetimes: { authorizationCodeSeconds: 601 } },
    "lifetimes.authorizationCodeSeconds",
    "Write whole seconds from 1 to 600.",
  ],
  [
    "half a second",
    { lifetimes: { refreshTokenSeconds: 0.5 } },
    "lifetimes.refreshTokenSeconds",
    "Write whole seconds from 1 to 31536000.",
  ],
  [
    "an interaction that nobody can finish",
    { lifetimes: { interactionSeconds: 29 } },
    "lifetimes.interactionSeconds",
    "Write whole seconds from 30 to 3600.",
  ],
  [
    "a revocation lag without bound",
    { revocationLagSeconds: 301 },
    "revocationLagSeconds",
    "Write whole seconds from 0 to 300.",
  ],
  [
    "an unknown option of pages",
    { pages: { colour: "#123456" } },
    "pages.colour",
    "Known options: name, logo, accentColor, texts, render.",
  ],
  [
    "a function for pages",
    { pages: () => "" },
    "pages",
    "Write an object with any of name, logo, accentColor, texts and render.",
  ],
  [
    "a number for the host's name",
    { pages: { name: 5 } },
    "pages.name",
    "Write the name that people know you by.",
  ],
  ["a logo to request", { pages: { logo: "https://host.example/logo.png" } }, "pages.logo", writeLogo],
  ["a logo that is no picture", { pages: { logo: "data:text/html;base64,AAAA" } }, "pages.logo", writeLogo],
  ["a logo that is not in base64", { pages: { logo: "data:image/svg+xml,<svg/>" } }, "pages.logo", writeLogo],
  [
    "a logo that leaves its attribute",
    { pages: { logo: 'data:image/png;base64,AAAA" onerror="x' } },
    "pages.logo",
    writeLogo,
  ],
  ["a logo with a line feed at its end", { pages: { logo: `${smallLogo}\n` } }, "pages.logo", writeLogo],
  ["a logo of more than 24 KB", { pages: { logo: smallLogo.padEnd(24_577, "A") } }, "pages.logo", writeLogo],
  ...["red", "#fff", "#12345g", "#1234567", "123456", "#123456;}", "#123456\n"].map(
    (accentColor): Mistake => [
      `the accent colour ${JSON.stringify(accentColor)}`,
      { pages: { accentColor } },
      "pages.accentColor",
      "Write #rrggbb.",
    ],
  ),
  [
    "a list of texts",
    { pages: { texts: [] } },
    "pages.texts",
    "Write an object that maps languages (such as de) to texts.",
  ],
  ...["", "german", "de_AT", "de-", "__proto__", 'de" onclick="'].map((language): Mistake => [
    `texts in the language ${JSON.stringify(language)}`,
    { pages: { texts: { [language]: {} } } },
    "pages.texts",
    writeLanguage,
  ]),
  [
    "a text for the texts of a language",
    { pages: { texts: { de: "Hallo" } } },
    "pages.texts.de",
    "Write an object of texts.",
  ],
  [
    "an unknown text",
    { pages: { texts: { de: { title: "Hallo" } } } },
    "pages.texts.de.title",
    "Known options: consentTitle, signedInAs, switchAccount, scopes, uncheckedFrom, unchecked, firstVisit, thisDevice, otherSite, allow, deny, continueTo, aboutClient, privacyPolicy, termsOfService, details, detailsClient, detailsApi, detailsScopes, errorTitle, errorExplanation, errorAdvice, lostTitle, lostExplanation, lostAdvice, answerTitle, answerExplanation, answerAdvice, unreachedTitle, unreachedExplanation, unreachedAdvice, failureTitle, failureExplanation, failureAdvice, errorDetails.",
  ],
  [
    "an empty text",
    { pages: { texts: { de: { allow: "" } } } },
    "pages.texts.de.allow",
    "Write a non-empty text.",
  ],
  [
    "a number for a text",
    { pages: { texts: { de: { allow: 5 } } } },
    "pages.texts.de.allow",
    "Write a non-empty text.",
  ],
  [
    "a text for render",
    { pages: { render: "<h1>Hello</h1>" } },
    "pages.render",
    "Write a function that takes page content and returns HTML.",
  ],
  ["an object for onEvent", { onEvent: {} }, "onEvent", "Write a function that takes an event."],
  [
    "an object for rateLimit",
    { rateLimit: { limit: 10 } },
    "rateLimit",
    "Write a function that takes an attempt.",
  ],
];

const keys: readonly Mistake[] = [
  ["a text that is no key", { signingKeys: [marker] }, "signingKeys.0", writeKey],
  [
    "a broken PEM",
    { signingKeys: [pem.replace("PRIVATE KEY-----\n", `PRIVATE KEY-----\n${marker}`)] },
    "signingKeys.0",
    writeKey,
  ],
  [
    "a JWK without its public half",
    { signingKeys: [{ kty: "EC", crv: "P-256", d: marker }] },
    "signingKeys.0",
    writeKey,
  ],
  [
    "a JWK whose halves do not belong together",
    { signingKeys: [{ ...jwk, d: otherJwk.d }] },
    "signingKeys.0",
    writeKey,
  ],
  ["a public key", { signingKeys: [goodKey, createPublicKey(goodKey)] }, "signingKeys.1", writeKey],
  [
    "a short RSA key",
    { signingKeys: [generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey] },
    "signingKeys.0",
    writeKey,
  ],
  ["an algorithm of another key", { signingKeys: [{ ...jwk, alg: "RS256" }] }, "signingKeys.0", writeKey],
  ["the algorithm HS256", { signingKeys: [{ ...jwk, alg: "HS256" }] }, "signingKeys.0", writeKey],
  ["a kid that is no text", { signingKeys: [{ ...jwk, kid: 7 }] }, "signingKeys.0", writeKey],
  ["nothing where a key should be", { signingKeys: [undefined] }, "signingKeys.0", writeKey],
  [
    "one key twice",
    { signingKeys: [goodKey, pem] },
    "signingKeys",
    "Leave one out, or give each its own kid.",
  ],
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

  it.each([...shapes, ...keys])("refuses %s", (_, changes, path, fix) =>
    expectRefusal(() => createAuthServer(withChanges(changes)), { who: "createAuthServer", path, fix }),
  );

  it.each([undefined, null, "https://host.example", []])("refuses %j instead of options", (options) =>
    expectRefusal(() => createAuthServer(options as never), {
      who: "createAuthServer",
      path: "options",
      fix: "must be object.",
    }),
  );
});

describe("secrets and signingKeys that are left out", () => {
  const { secrets: _secrets, signingKeys: _signingKeys, ...withoutBoth } = goodOptions;

  it.each([
    ["secrets", withoutBoth, "Write a list of secrets, the newest first."],
    ["secrets", { ...withoutBoth, signingKeys: [goodKey] }, "Write a list of secrets, the newest first."],
    [
      "signingKeys",
      { ...withoutBoth, secrets: [goodSecret] },
      "Write a list of private keys, the active one first.",
    ],
  ])("are refused in production: %s", async (path, options, fix) => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    await expectRefusal(() => createAuthServer(options), { who: "createAuthServer", path, fix });
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it("are not missed in production when they are there", () => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    expect(() => createAuthServer(goodOptions)).not.toThrow();
    expect(emitWarning).not.toHaveBeenCalled();
  });

  const consequence =
    "pending requests sealed or tokens signed with them stop working after a restart and in other processes.";

  it.each([
    ["both", withoutBoth, ["secrets", "signingKeys"]],
    ["secrets", { ...withoutBoth, signingKeys: [goodKey] }, ["secrets"]],
    ["signingKeys", { ...withoutBoth, secrets: [goodSecret] }, ["signingKeys"]],
    ["neither", goodOptions, []],
  ])("are made again elsewhere, and that is said once: %s", (_, options, names) => {
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    createAuthServer(options);
    const said = [
      `createAuthServer generated temporary ${names.join(" and ")}: ${consequence}`,
      { type: "AuthmountWarning", code: "AUTHMOUNT_THROW_AWAY" },
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
