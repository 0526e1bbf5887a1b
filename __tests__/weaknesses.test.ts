/** What is weak about options that are accepted, and that everything which is refused is found at once. RFC 6819 §5, 9700 §2. */
import {
  type AuthServerOptions,
  createAuthServer,
  defaultLifetimes,
  digestClientSecret,
  memoryStorage,
} from "../lib";
import { refusals } from "../lib/options/problems";
import { weaknessesOf } from "../lib/options/weaknesses";
import { goodApi, goodOptions, jwk, marker } from "./fixture/options";
import { confidentialRecord, publicRecord } from "./fixture/records";

/** The good options with storage that is not in memory, at one origin, with a listener. */
const strong: AuthServerOptions = {
  ...goodOptions,
  storage: Object.fromEntries(
    Object.entries(goodOptions.storage).map(([name, port]) => [name, { ...(port as object) }]),
  ) as unknown as AuthServerOptions["storage"],
  apis: { orders: { ...goodApi, audience: "https://host.example/orders" } },
  onEvent: () => undefined,
};

const orders = (changes: object): object => ({ apis: { orders: { ...strong.apis["orders"], ...changes } } });
const listed = (...clients: readonly object[]): object => ({
  storage: { ...strong.storage, clients: memoryStorage({ clients: clients as never }).clients },
});
const withUri = (uri: string, record: object = confidentialRecord()): object =>
  listed({ ...record, clientId: "app", subscriptions: {}, redirectUris: [uri] });
const without = (name: keyof AuthServerOptions): AuthServerOptions => {
  const { [name]: __, ...others } = strong;
  return others as AuthServerOptions;
};

function found(options: AuthServerOptions): readonly string[] {
  return weaknessesOf(options).map(({ level, path }) => `${level} ${path}`);
}

describe("what is weak", () => {
  it("nothing, of strong options", () => {
    expect(found(strong)).toEqual([]);
  });

  it("no default lifetime", () => {
    expect(found({ ...strong, lifetimes: defaultLifetimes })).toEqual([]);
  });

  it.each([
    ["weak secrets", without("secrets")],
    ["weak signingKeys", without("signingKeys")],
    ["note onEvent", without("onEvent")],
  ] as const)("a missing option: %s", (weakness, options) => {
    expect(found(options)).toEqual([weakness]);
  });

  it.each([
    ["weak secrets.1", { secrets: [...(strong.secrets ?? []), "abc".repeat(20)] }],
    ["weak storage", { storage: goodOptions.storage }],
    ["weak storage.endMarks", { storage: { ...strong.storage, endMarks: goodOptions.storage.endMarks } }],
    ["weak revocationLagSeconds", { revocationLagSeconds: 31 }],
    ["weak apis.orders.accessTokenSeconds", orders({ accessTokenSeconds: 14_401 })],
    ["weak lifetimes.authorizationCodeSeconds", { lifetimes: { authorizationCodeSeconds: 600 } }],
    ["weak lifetimes.interactionSeconds", { lifetimes: { interactionSeconds: 3_600 } }],
    ["weak lifetimes.refreshTokenSeconds", { lifetimes: { refreshTokenSeconds: 31_536_000 } }],
    ["weak lifetimes.consentSeconds", { lifetimes: { consentSeconds: 315_360_000 } }],
    [
      "weak apis.orders.lifetimes.refreshTokenIdleSeconds",
      orders({ lifetimes: { refreshTokenIdleSeconds: 7_000_000 } }),
    ],
    ["note lifetimes.refreshRetrySeconds", { lifetimes: { refreshRetrySeconds: 10 } }],
    ["weak insecureLoopbackClients", { insecureLoopbackClients: true }],
    ["note redirectSchemes", { redirectSchemes: ["cursor"] }],
    ["note apis.orders.unknownScopes", orders({ unknownScopes: "ignore" })],
    ["note apis.orders.redirectUri", orders({ redirectUri: "optional" })],
    ["note apis.orders.audience", orders({ audience: "https://api.example/orders" })],
    ["note apis.orders.clientRegistration", orders({ clientRegistration: { approve() {} } })],
    ["note apis.orders.clientMetadataDocuments", orders({ clientMetadataDocuments: { accept() {} } })],
    ['weak client "app": redirectUris.0', withUri("http://localhost:4000/callback")],
    ['note client "app": redirectUris.0', withUri("http://localhost/callback", publicRecord("native"))],
  ])("%s", (weakness, changes) => {
    const options = { ...strong, ...changes } as AuthServerOptions;
    expect(refusals(options, 1_800_000_000)).toEqual([]);
    expect(found(options)).toEqual([weakness]);
  });

  it("a scheme without a dot, of a client and of the server", () => {
    const options = {
      ...strong,
      ...withUri("cursor:/callback", publicRecord("native")),
      redirectSchemes: ["cursor"],
    };
    expect(found(options)).toEqual(['weak client "app": redirectUris.0', "note redirectSchemes"]);
  });

  it("trusted clients, misspelt subscriptions, and secrets that a person chose", async () => {
    const client = {
      ...confidentialRecord(),
      clientId: "app",
      trusted: true,
      secretDigests: [await digestClientSecret("a secret of a person")],
      subscriptions: { orders: { scopes: ["orders:raed"], trusted: true }, odrers: {} },
    };
    expect(found({ ...strong, ...listed(client) })).toEqual([
      'weak client "app": subscriptions.orders.scopes',
      'weak client "app": subscriptions.odrers',
      'note client "app": trusted',
      'note client "app": subscriptions.orders.trusted',
      'note client "app": secretDigests.0',
    ]);
  });

  it("http on this machine", () => {
    const options = {
      ...strong,
      baseUrl: "http://localhost:3000/login",
      ...orders({ audience: "http://localhost:3000/" }),
    };
    expect(found(options)).toEqual(["weak baseUrl", "weak apis.orders.audience"]);
  });

  it("each says what is so, why it matters and what to write, and quotes no secret", () => {
    const options = { ...without("signingKeys"), secrets: ["ab".repeat(20)], storage: goodOptions.storage };
    const weaknesses = weaknessesOf(options);
    expect(weaknesses).toHaveLength(3);
    for (const { problem, why, fix } of weaknesses) {
      expect(problem).toMatch(/^(?:is|has) [^.]+$/);
      expect([why, fix]).toEqual([
        expect.stringMatching(/^[A-Z].*\.$/),
        expect.stringMatching(/^[A-Z].*\.$/),
      ]);
    }
    expect(JSON.stringify(weaknesses)).not.toContain("abab");
  });
});

