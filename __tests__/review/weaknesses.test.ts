/** What is weak about options that are accepted, by the ids of the rules. RFC 6819 §5, 8252 §7, §8; 9700 §2. */
import type { AuthServerOptions, Client, ConfidentialClient, KeyClient } from "../../lib";
import { defaultLifetimes, digestClientSecret, memoryStorage } from "../../lib";
import { refusals } from "../../lib/options/refused-options";
import { rules, spotsOf, weaknessesOf, type WeaknessCode } from "../../lib/review/weaknesses";
import { withRisks } from "../../lib/storage/risks";
import { confidentialRecord, publicRecord } from "../records/records";
import {
  emptyStorage,
  goodApi,
  strongOptions,
  strongWith,
  strongWithApi,
  strongWithClients,
} from "../records/options";

const { secrets = [], storage, apis } = strongOptions;
const { parkedRequests: _parked, ...neededStorage } = emptyStorage;

const { secretDigests: _secretDigests, ...unproved } = confidentialRecord();
const keyClient = (changes: Partial<KeyClient> = {}): Client => ({
  ...unproved,
  jwks: { keys: [] },
  ...changes,
});
const nativeAt = (uri: string): AuthServerOptions => ({
  ...strongWithClients(publicRecord("native", { redirectUris: [uri] })),
  redirectSchemes: ["cursor"],
});
const browserAt = (uri: string): AuthServerOptions =>
  strongWithClients(publicRecord("browser", { redirectUris: [uri] }));
const webAt = (...redirectUris: readonly string[]): AuthServerOptions =>
  strongWithClients(confidentialRecord({ redirectUris }));

const files = { ...goodApi, audience: "https://host.example/files", scopes: { a: "Do A", b: "Do B" } };
const subscribed = (subscriptions: Client["subscriptions"]): AuthServerOptions => ({
  ...strongWithClients(confidentialRecord({ subscriptions })),
  apis: { ...apis, files },
});
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
/** Options with a table by which each token of orders becomes these scopes. */
const exchangingFor = (scopes: readonly string[]): AuthServerOptions => ({
  ...subscribed({ files: { grantTypes: [exchangeGrant] } }),
  apis: {
    ...apis,
    files: {
      ...files,
      tokenExchange: { orders: { clients: ["web"], scopes: { "orders:read": scopes } } },
    },
  },
});
const withSecret = (secret: string): AuthServerOptions => strongWith({ secrets: [...secrets, secret] });
const stored = (changes: object): AuthServerOptions => strongWith({ storage: { ...storage, ...changes } });
const withLifetimes = (lifetimes: object, ofApi: object): AuthServerOptions => ({
  ...strongWithApi({ lifetimes: ofApi }),
  lifetimes,
});
const clientMetadataDocuments = { accept() {} };
const consent = { decide: () => ({ kind: "ask" }) };

/** The paths at which the rule finds something. */
function pathsOf(code: WeaknessCode, options: AuthServerOptions): readonly string[] {
  return spotsOf(options).flatMap((spot) => (spot.code === code ? [spot.path] : []));
}

type Row = readonly [options: AuthServerOptions, ...paths: readonly string[]];

/** Options just above a limit, for all APIs and for one, and at it. */
function limited(name: string, most: number): readonly Row[] {
  const path = `lifetimes.${name}`;
  const [at, above] = [{ [name]: most }, { [name]: most + 1 }];
  return [
    [strongWith({ lifetimes: at })],
    [strongWith({ lifetimes: above }), path],
    [strongWithApi({ lifetimes: at })],
    [strongWithApi({ lifetimes: above }), `apis.orders.${path}`],
  ];
}

const [random = ""] = confidentialRecord().secretDigests ?? [];
const twoDigests = [random, random];
const codes = "authorizationCodeSeconds";

