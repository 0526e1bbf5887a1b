/** The form of identity assertions, and what the host is told of them. draft-ietf-oauth-identity-assertion-authz-grant-03 §3.1. */
import {
  parseIdentityAssertion,
  type PresentedIdentity,
  type UnreadableIdentity,
} from "../../lib/protocol/identity-assertion";
import { issuer } from "../hosts/apis";
import { assertionOf } from "../requests/client-assertions";

function parsed(claims: object): PresentedIdentity | UnreadableIdentity {
  const header = { typ: "oauth-id-jag+jwt" };
  return parseIdentityAssertion(assertionOf({ header, claims: { sub: "U-1", client_id: "web", ...claims } }));
}

function read(claims: object): PresentedIdentity {
  const presented = parsed(claims);
  if (!("assertion" in presented)) throw new Error(JSON.stringify(presented));
  return presented;
}

const audience = "https://api.example/orders";
const longest = "x".repeat(255);
const required = ["iss", "sub", "aud", "client_id", "jti", "exp", "iat"];

describe("a claim of an identity assertion that has no good form (§3.1)", () => {
  /** What it is → the claims, the first of which is the wrong one. */
  const wrong: Readonly<Record<string, object>> = {
    ...Object.fromEntries(required.map((name) => [`no ${name}`, { [name]: undefined }])),
    "iss as a list": { iss: [issuer] },
    "an empty sub": { sub: "" },
    "a long sub": { sub: `${longest}x` },
    "a sub that ends with NUL": { sub: "a\0" },
    "a sub that begins with NUL": { sub: "\0a" },
    "sub with half a character": { sub: "\ud800" },
    "sub as a number": { sub: 5 },
    "several aud": { aud: [issuer, "https://other.example"] },
    "no aud in the list": { aud: [] },
    "aud as a number": { aud: 5 },
    "several client_id": { client_id: ["web"] },
    "an empty jti": { jti: "" },
    "a long jti": { jti: `${longest}x` },
    "exp as text": { exp: "2027-01-15" },
    "iat as text": { iat: "now" },
    "iat that is null": { iat: null },
    "nbf as text": { nbf: "now" },
    "resource as a number": { resource: 5 },
    "resource with a number": { resource: [audience, 5] },
    "scope as a list": { scope: ["orders:read"] },
    "scope with two spaces": { scope: "orders:read  orders:write" },
    "an empty scope": { scope: "" },
    "tenant as a number": { tenant: 7 },
    "an empty tenant": { tenant: "" },
    "email that is null": { email: null },
    "aud_sub as a number": { aud_sub: 7 },
    "aud_tenant without aud_sub": { aud_sub: undefined, aud_tenant: "acme" },
    "aud_tenant as a number": { aud_tenant: 7, aud_sub: "alice" },
    "auth_time as text": { auth_time: "yesterday" },
    "auth_time with a fraction": { auth_time: 1.5 },
    "acr as a list": { acr: ["mfa"] },
    "amr as text": { amr: "pwd" },
    "amr with a number": { amr: [1] },
    "cnf without jkt": { cnf: {} },
    "cnf with a number as thumbprint": { cnf: { jkt: 5 } },
    "cnf with a whole key": { cnf: { jwk: { kty: "EC" } } },
    "cnf with another thumbprint besides": { cnf: { jkt: "x", "x5t#S256": "y" } },
    "cnf that is null": { cnf: null },
  };

  it.each(Object.entries(wrong))("is refused by its name: %s", (_, claims) => {
    expect(parsed(claims)).toEqual({ malformed: Object.keys(claims)[0] });
  });
});

describe("a good identity assertion (§3.1)", () => {
  it("may have a name of 255 characters", () => {
    expect(read({ sub: longest }).assertion.subject).toBe(longest);
  });

  it.each([audience, [audience, "https://api.example/files"]])("may name resources: %j", (resource) => {
    expect(read({ resource }).claims.resource).toEqual(resource);
  });

  it("tells the host what it says, and no more", () => {
    const least = { issuer: "keyed", subject: "U-1" };
    expect(read({}).assertion).toStrictEqual(least);
    expect(read({ aud_sub: "alice" }).assertion).toStrictEqual({
      ...least,
      localSubject: { subject: "alice" },
    });
    expect(read({ aud_sub: "alice", aud_tenant: "t1", scope: "orders:read else" }).assertion).toStrictEqual({
      ...least,
      localSubject: { subject: "alice", tenant: "t1" },
      scopes: ["orders:read", "else"],
    });
  });

  it.each([
    [{}, undefined],
    [{ cnf: { jkt: "thumbprint" } }, "thumbprint"],
  ])("with %j names the key %s", (claims, key) => {
    expect(read(claims).boundKey).toBe(key);
  });
});
