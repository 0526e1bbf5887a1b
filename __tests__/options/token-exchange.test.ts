/** Mistakes in tables of token exchange (RFC 8693 §2.1), and what they come to. */
import { type AuthServerOptions, type Client, memoryStorage } from "../../lib";
import { checkOptions } from "../../lib/options/check";
import type { OptionProblemCode } from "../../lib/options/problem";
import { refusals } from "../../lib/options/refused-options";
import { resolveOptions } from "../../lib/options/resolve";
import { goodApi, thrownBy, withChanges } from "../records/options";
import { exchangeGrant, serviceOf } from "../requests/exchanges";

const stock = {
  audience: "https://api.example/stock",
  authMethods: ["password"],
  scopes: { "stock:reserve": "Reserve goods", "stock:see": "See the stock" },
};
const table = { clients: ["orders-api"], scopes: { "orders:read": ["stock:reserve"] } };
const service: Client = {
  ...serviceOf("orders-api"),
  subscriptions: { stock: { grantTypes: [exchangeGrant] } },
};

/** Options with a table, and with other options of the two APIs. */
function optionsOf(
  tokenExchange: object,
  changes: { orders?: object; stock?: object } = {},
): AuthServerOptions {
  const apis = {
    orders: { ...goodApi, ...changes.orders },
    stock: { ...stock, ...changes.stock, tokenExchange },
  };
  return withChanges({ apis });
}

const openid = { claims: () => ({}), scopes: { groups: ["groups"] } };
const withGroups = { openid, scopes: { ...stock.scopes, groups: "See your groups" } };
const at = "apis.stock.tokenExchange";

type Mistake = readonly [mistake: string, options: AuthServerOptions, path: string, code: OptionProblemCode];

const scopes = (mapped: object): object => ({ orders: { ...table, scopes: mapped } });

const mistakes: readonly Mistake[] = [
  ["no API", optionsOf({}), at, "option-empty"],
  ["no table", optionsOf({ orders: undefined }), `${at}.orders`, "option-of-wrong-form"],
  ["a list", optionsOf([table]), at, "option-of-wrong-form"],
  ["an API that there is not", optionsOf({ ordres: table }), `${at}.ordres`, "exchange-from-no-other-api"],
  [
    "what every object has",
    optionsOf({ constructor: table }),
    `${at}.constructor`,
    "exchange-from-no-other-api",
  ],
  ["the API itself", optionsOf({ stock: table }), `${at}.stock`, "exchange-from-no-other-api"],
  ["no client", optionsOf({ orders: { ...table, clients: [] } }), `${at}.orders.clients`, "option-empty"],
  ["no scope", optionsOf(scopes({})), `${at}.orders.scopes`, "option-empty"],
  [
    "a scope that becomes nothing",
    optionsOf(scopes({ "orders:read": [] })),
    `${at}.orders.scopes.orders:read`,
    "option-empty",
  ],
  [
    "a scope that becomes a text",
    optionsOf(scopes({ "orders:read": "stock:see" })),
    `${at}.orders.scopes.orders:read`,
    "option-of-wrong-form",
  ],
  [
    "a key that is not known",
    optionsOf({ orders: { ...table, scope: {} } }),
    `${at}.orders.scope`,
    "option-unknown",
  ],
  [
    "a scope that the other API has not",
    optionsOf(scopes({ "orders:wirte": ["stock:see"] })),
    `${at}.orders.scopes.orders:wirte`,
    "exchange-of-unknown-scope",
  ],
  [
    "a scope that this API has not",
    optionsOf(scopes({ "orders:read": ["stock:see", "orders:read"] })),
    `${at}.orders.scopes.orders:read`,
    "exchange-of-unknown-scope",
  ],
  [
    "a scope of every OpenID provider",
    optionsOf(scopes({ "orders:read": ["email"] }), { stock: { openid: { claims: () => ({}) } } }),
    `${at}.orders.scopes.orders:read`,
    "exchange-of-unknown-scope",
  ],
  [
    "a scope of this one that opens claims",
    optionsOf(scopes({ "orders:read": ["groups"] }), { stock: withGroups }),
    `${at}.orders.scopes.orders:read`,
    "exchange-of-unknown-scope",
  ],
  [
    "a sign-in at the other API",
    optionsOf(scopes({ openid: ["stock:see"] }), { orders: { openid: { claims: () => ({}) } } }),
    `${at}.orders.scopes.openid`,
    "exchange-of-unknown-scope",
  ],
];