/** Each rule with options of which it finds these paths, or nothing. */
const rows: Readonly<Record<WeaknessCode, readonly Row[]>> = {
  "temporary-secrets": [[strongWith({ secrets: undefined }), "secrets"]],
  "temporary-signing-keys": [[strongWith({ signingKeys: undefined }), "signingKeys"]],
  "guessable-secret": [
    [withSecret("abcdefg".repeat(5)), "secrets.1"],
    [withSecret("correct horse battery staple of mine"), "secrets.1"],
    [withSecret("kU8w_dQ2xL".repeat(4)), "secrets.1"],
    [withSecret("aDgf7b_c".repeat(3) + "gDcab_f7")],
  ],
  "storage-in-memory": [
    [strongWith({ storage: emptyStorage }), "storage"],
    [strongWith({ storage: neededStorage }), "storage"],
    [stored({ endMarks: emptyStorage.endMarks }), "storage.endMarks"],
    [
      stored({ endMarks: emptyStorage.endMarks, consents: emptyStorage.consents }),
      "storage.consents, storage.endMarks",
    ],
  ],
  // tests of the adapters find it in databases
  "storage-may-lose-records": [[strongOptions]],
  "http-url": [
    [
      { ...strongWithApi({ audience: "http://localhost:3000/" }), baseUrl: "http://localhost:3000/login" },
      "baseUrl",
      "apis.orders.audience",
    ],
  ],
  "slow-revocation": [
    [strongWith({ revocationLagSeconds: 30 })],
    [strongWith({ revocationLagSeconds: 31 }), "revocationLagSeconds"],
  ],
  "long-authorization-codes": limited(codes, 120),
  "long-interactions": limited("interactionSeconds", 1_800),
  "long-unused-refresh-tokens": limited("refreshTokenIdleSeconds", 5_184_000),
  "long-refresh-tokens": limited("refreshTokenSeconds", 15_552_000),
  "long-consents": limited("consentSeconds", 63_072_000),
  "long-access-tokens": [
    [strongWithApi({ accessTokenSeconds: 14_400 })],
    [strongWithApi({ accessTokenSeconds: 14_401 }), "apis.orders.accessTokenSeconds"],
  ],
  "repeated-refresh-tokens": limited("refreshRetrySeconds", 0),
  "loopback-fetches": [[strongWith({ insecureLoopbackClients: true }), "insecureLoopbackClients"]],
  "trusted-client": [
    [
      strongWithClients(
        confidentialRecord({ trusted: true }),
        publicRecord("browser", { subscriptions: { orders: { trusted: true } } }),
      ),
      'client "web": trusted',
      'client "spa": subscriptions.orders.trusted',
    ],
    [
      strongWithClients(
        confidentialRecord({ trusted: false, subscriptions: { orders: { trusted: false } } }),
      ),
    ],
  ],
  "http-redirect-uri": [
    [webAt("http://localhost"), 'client "web": redirectUris.0'],
    [webAt("http://localhost:4000/callback"), 'client "web": redirectUris.0'],
    [webAt("http://localhost?a=b"), 'client "web": redirectUris.0'],
    [webAt("http://[::1]:4000/callback"), 'client "web": redirectUris.0'],
    [browserAt("http://localhost/callback"), 'client "spa": redirectUris.0'],
    [
      webAt("https://web.example/", "http://localhost/", "http://127.0.0.1/"),
      'client "web": redirectUris.1',
      'client "web": redirectUris.2',
    ],
    [nativeAt("http://127.0.0.1/callback")],
    [webAt("https://web.example/http://localhost/")],
  ],
  "localhost-redirect-uri": [
    [nativeAt("http://localhost/callback"), 'client "phone": redirectUris.0'],
    [nativeAt("http://127.0.0.1/callback")],
    [webAt("http://localhost/callback")],
  ],
  "dotless-redirect-uri": [
    [nativeAt("cursor:/callback"), 'client "phone": redirectUris.0'],
    [nativeAt("cursor:/callback?from=https://app.example"), 'client "phone": redirectUris.0'],
    [nativeAt("com.example:/callback")],
    [nativeAt("http://127.0.0.1/callback")],
  ],
  "subscription-to-unknown-api": [
    [subscribed({ odrers: {} }), 'client "web": subscriptions.odrers'],
    [subscribed({ constructor: {} }), 'client "web": subscriptions.constructor'],
    [subscribed({ orders: {}, files: {} })],
  ],
  "subscription-to-unknown-scope": [
    [subscribed({ orders: {}, files: { scopes: ["a", "c"] } }), 'client "web": subscriptions.files.scopes'],
    [subscribed({ files: { scopes: ["constructor"] } }), 'client "web": subscriptions.files.scopes'],
    [subscribed({ odrers: { scopes: ["a"] } })],
    [subscribed({ files: { scopes: ["a", "b"] } })],
  ],
  "flag-without-option": [
    [strongWithClients(confidentialRecord({ dpopBound: true })), 'client "web": dpopBound'],
    [strongWithClients(confidentialRecord({ dpopBound: false }))],
    [
      {
        ...strongWithApi({ dpop: {} }),
        storage: strongWithClients(confidentialRecord({ dpopBound: true })).storage,
      },
    ],
  ],
  "chosen-client-secret": [[strongWithClients(confidentialRecord())], [strongWithClients(keyClient())]],
  "old-secret-without-end": [
    [strongWithClients(confidentialRecord({ secretDigests: twoDigests })), 'client "web": secretDigests'],
    [strongWithClients(confidentialRecord({ secretDigests: twoDigests, oldSecretUntil: 5 }))],
    [strongWithClients(confidentialRecord())],
    [strongWithClients(keyClient())],
  ],
  "token-endpoint-audience": [
    [
      strongWithClients(keyClient({ allowTokenEndpointAudience: true })),
      'client "web": allowTokenEndpointAudience',
    ],
    [strongWithClients(keyClient())],
  ],
  "option-of-a-newer-version": [
    [strongWithApi({ dpop: {} }), "apis.orders.dpop"],
    [strongWithApi({ pushedRequests: "required" }), "apis.orders.pushedRequests"],
    [strongWithApi({ pushedRequests: "optional" })],
    [strongWithApi({ profile: "fapi2" }), "apis.orders.profile"],
    [exchangingFor(["a"]), "apis.files.tokenExchange"],
  ],
  "exchange-for-all-scopes": [
    [exchangingFor(["a", "b"]), "apis.files.tokenExchange.orders"],
    [exchangingFor(["a"])],
  ],
  "unregistered-clients": [
    [strongWithApi({ clientRegistration: { approve() {} } }), "apis.orders.clientRegistration"],
    [strongWithApi({ clientMetadataDocuments }), "apis.orders.clientMetadataDocuments"],
  ],
  "devices-without-rate-limit": [
    [strongWithApi({ deviceAuthorization: true }), "apis.orders.deviceAuthorization"],
    [{ ...strongWithApi({ deviceAuthorization: true }), rateLimit: () => ({ kind: "allowed" }) }],
  ],
  "refresh-retry-off": [
    [strongWithApi({ clientRegistration: { approve() {} } }), "apis.orders.lifetimes.refreshRetrySeconds"],
    [strongWithApi({ clientMetadataDocuments }), "apis.orders.lifetimes.refreshRetrySeconds"],
    [strongWithApi({ clientMetadataDocuments, lifetimes: { refreshRetrySeconds: 1 } })],
    [
      {
        ...strongWithApi({ clientMetadataDocuments, lifetimes: { refreshRetrySeconds: 0 } }),
        lifetimes: { refreshRetrySeconds: 30 },
      },
      "apis.orders.lifetimes.refreshRetrySeconds",
    ],
    [{ ...strongWithApi({ clientMetadataDocuments }), lifetimes: { refreshRetrySeconds: 30 } }],
    [strongWithApi({ lifetimes: { refreshRetrySeconds: 0 } })],
  ],
  "ignored-scopes": [
    [strongWithApi({ unknownScopes: "ignore" }), "apis.orders.unknownScopes"],
    [strongWithApi({ unknownScopes: "refuse" })],
  ],
  "optional-redirect-uri": [
    [strongWithApi({ redirectUri: "optional" }), "apis.orders.redirectUri"],
    [strongWithApi({ redirectUri: "required" })],
  ],
  "dotless-redirect-schemes": [
    [strongWith({ redirectSchemes: ["cursor"] }), "redirectSchemes"],
    [strongWith({ redirectSchemes: [] })],
  ],
  "audience-at-other-origin": [
    [strongWithApi({ audience: "https://api.example/orders" }), "apis.orders.audience"],
  ],
  "no-event-handler": [[strongWith({ onEvent: undefined }), "onEvent"]],
  "authorization-codes-over-a-minute": [
    ...limited(codes, 60),
    [withLifetimes({ [codes]: 61 }, { refreshRetrySeconds: 0 }), `lifetimes.${codes}`],
    [withLifetimes({ [codes]: 30 }, { [codes]: 120 }), `apis.orders.lifetimes.${codes}`],
    [withLifetimes({ [codes]: 61 }, { [codes]: 60 })],
    [{ ...subscribed({}), lifetimes: { [codes]: 61 } }, `lifetimes.${codes}`],
  ],
  "access-tokens-over-an-hour": [
    [strongWithApi({ accessTokenSeconds: 3_600 })],
    [strongWithApi({ accessTokenSeconds: 3_601 }), "apis.orders.accessTokenSeconds"],
  ],
  "token-endpoint-audience-of-strangers": [
    [strongWithApi({ clientMetadataDocuments }), "apis.orders.clientMetadataDocuments"],
    [strongWithApi({ clientRegistration: { approve() {} } })],
  ],
  "consent-by-host": [[strongWith({ consent }), "consent"]],
  "public-client": [
    [strongWithClients(publicRecord("native")), 'client "phone": confidential'],
    [strongWithClients(confidentialRecord())],
  ],
  "client-secret": [
    [strongWithClients(confidentialRecord()), 'client "web": secretDigests'],
    [strongWithClients(keyClient(), publicRecord("native"))],
  ],
  "client-with-all-grants": [
    [subscribed({ orders: {} }), 'client "web": subscriptions.orders'],
    [subscribed({ orders: { grantTypes: ["authorization_code"] } })],
    [strongWithClients(publicRecord("native"))],
  ],
  "client-with-all-scopes": [
    [subscribed({ files: {} }), 'client "web": subscriptions.files'],
    [subscribed({ files: { scopes: ["a"] } })],
    [subscribed({ orders: {} })],
    [subscribed({ odrers: {}, constructor: {} })],
  ],
};

