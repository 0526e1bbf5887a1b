import type { AuthServerOptions, Client } from "../../lib";
import type { Facts, Weakener } from "../../lib/assessment/requirement";
import {
  allGrants,
  allScopes,
  clientsWithSecrets,
  codesLongerThan,
  consentByHost,
  foreignAssertionsOfStrangers,
  inventedSchemes,
  plainHttp,
  publicClients,
} from "../../lib/assessment/weakeners";
import { generateClientKey } from "../../lib/clients/client-key";
import { goodApi, withChanges } from "../fixture/options";
import { confidentialRecord, publicRecord } from "../fixture/records";

const scopes = { "orders:read": "See your orders", "orders:write": "Change your orders" };

/** What a standard is judged by: good options but for these, and these clients. */
function factsOf(changes: object, clients: readonly Client[] = []): Facts {
  return { options: withChanges(changes), weaknesses: [], clients, knowsClients: true };
}

/** What it finds where the rules about weak options have found this. */
function foundOf({ find }: Weakener, path: string, problem: string): unknown {
  const others = { level: "weak", why: "It is weak.", fix: "Change it." } as const;
  return find({ ...factsOf({}), weaknesses: [{ ...others, path, problem }] });
}

const ofClient = ({ find }: Weakener, client: Client, changes: object = {}): unknown =>
  find(factsOf(changes, [client]));

describe("what the rules about weak options have found (RFC 6819 §5)", () => {
  const http = "is http, on this machine";
  const scheme = "has a scheme without a dot";

  it.each<[string, Weakener, string, string]>([
    ["http of baseUrl", plainHttp, "baseUrl", http],
    ["http of an audience", plainHttp, "apis.orders.audience", http],
    ["redirectSchemes", inventedSchemes, "redirectSchemes", "allows schemes without a dot"],
    ["an invented scheme of a client", inventedSchemes, 'client "app": redirectUris.0', scheme],
  ])("is of this kind: %s", (_, weakener, path, problem) => {
    expect(foundOf(weakener, path, problem)).toEqual([{ path, problem }]);
  });

  it.each<[string, Weakener, string, string]>([
    ["another problem of baseUrl", plainHttp, "baseUrl", "is at another origin"],
    ["http of something else", plainHttp, 'client "app": redirectUris.0', http],
    ["an option whose name only ends so", plainHttp, "another.baseUrl", http],
    ["an option whose name only begins so", plainHttp, "baseUrls", http],
    ["another problem of a client", inventedSchemes, 'client "app": redirectUris.0', "names localhost"],
  ])("is of another kind: %s", (_, weakener, path, problem) => {
    expect(foundOf(weakener, path, problem)).toEqual([]);
  });
});

describe("clients with a metadata document (RFC 7523 §3)", () => {
  it("may have assertions for the token endpoint accepted", () => {
    const clientMetadataDocuments = { accept: () => ({ kind: "accepted" }) };
    const apis = { orders: { ...goodApi, clientMetadataDocuments }, reports: goodApi };
    expect(foreignAssertionsOfStrangers.find(factsOf({ apis }))).toEqual([
      {
        path: "apis.orders.clientMetadataDocuments",
        problem: "may accept assertions for the token endpoint",
      },
    ]);
  });
});

describe("a host that answers for its people (OWASP ASVS 5.0 V10.7.1)", () => {
  it("is found by the option consent", () => {
    const consent: AuthServerOptions["consent"] = { decide: () => ({ kind: "ask" }) };
    expect(consentByHost.find(factsOf({ consent }))).toEqual([
      { path: "consent", problem: "may say yes without asking the person" },
    ]);
    expect(consentByHost.find(factsOf({}))).toEqual([]);
  });
});

describe("codes that live longer than a standard allows (FAPI 2.0 §5.3.2.1, OWASP ASVS 5.0 V10.4.3)", () => {
  const own = "apis.orders.lifetimes.authorizationCodeSeconds";
  const common = "lifetimes.authorizationCodeSeconds";

  it.each<[string, object, object, readonly object[]]>([
    ["by the options of all APIs", { authorizationCodeSeconds: 61 }, {}, [{ path: common, seconds: 61 }]],
    [
      "by these where the API sets other lifetimes only",
      { authorizationCodeSeconds: 61 },
      { lifetimes: { refreshRetrySeconds: 0 } },
      [{ path: common, seconds: 61 }],
    ],
    [
      "by the options of the API",
      { authorizationCodeSeconds: 30 },
      { lifetimes: { authorizationCodeSeconds: 120 } },
      [{ path: own, seconds: 120 }],
    ],
    ["not at the limit", { authorizationCodeSeconds: 60 }, {}, []],
    [
      "not where the API shortens them",
      { authorizationCodeSeconds: 61 },
      { lifetimes: { authorizationCodeSeconds: 60 } },
      [],
    ],
  ])("are found %s", (_, lifetimes, api, found) => {
    const facts = factsOf({ lifetimes, apis: { orders: { ...goodApi, ...api } } });
    const expected = (found as { path: string; seconds: number }[]).map(({ path, seconds }) => ({
      path,
      problem: `is ${seconds} seconds, more than 60`,
    }));
    const { option, find } = codesLongerThan(60);
    expect(find(facts)).toEqual(expected);
    expect(option).toBe("authorizationCodeSeconds above 60");
  });
});

describe("how clients prove themselves (RFC 9700 §2.5)", () => {
  const { secretDigests: _, ...web } = confidentialRecord();
  const keyClient = { ...web, jwks: generateClientKey().jwks };

  it("a public client does not at all", () => {
    expect(ofClient(publicClients, publicRecord("native"))).toEqual([
      { path: 'client "phone": confidential', problem: "is false" },
    ]);
    expect(ofClient(publicClients, confidentialRecord())).toEqual([]);
  });

  it("a client with a secret sends it", () => {
    expect(ofClient(clientsWithSecrets, confidentialRecord())).toEqual([
      { path: 'client "web": secretDigests', problem: "means that it sends a secret" },
    ]);
    for (const client of [keyClient, publicRecord("native")])
      expect(ofClient(clientsWithSecrets, client)).toEqual([]);
  });
});

describe("what clients may do at an API (OWASP ASVS 5.0 V10.4.4, V10.4.11)", () => {
  const path = 'client "web": subscriptions.orders';

  it("is every grant, for a confidential client that names none", () => {
    const named = confidentialRecord({ subscriptions: { orders: { grantTypes: ["authorization_code"] } } });
    expect(ofClient(allGrants, confidentialRecord())).toEqual([
      { path, problem: "names no grantTypes, which means all" },
    ]);
    for (const client of [named, publicRecord("native")]) expect(ofClient(allGrants, client)).toEqual([]);
  });

  it("is every scope, for a client that names none", () => {
    expect(ofClient(allScopes, confidentialRecord(), { apis: { orders: { ...goodApi, scopes } } })).toEqual([
      { path, problem: "names no scopes, which means all" },
    ]);
  });

  it.each<[string, object, Client["subscriptions"]]>([
    ["names some", scopes, { orders: { scopes: ["orders:read"] } }],
    ["is at an API with a single scope", { "orders:read": "See your orders" }, { orders: {} }],
    ["is at an API that is not among the options", scopes, { files: {} }],
    ["is at an API with a name that every object inherits", scopes, { constructor: {} }],
  ])("is not more scopes than it needs, for a client that %s", (_, offered, subscriptions) => {
    const client = confidentialRecord({ subscriptions });
    expect(ofClient(allScopes, client, { apis: { orders: { ...goodApi, scopes: offered } } })).toEqual([]);
  });
});