describe("a table of token exchange (RFC 8693 §2.1)", () => {
  it.each(mistakes)("is refused with %s", async (_, options, path, code) => {
    const error = await thrownBy(() => checkOptions(options));
    expect(error).toHaveProperty("code", code);
    expect(error.message).toMatch(`createAuthServer: ${path} `);
  });

  it.each([
    ["of this API", { stock: { profile: "fapi2" } }, "apis.stock.profile"],
    ["of the other API", { orders: { profile: "fapi2" } }, "apis.orders.profile"],
  ])("contradicts the profile fapi2 %s", (_, changes, profile) => {
    const found = refusals(optionsOf({ orders: table }, changes), 0);
    const contradictions = found.filter(({ code }) => code === "contradicts-profile");
    expect(contradictions).toMatchObject([{ path: `${at}.orders` }]);
    expect(contradictions[0]?.message).toContain(profile);
  });

  const clients: readonly (readonly [string, Client, string])[] = [
    ["no subscription", { ...service, subscriptions: {} }, "has no subscription to API stock"],
    ["no such grant", { ...service, subscriptions: { stock: {} } }, "has no urn:ietf:params"],
    [
      "no secret",
      {
        clientId: "orders-api",
        name: "Phone",
        confidential: false,
        platform: "native",
        redirectUris: [],
        subscriptions: service.subscriptions,
      },
      "is a native client",
    ],
  ];

  it.each(clients)("names no client that is listed with %s", async (_, client, problem) => {
    const storage = memoryStorage({ clients: [client] });
    const error = await thrownBy(() => checkOptions({ ...optionsOf({ orders: table }), storage }));
    expect(error).toHaveProperty("code", "exchange-by-unfit-client");
    expect(error.message).toContain(`${at}.orders.clients.0 names a client that ${problem}`);
  });

  const other = {
    audience: "https://api.example/other",
    authMethods: ["password"],
    scopes: { other: "More" },
  };
  const withOther = (given: AuthServerOptions): AuthServerOptions => ({
    ...given,
    apis: { ...given.apis, other },
  });
  const unfit = { ...service, subscriptions: {} };

  it.each<[string, AuthServerOptions, string]>([
    [
      "an unknown scope",
      optionsOf(scopes({ "orders:read": ["stock:sell"] })),
      "Name only scopes that are listed under apis.stock.scopes, and that open no claims.",
    ],
    ["an unknown API", withOther(optionsOf({ ordres: table })), "Write one of: orders, other."],
    [
      "the profile fapi2",
      optionsOf({ orders: table }, { stock: { profile: "fapi2" } }),
      "Leave one of the two out: FAPI 2.0 does not analyse token exchange.",
    ],
    [
      "an unfit client",
      { ...optionsOf({ orders: table }), storage: memoryStorage({ clients: [unfit] }) },
      `Write a confidential client that has ${exchangeGrant} in subscriptions.stock.grantTypes.`,
    ],
  ])("is refused with what to write instead: %s", (_, options, fix) => {
    expect(refusals(options, 0).map(({ message }) => message)).toContainEqual(expect.stringContaining(fix));
  });

  it("may name one that is listed and may, and one that nobody knows yet", () => {
    const storage = memoryStorage({ clients: [service] });
    const both = { ...table, clients: ["orders-api", "later"] };
    expect(refusals({ ...optionsOf({ orders: both }), storage }, 0)).toEqual([]);
  });

  it("is copied: what the host changes later changes nothing", () => {
    const given = { clients: ["orders-api"], scopes: { "orders:read": ["stock:reserve"] } };
    const { issuers } = resolveOptions(checkOptions(optionsOf({ orders: given })), 0);
    given.clients.push("thief");
    given.scopes["orders:read"].push("stock:see");
    const api = issuers.find((issuer) => issuer.api.apiId === "stock")?.api;
    expect(api?.tokenExchange?.sources.get("orders")).toEqual(table);
    expect([...(api?.tokenExchange?.apis.keys() ?? [])]).toEqual(["orders", "stock"]);
  });
});