describe.each(Object.entries(rows))("%s", (code, cases) => {
  it.each(cases.map(([options, ...paths]) => [paths, options] as const))(
    "is found at %j",
    (paths, options) => {
      expect(refusals(options, 1_800_000_000)).toEqual([]);
      expect(pathsOf(code as WeaknessCode, options)).toEqual(paths);
    },
  );

  it("is found in no strong options", () => {
    expect(pathsOf(code as WeaknessCode, strongWith({ lifetimes: defaultLifetimes }))).toEqual([]);
  });
});

describe("what is weak", () => {
  it("is told with its id, why it is weak and what to write", () => {
    const { find: _, ...texts } = rules["slow-revocation"];
    expect(weaknessesOf(strongWith({ revocationLagSeconds: 31 }))).toEqual([
      { code: "slow-revocation", path: "revocationLagSeconds", ...texts },
    ]);
  });

  it("has sentences for texts: a problem that goes on after its path, why, and what to write", () => {
    for (const rule of Object.values(rules)) {
      expect(rule.problem).toMatch(/^[a-z].*[^.]$/);
      if ("level" in rule) for (const text of [rule.why, rule.fix]) expect(text).toMatch(/^[A-Z].*\.$/);
    }
  });

  it("is a database that may lose what it has acknowledged: each risk once, whatever else the storage has", () => {
    const ports = Object.entries(storage).map(([name, port]) => [name, { ...(port as object) }] as const);
    const more = { close: () => undefined, pool: null, schema: undefined, name: "main" };
    const risks = ["fsync", "full_page_writes"].map((name) => ({
      code: `${name}-off`,
      problem: `${name} is off`,
      fix: `Set ${name} = on.`,
    }));
    const atRisk = withRisks({ ...Object.fromEntries(ports), ...more }, () => risks);
    expect(weaknessesOf(strongWith({ storage: atRisk }))).toMatchObject([
      {
        code: "storage-may-lose-records",
        path: "storage",
        problem: "may lose what it has acknowledged: fsync is off, full_page_writes is off",
        fix: "Set fsync = on. Set full_page_writes = on.",
      },
    ]);
    for (const [name, port] of ports)
      expect(Object.keys(port)).toEqual(Object.keys(Reflect.get(storage, name) as object));
  });

  it("is a secret of a client that a person may have chosen, by its place", async () => {
    const chosen = await digestClientSecret("words of a person");
    const secretDigests = [random, chosen] as ConfidentialClient["secretDigests"];
    const options = strongWithClients(confidentialRecord({ secretDigests }));
    expect(pathsOf("chosen-client-secret", options)).toEqual(['client "web": secretDigests.1']);
  });

  it("is nothing that only a standard asks for, and no client that is not known from the start", () => {
    const { clients } = memoryStorage({ clients: [confidentialRecord({ trusted: true })] });
    expect(weaknessesOf(stored({ clients: { ...clients, records: undefined } }))).toEqual([]);
    expect(weaknessesOf(strongWith({ consent }))).toEqual([]);
  });

  it("comes before what is only worth knowing, whatever it is about", () => {
    const client = publicRecord("native", { subscriptions: {}, redirectUris: ["cursor:/callback"] });
    const trusted = confidentialRecord({ trusted: true });
    const options = { ...strongWithClients(trusted, client), redirectSchemes: ["cursor"] };
    expect(weaknessesOf(options).map(({ level, code }) => `${level} ${code}`)).toEqual([
      "weak dotless-redirect-uri",
      "note trusted-client",
      "note dotless-redirect-schemes",
    ]);
  });

  it("is said without any secret", () => {
    const options = strongWith({ secrets: ["ab".repeat(20)], signingKeys: undefined, storage: emptyStorage });
    expect(weaknessesOf(options)).toHaveLength(3);
    expect(JSON.stringify(weaknessesOf(options))).not.toContain("abab");
  });
});
