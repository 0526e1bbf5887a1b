import { generateKeyPairSync } from "node:crypto";
import { checkResourceServerOptions, resolveResourceApis } from "../../lib/resource-server/options";

const orders = { audience: "https://api.example/orders", scopes: ["orders:read"] };
const baseUrl = "https://host.example/login";
const introspection = { clientId: "api", clientSecret: "secret" };

/** What is said of options; `undefined` when they are right. */
function problemOf(options: object | undefined): string | undefined {
  try {
    checkResourceServerOptions(options as never);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as Error).message;
  }
  return undefined;
}

const fixes = {
  undefined: "Leave the key out, or write a value.",
  scopes: 'List the names of the API\'s scopes: ["read", "write"].',
  issuers: 'List issuer identifiers, such as "https://host/oauth/auth/account/api/orders", or leave it out.',
};

describe("the issuers of an API in the options", () => {
  const below = "https://host.example/login/auth/password/api/orders";
  const elsewhere = "https://other.example/login/auth/password/api/orders";
  const notBelow = "is not below baseUrl, and introspection would send the secret there";

  it.each<[string, object, string | undefined]>([
    [below, {}, undefined],
    [below, { introspection }, undefined],
    [elsewhere, {}, undefined],
    [elsewhere, { introspection }, notBelow],
    ["http://other.example/a", {}, "must be https"],
    // what is wrong with the URL itself is said first
    ["http://other.example/a", { introspection }, "must be https"],
  ])("%s with %j: %s", (issuer, more, problem) => {
    const apis = { orders: { ...orders, issuers: [below, issuer] } };
    expect(problemOf({ baseUrl, apis, ...more })).toBe(
      problem && `createResourceServer: apis.orders.issuers.1 ${problem}. ${fixes.issuers}`,
    );
  });
});

describe('an API apart with profile: "fapi2" (FAPI 2.0 Security Profile §5.3.4)', () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const byKey = { introspection: { clientId: "api", privateKey } };
  const contradiction =
    'contradicts apis.orders.profile, which is "fapi2" (FAPI 2.0 Security Profile §5.3.2)';
  const notByKey = `introspection ${contradiction}. Write { clientId, privateKey }.`;

  it.each<[string, object, object, string | undefined]>([
    ["introspection by a key", {}, byKey, undefined],
    ["an own publicUrl", { dpop: { publicUrl: "https://api.example" } }, byKey, undefined],
    ["no introspection: revocations would not count", {}, {}, notByKey],
    ["introspection by a secret", {}, { introspection }, notByKey],
    [
      "tokens without a key",
      { dpop: { tokens: "optional" } },
      byKey,
      `apis.orders.dpop.tokens ${contradiction}. Leave it out, or write "required".`,
    ],
  ])("%s", (_, api, more, problem) => {
    const apis = { orders: { ...orders, ...api, profile: "fapi2" } };
    expect(problemOf({ baseUrl, apis, ...more })).toBe(problem && `createResourceServer: ${problem}`);
  });

  it("accepts no token without a key", () => {
    const at = { dpop: { publicUrl: "https://api.example" } };
    const apis = {
      orders: { ...orders, profile: "fapi2" },
      stock: { ...orders, ...at, profile: "fapi2" },
      reports: { ...orders, ...at },
    } as const;
    expect(resolveResourceApis({ baseUrl, apis }).map(({ dpop }) => dpop)).toEqual([
      { required: true },
      { required: true, ...at.dpop },
      { required: false, ...at.dpop },
    ]);
  });
});

