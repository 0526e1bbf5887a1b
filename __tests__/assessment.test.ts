/** `auth.assessment()`: every item has a state, each option flips its items, and nothing but the options is looked at. RFC 9700 §2, §4. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { assessmentPage } from "../docs/make-assessment";
import {
  type Assessment,
  type AuthServerOptions,
  createAuthServer,
  digestClientSecret,
  generateClientKey,
  memoryStorage,
} from "../lib";
import { assessmentText, standards } from "../lib/review/assess";
import { redisStorage } from "../lib/redis";
import { goodApi, goodOptions, goodSecret, jwk, marker } from "./records/options";
import { confidentialRecord, publicRecord } from "./records/records";
import { testFile } from "./sources/source-files";

const storageWith = (...clients: readonly object[]): AuthServerOptions["storage"] => ({
  // a copy of a port is not known to be in memory
  ...(Object.fromEntries(
    Object.entries(goodOptions.storage).map(([name, port]) => [name, { ...(port as object) }]),
  ) as unknown as AuthServerOptions["storage"]),
  clients: memoryStorage({ clients: clients as never }).clients,
});

/** As a careful host in production has them. */
const strong: AuthServerOptions = {
  ...goodOptions,
  storage: storageWith(),
  apis: { orders: { ...goodApi, audience: "https://host.example/orders" } },
  onEvent: () => undefined,
};

const orders = (changes: object): object => ({ apis: { orders: { ...strong.apis["orders"], ...changes } } });
const listed = (...clients: readonly object[]): object => ({ storage: storageWith(...clients) });
const app = { ...confidentialRecord(), clientId: "app", subscriptions: {} };
const keyClient = {
  clientId: "app",
  name: "App",
  confidential: true,
  jwks: generateClientKey().jwks,
  redirectUris: ["https://app.example/callback"],
  subscriptions: { orders: { scopes: ["orders:read"], grantTypes: ["authorization_code"] } },
};

function assessed(options: AuthServerOptions): Assessment {
  return createAuthServer({ onEvent: () => undefined, ...options }).assessment();
}

/** `RFC 9700 4.5` → the options that weaken it. */
function weakened(options: AuthServerOptions): Readonly<Record<string, readonly string[]>> {
  const items = assessed(options).items.filter(({ state }) => state === "weakened");
  return Object.fromEntries(
    items.map(({ standard, section, by }) => [`${standard} ${section}`, by.map((one) => one.path)]),
  );
}

/** The items that these changes weaken, in their order. */
function weakenedItems(changes: object): readonly string[] {
  return assessed({ ...strong, ...changes })
    .items.filter(({ state }) => state === "weakened")
    .map(({ standard, section, title }) => `${standard} ${section} ${title}`);
}

function stateOfStrangers(options: AuthServerOptions): unknown {
  return assessed(options).items.find(({ section }) => section === "10.4.7")?.state;
}

describe("every item has a state", () => {
  it.each<[string, AuthServerOptions]>([
    ["a configuration of production", strong],
    ["the defaults of development", { ...goodOptions, storage: memoryStorage({ clients: [] }) }],
  ])("in %s", (_, options) => {
    const { items, summary, editions } = assessed(options);
    expect(items).toHaveLength(standards.flatMap(({ requirements }) => requirements).length);
    for (const { standard, section, title, state, note, by } of items) {
      expect(section).toMatch(/^\d+(?:\.\d+)*$/);
      expect([title, note, editions[standard]].filter((text) => !text)).toEqual([]);
      expect(["met", "weakened", "not-met", "host", "not-applicable"]).toContain(state);
      expect(by.length > 0).toBe(state === "weakened");
    }
    const counted = Object.values(summary).flatMap((states) => Object.values(states));
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(items.length);
  });

  it("and none is weakened in a configuration of production", () => {
    expect(weakened(strong)).toEqual({});
  });

  it("says honestly what is not offered", () => {
    const missing = assessed(strong).items.filter(({ state }) => state === "not-met");
    const sections = missing.map(({ standard, section }) => `${standard} ${section}`);
    expect(sections).toEqual(["ASVS 5.0 10.4.6", "ASVS 5.0 10.7.2"]);
  });

  it("is met by options of the API, where all APIs have them (FAPI 2.0 §5.3.2)", () => {
    const stateOf = (options: AuthServerOptions, title: RegExp): unknown => {
      const item = assessed(options).items.find(
        (one) => one.standard === "FAPI 2.0" && title.test(one.title),
      );
      return [item?.state, item?.note];
    };
    const secure = { ...strong, ...orders({ profile: "fapi2" }) };
    const { items } = assessed(secure);
    const ofFapi = items.filter(({ standard }) => standard === "FAPI 2.0");
    const open = ofFapi.filter(({ state }) => state !== "met");
    expect(open.map(({ title }) => title)).toEqual(["TLS with current versions and ciphers"]);
    const files = { ...goodApi, audience: "https://host.example/files" };
    const both = { ...secure, apis: { ...secure.apis, files } };
    expect(stateOf(both, /are pushed/)).toEqual(["host", expect.stringMatching(/So far at orders\.$/)]);
    expect(stateOf(strong, /are pushed/)).toEqual(["host", expect.not.stringContaining("So far")]);
  });
});

