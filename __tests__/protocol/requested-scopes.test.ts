import type { Client } from "../../lib";
import type { Api } from "../../lib/protocol/issuer";
import {
  followImplications,
  readNamedScopes,
  readRequestedScopes,
  stillGrantable,
  withImplied,
} from "../../lib/protocol/requested-scopes";
import { confidentialRecord, issuerRecord } from "../records/records";

const read = "orders:read";
const write = "orders:write";
const both = [read, write];

/** Asks an API with these changes; the client is registered for reading only, unless told otherwise. */
function asker(api: Partial<Api> = {}, scopes: readonly string[] = [read]) {
  const client: Client = confidentialRecord({ subscriptions: { orders: { scopes } } });
  return { issuer: issuerRecord(api), client };
}

describe("scopes that a client may not have (RFC 6749 §3.3)", () => {
  it.each([
    ["are kept where the API refuses them", "refuse", "orders:write orders:read", [write, read], []],
    ["are dropped where the API ignores them", "ignore", "orders:write orders:read", [read], [write]],
  ] as const)("%s", (_, unknownScopes, scope, requestedScopes, ignoredScopes) => {
    expect(readNamedScopes(scope, asker({ unknownScopes }))).toEqual({ requestedScopes, ignoredScopes });
  });

  it("are not all dropped", () => {
    expect(readNamedScopes(write, asker({ unknownScopes: "ignore" }))).toBe("no-scope-registered");
  });

  it("are refused although one of the scopes is registered", () => {
    expect(readRequestedScopes("orders:write orders:read", asker())).toBe("scope-not-registered");
  });
});

describe("implied scopes (RFC 6749 §3.3)", () => {
  it("are followed to their end, and to nothing else", () => {
    const implies = new Map([
      ["admin", ["write"]],
      ["write", ["read"]],
      ["loop", ["loop"]],
    ]);
    expect([...followImplications(implies)]).toEqual([
      ["admin", ["write", "read"]],
      ["write", ["read"]],
      ["loop", ["loop"]],
    ]);
  });

  it.each([
    ["are added once", [write], both, [write, read]],
    ["are not added again", both, both, both],
    ["are limited to what the client may have", [write], [write], [write]],
    ["are none of a scope that implies nothing", [read], both, [read]],
  ])("%s", (_, asked, registered, expected) => {
    const impliedScopes = new Map([[write, [read]]]);
    expect(withImplied(asked, asker({ impliedScopes }, registered))).toEqual(expected);
  });
});

describe("scopes that a page has shown (RFC 6749 §3.3)", () => {
  it.each([
    [
      "can be granted while the client may have them",
      both,
      { requestedScopes: [write], grantableScopes: both },
    ],
    [
      "lose an implied one that the client lost",
      [write],
      { requestedScopes: [write], grantableScopes: [write] },
    ],
  ])("%s", (_, registered, expected) => {
    const shown = { requestedScopes: [write], grantableScopes: both };
    expect(stillGrantable(shown, asker({}, registered))).toEqual({ ...expected, ignoredScopes: [] });
  });

  it("cannot be granted once the client lost a requested one", () => {
    const shown = { requestedScopes: both, grantableScopes: both };
    expect(stillGrantable(shown, asker())).toBe("scope-lost");
  });
});
