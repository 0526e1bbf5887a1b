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
  actor: undefined,
  seconds: undefined,
  key: undefined,
  by: "mint",
};

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

  const scopes = "orders:read, orders:write";
  it.each<[string, object, code: string, named: string]>([
    ["another API", { ...alice, api: "ordres" }, "unknown-api-of-token", "orders, files"],
    [
      "another authentication method",
      { ...alice, authMethod: "sso" },
      "unknown-auth-method-of-token",
      "password, otp",
    ],
    ["no client", { api: "orders" }, "client-missing", "client"],
    ["no text as scope", { ...alice, scope: 7 }, "malformed-scope-of-token", scopes],
    ["a malformed scope", { ...alice, scope: " orders:read" }, "malformed-scope-of-token", scopes],
    ["another scope", { ...alice, scope: "orders:read orders:raed" }, "unknown-scope-of-token", scopes],
    [
      "a scope that every object has",
      { ...alice, api: "files", scope: "constructor" },
      "unknown-scope-of-token",
      "constructor",
    ],
    ["a context without a person", { ...own, context: { key: "acme" } }, "wrong-person-of-token", "context "],
    ["an authTime without a person", { ...own, authTime: 1 }, "wrong-person-of-token", "authTime "],
    ["an acr without a person", { ...own, acr: "gold" }, "wrong-person-of-token", "acr "],
    ["an amr without a person", { ...own, amr: ["pwd"] }, "wrong-person-of-token", "amr "],
    ["an empty subject", { ...own, subject: "" }, "wrong-person-of-token", "subject must "],
    ["a context that is a text", { ...alice, context: "acme" }, "wrong-person-of-token", "context must "],
    ["a time to come", { ...alice, authTime: now * 1000 }, "wrong-person-of-token", "authTime must "],
    ["claims that are no JSON", { ...alice, claims: { a: NaN } }, "wrong-claims", "claims must "],
    ["claims of OAuth", { ...alice, claims: { sub: "bob" } }, "wrong-claims", "claims\\."],
    ["no time at all", { ...alice, seconds: 0 }, "wrong-seconds-of-token", "600"],
    ["part of a second", { ...alice, seconds: 1.5 }, "wrong-seconds-of-token", "600"],
    ["more than the API gives", { ...alice, seconds: 601 }, "wrong-seconds-of-token", "600"],
    ["a time as a text", { ...alice, seconds: "60" }, "wrong-seconds-of-token", "600"],
    ["another key", { ...alice, scopes: "orders:read" }, "unknown-key", "authMethod, claims, seconds"],
  ])("is refused: %s", (_, given, code, named) => {
    expect(() => read(given)).toThrow(TypeError);
    const message = expect.stringMatching(`^mint: .*${named}`) as string;
    expect(() => read(given)).toThrow(expect.objectContaining({ code, message }));
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