describe("an option flips its items", () => {
  it.each<[string, object, readonly string[]]>([
    [
      "refreshRetrySeconds",
      { lifetimes: { refreshRetrySeconds: 10 } },
      ["RFC 9700 4.14.2", "ASVS 5.0 10.4.5"],
    ],
    [
      "refreshTokenSeconds",
      { lifetimes: { refreshTokenSeconds: 31_536_000 } },
      ["RFC 9700 4.14.2", "OAuth 2.1 4.3.3", "ASVS 5.0 10.4.8"],
    ],
    [
      "authorizationCodeSeconds",
      { lifetimes: { authorizationCodeSeconds: 61 } },
      ["FAPI 2.0 5.3.2", "ASVS 5.0 10.4.3"],
    ],
    ["authorizationCodeSeconds", orders({ lifetimes: { authorizationCodeSeconds: 600 } }), ["RFC 9700 4.5"]],
    ["accessTokenSeconds", orders({ accessTokenSeconds: 86_400 }), ["RFC 9700 4.9", "OAuth 2.1 7.1.3.5"]],
    ["consentSeconds", { lifetimes: { consentSeconds: 315_360_000 } }, ["ASVS 5.0 10.7.1"]],
    [
      "revocationLagSeconds",
      { revocationLagSeconds: 300 },
      ["RFC 9700 4.9", "ASVS 5.0 10.4.2", "ASVS 5.0 10.4.9"],
    ],
    ["redirectSchemes", { redirectSchemes: ["cursor"] }, ["OAuth 2.1 2.3.1", "OAuth 2.1 7.3"]],
    ["redirectUri", orders({ redirectUri: "optional" }), ["FAPI 2.0 5.3.2.2"]],
    [
      "clientRegistration",
      orders({ clientRegistration: { approve() {} } }),
      ["OAuth 2.1 7.3", "FAPI 2.0 5.3.2.1"],
    ],
    [
      "clientMetadataDocuments",
      orders({ clientMetadataDocuments: { accept() {} } }),
      ["OAuth 2.1 7.3", "FAPI 2.0 5.3.2.1"],
    ],
    ["insecureLoopbackClients", { insecureLoopbackClients: true }, ["RFC 9700 2.5", "ASVS 5.0 10.4.16"]],
    ["consent", { consent: { decide: () => ({ kind: "ask" }) } }, ["ASVS 5.0 10.7.1"]],
    ["secrets", { secrets: ["abc".repeat(20)] }, ["RFC 9700 4.7"]],
    ["storage", { storage: goodOptions.storage }, ["RFC 9700 4.5", "OAuth 2.1 4.1.3", "ASVS 5.0 10.4.2"]],
    ["trusted", listed({ ...keyClient, trusted: true }), ["OAuth 2.1 7.3", "ASVS 5.0 10.7.1"]],
    [
      "confidential",
      listed({ ...publicRecord("native"), clientId: "app", subscriptions: {} }),
      ["FAPI 2.0 5.3.2.1", "ASVS 5.0 10.4.16"],
    ],
    ["secretDigests", listed(app), ["FAPI 2.0 5.3.2.1", "ASVS 5.0 10.4.16"]],
    ["subscriptions.orders", listed({ ...keyClient, subscriptions: { orders: {} } }), ["ASVS 5.0 10.4.4"]],
    [
      "allowTokenEndpointAudience",
      listed({ ...keyClient, allowTokenEndpointAudience: true }),
      ["RFC 9700 2.5", "ASVS 5.0 10.4.10"],
    ],
    [
      "redirectUris.0",
      listed({ ...keyClient, redirectUris: ["http://localhost/callback"] }),
      ["RFC 9700 2.6"],
    ],
  ])("%s", (option, changes, sections) => {
    const found = weakened({ ...strong, ...changes });
    expect(Object.keys(found)).toEqual(expect.arrayContaining([...sections]));
    for (const section of sections) expect(found[section]?.join()).toContain(option);
    expect(
      Object.values(found)
        .flat()
        .every((by) => by.includes(option.split(".")[0] ?? "")),
    ).toBe(true);
  });

  it("http on this machine, for what the host must do about TLS (RFC 9700 §2.6)", () => {
    const url = { baseUrl: "http://localhost:3000/login", ...orders({ audience: "http://localhost:3000/" }) };
    expect(weakened({ ...strong, ...url })).toEqual({
      "RFC 9700 2.6": ["baseUrl", "apis.orders.audience"],
      "OAuth 2.1 1.5": ["baseUrl", "apis.orders.audience"],
      "FAPI 2.0 5.2": ["baseUrl", "apis.orders.audience"],
    });
  });

  it("secrets and keys that each start makes", () => {
    const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { secrets: _, signingKeys: __, ...others } = strong;
    expect(weakened(others)).toEqual({ "RFC 9700 4.7": ["secrets"], "OAuth 2.1 7.1.1.1": ["signingKeys"] });
    warned.mockRestore();
  });

  it("a secret that a person chose", async () => {
    const secretDigests = [await digestClientSecret("a secret of a person")];
    const found = weakened({ ...strong, ...listed({ ...app, secretDigests }) });
    expect(found["OAuth 2.1 2.4.1"]).toEqual(['client "app": secretDigests.0']);
  });

  it("a client of several scopes that names none", () => {
    const scopes = { "orders:read": "See your orders", "orders:write": "Order things" };
    const client = { ...keyClient, subscriptions: { orders: { grantTypes: ["authorization_code"] } } };
    const found = weakened({ ...strong, ...orders({ scopes }), ...listed(client) });
    expect(found).toEqual({ "ASVS 5.0 10.4.11": ['client "app": subscriptions.orders'] });
  });

  it("open registration weakens what it can break", () => {
    const common = [
      "RFC 9700 2.5 Clients that can keep a secret prove themselves, best with a key",
      "RFC 9700 2.6 Answers with a code do not travel over http, but for native clients on loopback",
      "OAuth 2.1 7.3 A client cannot pass as another one",
      "FAPI 2.0 5.3.2.1 All clients are confidential",
      "FAPI 2.0 5.3.2.1 Clients authenticate by mutual TLS or private_key_jwt",
      "FAPI 2.0 5.3.2.2 Redirect URIs use https, but for native clients on loopback",
      "ASVS 5.0 10.4.11 A client has only the scopes that it needs",
      "ASVS 5.0 10.4.16 Clients are confidential and prove themselves with a key (level 3)",
    ];
    // only what accept answers can let assertions for another address count
    const byDocument = "ASVS 5.0 10.4.10 A confidential client proves itself at every endpoint that it calls";
    expect(weakenedItems(orders({ clientRegistration: { approve() {} } }))).toEqual(common);
    const withDocuments = weakenedItems(orders({ clientMetadataDocuments: { accept() {} } }));
    expect(withDocuments.toSorted()).toEqual([...common, byDocument].toSorted());
  });

  it("clients with keys that are confined weaken nothing", () => {
    expect(weakened({ ...strong, ...listed(keyClient) })).toEqual({});
  });

  it("items about strangers apply only where they are let in (ASVS 5.0 10.4.7)", () => {
    expect(stateOfStrangers(strong)).toBe("not-applicable");
    const open = { ...strong, ...orders({ clientRegistration: { approve() {} } }) } as AuthServerOptions;
    expect(stateOfStrangers(open)).toBe("met");
    expect(stateOfStrangers({ ...open, insecureLoopbackClients: true })).toBe("weakened");
  });
});

