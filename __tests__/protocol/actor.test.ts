import { accessTokenClaims, readAccessTokenClaims } from "../../lib/protocol/access-token";
import { type Actor, actorClaim, mayPassOn, readActor } from "../../lib/protocol/actor";

/** So many clients that act one after the other. */
function actors(count: number): Actor | undefined {
  if (count === 0) return undefined;
  const before = actors(count - 1);
  return { subject: `client-${count}`, ...(before && { actor: before }) };
}

describe("who acts for a person (RFC 8693 §4.1)", () => {
  it.each([1, 2, 3, 4])("is read as it was written: %i clients", (count) => {
    const actor = actors(count) as Actor;
    expect(readActor(JSON.parse(JSON.stringify(actorClaim(actor))))).toEqual(actor);
  });

  it("is the client that acts last, and inside it the one before", () => {
    expect(actorClaim(actors(2) as Actor)).toEqual({ sub: "client-2", act: { sub: "client-1" } });
  });

  it("is at most four clients", () => {
    expect([0, 1, 3, 4].map((count) => mayPassOn(actors(count)))).toEqual([true, true, true, false]);
    expect(readActor(actorClaim(actors(5) as Actor))).toBeUndefined();
  });

  it("cannot be changed by one request for another", () => {
    const actor = readActor({ sub: "a", act: { sub: "b" } }) as Actor;
    expect([Object.isFrozen(actor), Object.isFrozen(actor.actor)]).toEqual([true, true]);
  });
});

describe("a malformed act, which makes a token invalid (RFC 8693 §4.1)", () => {
  const audience = "https://api.example/files";
  const token = {
    tokenId: "T".repeat(22),
    issuer: "https://host.example/login/auth/password/api/files",
    clientId: "orders-api",
    subject: "alice",
    authorizationId: "A".repeat(22),
    scopes: ["files:read"],
    authorizationScopes: ["orders:read"],
    actor: { subject: "orders-api" },
    issuedAt: 1_000,
    expiresAt: 1_060,
  };
  const claims = accessTokenClaims(token, audience);

  it("is none of these claims", () => {
    expect(readAccessTokenClaims(claims, audience)).toEqual(token);
  });

  it.each([
    ["act is a text", { act: "orders-api" }],
    ["act is null", { act: null }],
    ["act is a list", { act: [{ sub: "orders-api" }] }],
    ["act is empty", { act: {} }],
    ["sub is no text", { act: { sub: 5 } }],
    ["sub is another client than the token's", { act: { sub: "web" } }],
    ["act says more than who", { act: { sub: "orders-api", iss: "https://other.example" } }],
    ["act is malformed further inside", { act: { sub: "orders-api", act: { sub: null } } }],
    ["act is null inside", { act: { sub: "orders-api", act: null } }],
    ["nobody knows what the token was made of", { authorization_scope: undefined }],
    ["what it was made of is no scope", { authorization_scope: "orders:read  orders:write" }],
    ["what it was made of is a list", { authorization_scope: ["orders:read"] }],
    ["there is nobody to act for", { sub: "orders-api", authorization_id: undefined }],
  ])("is one where %s", (_, changes) => {
    expect(readAccessTokenClaims({ ...claims, ...changes }, audience)).toBeUndefined();
  });
});