/** What createAuthServer throws. */
function messageOf(options: AuthServerOptions): string {
  try {
    createAuthServer({ ...options, onEvent: () => undefined });
  } catch (error) {
    return (error as Error).message.replace("createAuthServer: ", "");
  }
  return "";
}

describe("what is refused", () => {
  beforeEach(() => void jest.spyOn(process, "emitWarning").mockImplementation(() => undefined));
  afterEach(() => jest.restoreAllMocks());

  it.each([
    { typo: 1 },
    { baseUrl: "https://host.example/login/" },
    { secrets: ["short"] },
    { secrets: "one secret" },
    { signingKeys: ["no key"] },
    { signingKeys: [{ ...jwk, d: undefined }] },
    { signingKeys: [jwk, jwk] },
    { signingKeys: [{ key: jwk, signsFrom: 9_999_999_999 }] },
    { apis: {} },
    { apis: { orders: { ...goodApi, authMethods: ["none"] } } },
    { apis: { orders: { ...goodApi, scopes: { read: { text: "" } } } } },
    { apis: undefined },
    { lifetimes: { consentSeconds: undefined } },
    { pages: { texts: { de: { unknown: "x" } } } },
    { storage: {} },
  ])("the first one is what createAuthServer throws: %j", (changes) => {
    const options = { ...goodOptions, ...changes } as unknown as AuthServerOptions;
    const all = refusals(options, 1_800_000_000);
    expect(all[0]?.message).toBe(messageOf(options));
    expect(all[0]?.message).not.toBe("");
    expect(JSON.stringify(all)).not.toContain(marker);
  });

  it.each([undefined, null, 42, "text", [], () => undefined])("options that are none: %p", (options) => {
    expect(refusals(options as never, 1_800_000_000).length).toBeGreaterThan(0);
  });
});