describe("a weak configuration is not said to be met (RFC 9700 §2, §4)", () => {
  const redis = redisStorage({ client: { sendCommand: async () => "OK" }, allowEviction: true });
  const native = { ...publicRecord("native"), clientId: "app", subscriptions: {} };

  it.each<[string, object, readonly string[]]>([
    [
      "Redis may evict used codes and revocations",
      { storage: { ...redis, clients: strong.storage.clients } },
      ["RFC 9700 4.5", "OAuth 2.1 4.1.3", "FAPI 2.0 5.3.2.2", "ASVS 5.0 10.4.9"],
    ],
    [
      "the host says yes for its people",
      { consent: { decide: () => ({ kind: "granted" }) } },
      ["OAuth 2.1 7.3", "ASVS 5.0 10.7.1"],
    ],
    [
      "the secret of docs/testing.md",
      { secrets: ["a secret for tests, of at least 32 characters"] },
      ["RFC 9700 4.7"],
    ],
    ["a secret of a few words", { secrets: ["correct horse battery staple of mine"] }, ["RFC 9700 4.7"]],
    ["a secret to be changed", { secrets: ["ChangeMe-ChangeMe-before-going-live1"] }, ["RFC 9700 4.7"]],
    ["a secret from the keyboard", { secrets: ["0123456789abcdefghijklmnopqrstuvwxyz"] }, ["RFC 9700 4.7"]],
    ["a secret that repeats itself", { secrets: ["kU8w_dQ2xL".repeat(4)] }, ["RFC 9700 4.7"]],
    [
      "an old secret that is a word",
      { secrets: [goodSecret, "MyVerySecretKey!MyVeryOwnKey!2026"] },
      ["RFC 9700 4.7"],
    ],
    ["access tokens for two hours", orders({ accessTokenSeconds: 7_200 }), ["OAuth 2.1 7.1.3.5"]],
    [
      "a revocation that takes a minute",
      { revocationLagSeconds: 60 },
      ["RFC 9700 4.14.2", "OAuth 2.1 4.1.3", "ASVS 5.0 10.4.5"],
    ],
    ["a sign-in that may wait for an hour", { lifetimes: { interactionSeconds: 3_600 } }, ["RFC 9700 4.3"]],
    ["the same for one API", orders({ lifetimes: { interactionSeconds: 3_600 } }), ["RFC 9700 4.3"]],
    [
      "a client with every scope",
      {
        ...orders({ scopes: { read: "See your orders", write: "Order things" } }),
        ...listed({ ...keyClient, subscriptions: { orders: { grantTypes: ["authorization_code"] } } }),
      },
      ["ASVS 5.0 10.4.11"],
    ],
    [
      "end marks in memory",
      { storage: { ...strong.storage, endMarks: goodOptions.storage.endMarks } },
      ["RFC 9700 4.14.2", "OAuth 2.1 4.3.1"],
    ],
    ["a trusted native client", listed({ ...native, trusted: true }), ["OAuth 2.1 7.3", "ASVS 5.0 10.7.1"]],
    [
      "a client trusted at one API",
      listed({
        ...keyClient,
        subscriptions: { orders: { ...keyClient.subscriptions.orders, trusted: true } },
      }),
      ["OAuth 2.1 7.3"],
    ],
    [
      "a web client on 127.0.0.1",
      listed({ ...keyClient, redirectUris: ["http://127.0.0.1:8080/callback"] }),
      ["RFC 9700 2.6", "FAPI 2.0 5.3.2.2"],
    ],
    [
      "a scheme that another app may have",
      { redirectSchemes: ["myapp"], ...listed({ ...native, redirectUris: ["myapp:/callback"] }) },
      ["OAuth 2.1 2.3.1", "OAuth 2.1 7.3"],
    ],
    [
      "refresh tokens that rest for a quarter",
      orders({ lifetimes: { refreshTokenIdleSeconds: 7_776_000 } }),
      ["RFC 9700 4.14.2", "OAuth 2.1 4.3.3"],
    ],
  ])("%s", (_, changes, sections) => {
    expect(Object.keys(weakened({ ...strong, ...changes }))).toEqual(expect.arrayContaining([...sections]));
  });

  it("while random secrets are never taken for chosen ones", () => {
    const secrets = Array.from({ length: 2_000 }, () => randomBytes(32).toString("base64url"));
    expect(weakened({ ...strong, secrets })).toEqual({});
  });
});

