/** What a test asks for a token, checked without storage. RFC 6749 §3.3, 9068 §2.2. */
import { list, namedScopes, readTokenRequest, type TestTokenRequest } from "../../lib/testing/token-request";
import { now } from "../host/asked";
import { issuerRecord } from "../records/records";

const password = issuerRecord();
const otp = issuerRecord({}, "otp");
const files = issuerRecord({ apiId: "files", scopes: {} });
const issuers = [password, otp, files];
const own = { api: "orders", client: "web" };
const alice = { ...own, subject: "alice" };

function read(given: object, known = issuers) {
  return readTokenRequest(given as TestTokenRequest, { by: "mint", issuers: known, now });
}

const nothing = {
  issuer: password,
  clientId: "web",
  subject: undefined,
  scopes: [],
  facts: {},
  context: undefined,
  claims: undefined,
  seconds: undefined,
  by: "mint",
};

const person = (name: string) =>
  `${name} is about an end user, and there is no subject. Write the subject, or leave it out.`;

describe("what a test asks for", () => {
  it("is little, when little is written", () => {
    expect(read(own)).toStrictEqual(nothing);
    expect(read(alice)).toStrictEqual({ ...nothing, subject: "alice" });
  });

  it.each<[string, object, object]>([
    ["an authentication method", { authMethod: "otp" }, { issuer: otp }],
    ["an API", { api: "files" }, { issuer: files }],
    ["scopes as a text", { scope: "orders:write orders:read" }, { scopes: ["orders:write", "orders:read"] }],
    [
      "scopes as a list",
      { scope: ["orders:read", "orders:write"] },
      { scopes: ["orders:read", "orders:write"] },
    ],
    ["when the person signed in", { authTime: 900 }, { facts: { authTime: 900 } }],
    ["how the person signed in", { amr: ["pwd", "otp"] }, { facts: { amr: ["pwd", "otp"] } }],
    ["how well the person signed in", { acr: "gold" }, { facts: { acr: "gold" } }],
    [
      "a context",
      { context: { key: "acme", data: { seats: 4 } } },
      { context: { key: "acme", data: { seats: 4 } } },
    ],
    ["claims", { claims: { org: "acme" } }, { claims: { org: "acme" } }],
    ["no claims", { claims: {} }, { claims: {} }],
    ["the shortest life", { seconds: 1 }, { seconds: 1 }],
    ["the longest life", { seconds: 600 }, { seconds: 600 }],
  ])("is what is written: %s", (_, given, expected) => {
    expect(read({ ...alice, ...given })).toStrictEqual({ ...nothing, subject: "alice", ...expected });
  });

  it("is a copy: what the test changes later does not count", () => {
    const given = { amr: ["pwd"], claims: { org: "acme" }, context: { key: "acme", data: { seats: 4 } } };
    const { facts, claims, context } = read({ ...alice, ...given });
    given.amr.push("otp");
    given.claims.org = "other";
    given.context.data.seats = 5;
    expect([facts, claims, context]).toEqual([
      { amr: ["pwd"] },
      { org: "acme" },
      { key: "acme", data: { seats: 4 } },
    ]);
  });

  const ofOrders =
    'scope must name scopes of the API "orders": orders:read, orders:write. Leave it out for a token without scopes.';
  const seconds = "seconds must be whole seconds from 1 to 600, the lifetime of the API.";
  it.each<[string, object, string]>([
    ["another API", { ...alice, api: "ordres" }, "api is not an id in apis. Write one of: orders, files."],
    [
      "another authentication method",
      { ...alice, authMethod: "sso" },
      'authMethod is not one of the API "orders". Write one of: password, otp.',
    ],
    ["no client", { api: "orders" }, "client must be the id of a client of storage.clients."],
    ["no text as scope", { ...alice, scope: 7 }, ofOrders],
    ["a malformed scope", { ...alice, scope: " orders:read" }, ofOrders],
    [
      "another scope",
      { ...alice, scope: "orders:read orders:raed" },
      'the API "orders" has no scope "orders:raed". Write some of: orders:read, orders:write.',
    ],
    [
      "a scope that every object has",
      { ...alice, api: "files", scope: "constructor" },
      'the API "files" has no scope "constructor". Write some of: none.',
    ],
    ["a context without a person", { ...own, context: { key: "acme" } }, person("context")],
    ["an authTime without a person", { ...own, authTime: 1 }, person("authTime")],
    ["an acr without a person", { ...own, acr: "gold" }, person("acr")],
    ["an amr without a person", { ...own, amr: ["pwd"] }, person("amr")],
    ["an empty subject", { ...own, subject: "" }, "subject must be a string of 1 to 255 characters."],
    [
      "a context that is a text",
      { ...alice, context: "acme" },
      "context must be { key } or { key, data }, as JSON.",
    ],
    [
      "a time to come",
      { ...alice, authTime: now * 1000 },
      "authTime must not be in the future; it is in seconds, not milliseconds.",
    ],
    [
      "claims that are no JSON",
      { ...alice, claims: { a: NaN } },
      "claims must be a plain object of JSON values.",
    ],
    [
      "claims of OAuth",
      { ...alice, claims: { sub: "bob" } },
      "claims names a claim that only the server may set (docs/tokens.md lists them).",
    ],
    ["no time at all", { ...alice, seconds: 0 }, seconds],
    ["part of a second", { ...alice, seconds: 1.5 }, seconds],
    ["more than the API gives", { ...alice, seconds: 601 }, seconds],
    ["a time as a text", { ...alice, seconds: "60" }, seconds],
    [
      "another key",
      { ...alice, scopes: "orders:read" },
      "scopes is not known here. Known: api, client, subject, scope, authMethod, claims, seconds, context, authTime, acr, amr.",
    ],
  ])("is refused: %s", (_, given, message) => {
    expect(() => read(given)).toThrow(new TypeError(`mint: ${message}`));
    expect(() => read(given)).toThrow(TypeError);
  });

  it("has no API where there is none", () => {
    expect(() => read(own, [])).toThrow(expect.objectContaining({ code: "unknown-api-of-token" }));
  });
});

describe("names", () => {
  it("are separated by commas in an error, or none", () => {
    expect([list([]), list(["a"]), list(["a", "b"])]).toEqual(["none", "a", "a, b"]);
  });

  it.each<[unknown, unknown]>([
    ["a b", ["a", "b"]],
    [
      ["a", "b a"],
      ["a", "b"],
    ],
    ["", undefined],
    [[], undefined],
    [undefined, undefined],
    [7, undefined],
  ])("of scopes come as a text or a list: %j (RFC 6749 §3.3)", (scope, expected) => {
    expect(namedScopes(scope)).toEqual(expected);
  });
});
