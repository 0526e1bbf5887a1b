/** What the server makes of options: every default, and what follows from the options alone. */
import { isDeepStrictEqual } from "node:util";
import type { ApiOptions, AuthServerOptions } from "../../lib";
import { defaultLifetimes } from "../../lib";
import { isProduction, resolveOptions } from "../../lib/options/resolve";
import { apiRecord } from "../records/records";
import { goodApi, goodOptions, marker, withChanges } from "../records/options";

const now = 1_000;

afterEach(() => jest.restoreAllMocks());

/** The API `orders` as it is resolved. */
function apiOf(changes: Partial<ApiOptions> = {}, ofServer: Partial<AuthServerOptions> = {}): object {
  const options = withChanges({ ...ofServer, apis: { orders: { ...goodApi, ...changes } } });
  const [issuer] = resolveOptions(options, now).issuers;
  return issuer?.api ?? {};
}

const secretsAt = (baseUrl: string): readonly string[] =>
  resolveOptions(withChanges({ baseUrl }), now).secrets;

describe("what is left out", () => {
  it("of an API has these defaults", () => {
    const { scopes, ...others } = apiRecord({
      name: "orders",
      impliedScopes: new Map([["orders:read", []]]),
      defaultScopes: [],
      acrValues: [],
      accessTokenSeconds: 3_600,
    });
    expect(apiOf()).toStrictEqual({ ...others, scopes: { "orders:read": scopes["orders:read"] } });
  });

  it("of the server has these defaults", () => {
    const { baseUrl, storage, authMethods, apis } = goodOptions;
    expect(resolveOptions(goodOptions, now)).toStrictEqual({
      baseUrl,
      storage,
      authMethods,
      apis,
      consent: { decide: expect.any(Function) },
      pages: {},
      issuers: [expect.any(Object)],
      secrets: [expect.any(String)],
      signingKeys: [expect.any(Object)],
      temporary: [],
      revocationLagSeconds: 5,
      lastUses: "refresh",
      redirectSchemes: [],
      algorithms: { idAlgorithms: [], accessAlgorithms: undefined },
      insecureLoopbackClients: false,
    });
  });

  it("asks people about consent", () => {
    expect(resolveOptions(goodOptions, now).consent.decide({} as never)).toEqual({ kind: "ask" });
  });

  it.each([[["secrets"]], [["signingKeys"]], [["secrets", "signingKeys"]]])(
    "is made for this process alone: %j",
    (leftOut) => {
      const changes = Object.fromEntries(leftOut.map((name) => [name, undefined]));
      const [first, second] = [1, 2].map(() => resolveOptions(withChanges(changes), now));
      expect(first?.temporary).toEqual(leftOut);
      const names = ["secrets", "signingKeys"] as const;
      expect(names.filter((name) => !isDeepStrictEqual(first?.[name], second?.[name]))).toEqual(leftOut);
    },
  );
});