describe("the report", () => {
  it("says that clients in a database are not looked at, and looks at none", () => {
    const find = jest.fn();
    const { items } = assessed({
      ...strong,
      storage: { ...strong.storage, clients: { find, isBrowserOrigin: find } },
    });
    const about = items.filter(({ note }) => note.includes("Clients in storage are not looked at."));
    expect(about.map(({ section }) => section)).toEqual(expect.arrayContaining(["2.5", "10.4.16"]));
    expect(find).not.toHaveBeenCalled();
    expect(JSON.stringify(assessed(strong))).not.toContain("Clients in storage");
  });

  it("shows the options as they were at the start, whatever the host does to its objects", () => {
    const lifetimes = { authorizationCodeSeconds: 30 };
    const api = { ...strong.apis["orders"], accessTokenSeconds: 60, lifetimes };
    const options = { ...strong, lifetimes, apis: { orders: api } } as AuthServerOptions;
    const { assessment } = createAuthServer(options);
    const before = JSON.stringify(assessment());
    lifetimes.authorizationCodeSeconds = 600;
    api.accessTokenSeconds = 86_400;
    Object.assign(options, { revocationLagSeconds: 300 });
    expect(JSON.stringify(assessment())).toBe(before);
  });

  it("is plain data, the same each time, and holds no secret and no key", () => {
    const { assessment } = createAuthServer({ ...strong, ...listed(app), signingKeys: [jwk as never] });
    const text = JSON.stringify(assessment());
    expect(JSON.parse(text)).toEqual(assessment());
    for (const value of [marker, jwk.d ?? "", ...app.secretDigests]) expect(text).not.toContain(value);
  });

  it("cannot be changed for the next caller", () => {
    const { assessment } = createAuthServer(strong);
    const before = JSON.stringify(assessment());
    (assessment().items as unknown[]).length = 0;
    expect(JSON.stringify(assessment())).toBe(before);
  });

  it("in words: a line for each standard, and what is weakened", () => {
    const text = assessmentText(assessed({ ...strong, lifetimes: { refreshRetrySeconds: 10 } }));
    for (const { standard } of standards) expect(text).toMatch(new RegExp(`^  ${standard}: \\d+ met`, "m"));
    expect(text).toContain(
      "ends the authorization, and unused ones expire: weakened by lifetimes.refreshRetrySeconds [repeated-refresh-tokens]\n",
    );
  });
});

describe("the table", () => {
  const requirements = standards.flatMap((one) => one.requirements.map((each) => ({ ...one, ...each })));

  it("names tests that exist, and at least one for what is met", () => {
    const named = requirements.flatMap(({ tests = [] }) => tests);
    expect(named.filter((name) => !existsSync(testFile(name)))).toEqual([]);
    const bare = requirements.filter(({ state, tests = [] }) => state === "met" && tests.length === 0);
    expect(bare.map(({ standard, section }) => `${standard} ${section}`)).toEqual([]);
  });

  it("has each item once", () => {
    const keys = requirements.map(({ standard, section, title }) => `${standard} ${section} ${title}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("is what docs/assessment.md prints: npm run docs makes it again", () => {
    const page = readFileSync(path.join(__dirname, "../docs/assessment.md"), "utf8");
    expect(assessmentPage(standards)).toBe(page);
  });
});
