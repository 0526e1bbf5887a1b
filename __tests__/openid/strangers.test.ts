/** What clients that nobody registered may learn of people. OpenID Connect Core §5.4; RFC 7591 §2; decision 0046. */
import { registeredScopes } from "../../lib/protocol/client";
import { ownScopes } from "../../lib/protocol/issuer";
import { scopesByTools } from "../../lib/bearer/mcp-scopes";
import { confidentialRecord, issuerRecord } from "../records/records";
import type { Request } from "express";

const { api, ...pair } = issuerRecord();
const openid = {
  claims: { openid: [], email: ["email"], groups: ["groups"] },
  idTokenAlgorithm: "RS256",
  audiences: [],
};
const scopes = { openid: "a", email: "b", "orders:read": "c", groups: "d" };
const issuer = { ...pair, api: { ...api, scopes, openid } };
const selfDescription = { by: "document", digest: "x" } as const;

function scopesOf(subscription: object, changes: object = {}): readonly string[] {
  const subscriptions = { [api.apiId]: subscription };
  return registeredScopes(confidentialRecord({ subscriptions, ...changes }), issuer);
}

describe("identity scopes of clients that nobody registered", () => {
  it("are none where the policy names no scopes", () => {
    expect(scopesOf({}, { selfDescription })).toEqual(["orders:read"]);
  });

  it("are those that the policy names", () => {
    const named = { scopes: ["openid", "email"] };
    expect(scopesOf(named, { selfDescription })).toEqual(["openid", "email"]);
  });

  it("are all of them for a client of the host, unless its subscription says otherwise", () => {
    expect(scopesOf({})).toEqual(Object.keys(scopes));
    expect(scopesOf({ scopes: ["groups"] })).toEqual(["groups"]);
  });
});

describe("the scopes that open routes", () => {
  it("are those that tell of nobody", () => {
    expect(ownScopes(issuer.api)).toEqual(["orders:read"]);
    expect(ownScopes({ scopes })).toEqual(Object.keys(scopes));
  });

  it("are all that a forgotten MCP tool asks for (RFC 6750 §3.1)", () => {
    const needed = scopesByTools(issuer.api, new Map());
    const body = { method: "tools/call", params: { name: "forgotten" } };
    expect(needed({ method: "POST", headers: {}, body } as Request)).toEqual(["orders:read"]);
  });
});