describe("what is given", () => {
  it("of an API stays as it is", () => {
    const given = {
      name: "Orders",
      defaultScopes: ["orders:read"],
      accessTokenSeconds: 60,
      accessTokenFormat: "opaque",
      redirectUri: "optional",
      scope: "required",
      unknownScopes: "ignore",
      refreshTokenExpiry: "state",
    } as const;
    expect(apiOf(given)).toMatchObject(given);
  });

  it("of the server stays as it is", () => {
    const given = {
      onEvent: () => undefined,
      tokens: { decide: () => ({ kind: "issue" }) },
      rateLimit: () => undefined,
      consent: { decide: () => ({ kind: "ask" }) },
      pages: { name: "Shop" },
      revocationLagSeconds: 0,
      lastUses: "calls",
      redirectSchemes: ["cursor"],
      insecureLoopbackClients: true,
    };
    expect(resolveOptions(withChanges(given), now)).toMatchObject(given);
  });

  it.each<[object, object]>([
    [{}, { required: false }],
    [{ tokens: "optional" }, { required: false }],
    [
      { tokens: "required", publicUrl: "https://api.example/v1" },
      { required: true, publicUrl: "https://api.example/v1" },
    ],
  ])("as dpop says whether tokens must be bound: %j", (dpop, resolved) => {
    expect(apiOf({ dpop })).toHaveProperty("dpop", resolved);
  });

  it("as lifetimes of an API overrides those of the server, which override the defaults", () => {
    const ofServer = { lifetimes: { refreshTokenSeconds: 5_000, consentSeconds: 6_000 } };
    const ofApi = { lifetimes: { consentSeconds: 7_000, interactionSeconds: 800 } };
    expect(apiOf(ofApi, ofServer)).toMatchObject({
      lifetimes: {
        ...defaultLifetimes,
        refreshTokenSeconds: 5_000,
        consentSeconds: 7_000,
        interactionSeconds: 800,
      },
    });
  });

  const decides = { approve: () => ({ kind: "approved" }), accept: () => ({ kind: "accepted" }) } as never;

  it.each<readonly [string, Partial<ApiOptions>, object]>([
    ["nothing", {}, { documents: false, registrations: false }],
    ["documents", { clientMetadataDocuments: decides }, { documents: true, registrations: false }],
    ["registrations", { clientRegistration: decides }, { documents: false, registrations: true }],
  ])("says by which way strangers come in: %s", (_, changes, selfDescribed) => {
    expect(apiOf(changes)).toHaveProperty("selfDescribed", selfDescribed);
  });

  it("as scopes is a sentence each, with its explanation and what it implies, where there is one", () => {
    const languages = { en: "Do B", de: "B tun" };
    const scopes = {
      a: "Do A",
      b: languages,
      c: { text: "Do C" },
      d: { text: languages, explanation: "It costs.", implies: ["c", "e"] },
      e: { text: "Do E", implies: ["a"] },
    };
    const api = apiOf({ scopes });
    expect(api).toMatchObject({
      scopes: { a: "Do A", b: languages, c: "Do C", d: languages, e: "Do E" },
      impliedScopes: new Map([
        ["a", []],
        ["b", []],
        ["c", []],
        ["d", ["c", "e", "a"]],
        ["e", ["a"]],
      ]),
    });
    expect(Reflect.get(api, "explanations")).toStrictEqual({ d: "It costs." });
  });

  it("as authentication methods and APIs makes an issuer of each valid pair", () => {
    const authMethods = { password: goodOptions.authMethods["password"], otp: { authenticate() {} } };
    const files = { ...goodApi, audience: "https://api.example/files", authMethods: ["otp", "password"] };
    const { issuers } = resolveOptions(withChanges({ authMethods, apis: { orders: goodApi, files } }), now);
    const pairs = issuers.map(({ identifier, authMethodId, api }) => [identifier, authMethodId, api.apiId]);
    expect(pairs).toEqual([
      ["https://host.example/login/auth/password/api/orders", "password", "orders"],
      ["https://host.example/login/auth/otp/api/files", "otp", "files"],
      ["https://host.example/login/auth/password/api/files", "password", "files"],
    ]);
  });

  it("as secrets is bound to baseUrl: another server with the same secrets opens nothing of this one", () => {
    const [here, there] = ["https://host.example/login", "https://host.example/other"].map(secretsAt);
    expect(here).not.toEqual(there);
    expect(here).toEqual(secretsAt("https://host.example/login"));
    expect(JSON.stringify(here)).not.toContain(marker);
  });

  it("as a key that cannot be used is refused", () => {
    expect(() => resolveOptions(withChanges({ signingKeys: ["no key"] }), now)).toThrow(
      expect.objectContaining({ code: "unusable-signing-key" }),
    );
  });
});

describe("production", () => {
  it.each([
    ["production", true],
    ["development", false],
    ["", false],
    [undefined, false],
  ])("is where NODE_ENV says so: %s", (value, expected) => {
    const env = { ...process.env, NODE_ENV: value };
    jest.replaceProperty(process, "env", env);
    expect(isProduction()).toBe(expected);
  });
});