describe("options that are wrong are named, with what to write instead", () => {
  it.each<[string, object | undefined, string]>([
    ["nothing", undefined, "options must be an object."],
    [
      "a name that no scope has (RFC 6749 §3.3)",
      { baseUrl, apis: { orders: { ...orders, scopes: ["read", 'a"b'] } } },
      `apis.orders.scopes.1 is not a scope name. ${fixes.scopes}`,
    ],
    [
      "two scopes in one text",
      { baseUrl, apis: { orders: { ...orders, scopes: ["a b"] } } },
      `apis.orders.scopes.0 is not a scope name. ${fixes.scopes}`,
    ],
    [
      "default scopes that the API does not have",
      { baseUrl, apis: { orders: { ...orders, defaultScopes: ["orders:read", "orders:raed"] } } },
      'apis.orders.defaultScopes names "orders:raed", which this API does not have. List names from scopes of this API, or leave it out.',
    ],
    [
      "an option that is undefined",
      { baseUrl, apis: { orders }, introspection: undefined },
      `introspection is undefined. ${fixes.undefined}`,
    ],
    [
      "an option of an API that is undefined",
      { baseUrl, apis: { orders: { ...orders, name: undefined } } },
      `apis.orders.name is undefined. ${fixes.undefined}`,
    ],
    [
      "a lag without introspection",
      { baseUrl, apis: { orders }, revocationLagSeconds: 5 },
      "revocationLagSeconds has no effect without introspection: JWTs are valid until they expire. Leave it out, or write introspection.",
    ],
  ])("%s", (_, options, message) => {
    expect(problemOf(options)).toBe(`createResourceServer: ${message}`);
  });

  const notOne =
    "introspection must have one of clientSecret and privateKey. Write { clientId, clientSecret } or { clientId, privateKey } of a confidential client, or leave it out.";
  it.each<[string, object, string | undefined]>([
    ["a key", { privateKey: "PEM" }, undefined],
    ["no secret and no key", {}, notOne],
    ["a secret and a key", { clientSecret: "secret", privateKey: "PEM" }, notOne],
    ["a secret that is undefined", { clientSecret: undefined }, notOne],
    ["a key that is undefined", { privateKey: undefined }, notOne],
    ["a secret beside a key that is undefined", { clientSecret: "secret", privateKey: undefined }, notOne],
  ])("introspection with %s", (_, credentials, message) => {
    const problem = problemOf({
      baseUrl,
      apis: { orders },
      introspection: { clientId: "api", ...credentials },
    });
    expect(problem).toBe(message && `createResourceServer: ${message}`);
  });

  it("a lag with introspection is right", () => {
    expect(problemOf({ baseUrl, apis: { orders }, introspection, revocationLagSeconds: 0 })).toBe(undefined);
  });
});

describe("options of a resource server (RFC 6749 §10)", () => {
  it.each<[string, object]>([
    ["options", Object.create({ baseUrl, apis: { orders } }) as object],
    ["apis", { baseUrl, apis: Object.create({ orders }) as object }],
    ["apis.orders", { baseUrl, apis: { orders: Object.create(orders) as object } }],
    ["introspection", { baseUrl, apis: { orders }, introspection: Object.create(introspection) as object }],
  ])("are refused where they are no plain objects: %s", (path, options) => {
    expect(() => checkResourceServerOptions(options as never)).toThrow(
      `createResourceServer: ${path} must be a plain object`,
    );
  });

  it("stay as they were when the host changes its objects", () => {
    const issuers = ["https://host.example/login/auth/password/api/orders"];
    const given = { baseUrl, apis: { orders: { ...orders, issuers } }, introspection: { ...introspection } };
    const checked = checkResourceServerOptions(given);
    const before = structuredClone(checked);
    issuers.push("https://stranger.example");
    given.introspection.clientSecret = "";
    expect(checked).toStrictEqual(before);
  });

  it.each<[string, object, string]>([
    [
      "introspection that is undefined, which would switch it off",
      { introspection: undefined, baseUrl, apis: { orders } },
      `introspection is undefined. ${fixes.undefined}`,
    ],
    [
      "an option of an API that is undefined",
      { baseUrl, apis: { orders: { ...orders, name: undefined } } },
      `apis.orders.name is undefined. ${fixes.undefined}`,
    ],
    [
      "a misspelt option",
      { introspektion: introspection, baseUrl, apis: { orders } },
      "introspektion is not an option. Known options: baseUrl, apis, introspection, revocationLagSeconds, onEvent.",
    ],
  ])("are refused: %s", (_, options, message) => {
    expect(problemOf(options)).toBe(`createResourceServer: ${message}`);
  });
});

describe("the APIs of checked options", () => {
  it("have the name of their id unless they have another one", () => {
    const issuers = ["https://host.example/login/auth/password/api/files"];
    const files = { audience: "https://files.example", scopes: [], name: "Your files", issuers };
    const apis = resolveResourceApis({ baseUrl, apis: { orders, files } });
    expect(apis).toEqual([
      {
        apiId: "orders",
        name: "orders",
        audience: orders.audience,
        baseUrl,
        scopes: { "orders:read": "orders:read" },
        defaultScopes: [],
        issuers: undefined,
        metadataUrl: "https://api.example/.well-known/oauth-protected-resource/orders",
      },
      {
        apiId: "files",
        name: "Your files",
        audience: files.audience,
        baseUrl,
        scopes: {},
        defaultScopes: [],
        issuers,
        metadataUrl: "https://files.example/.well-known/oauth-protected-resource",
      },
    ]);
  });
});
