/** The resource server of the API of the family, which exchanges its tokens for those of another API. RFC 8693 §2.1. */
import type { Client } from "../../lib";
import { exchangeGrant } from "../../lib/protocol/client";
import type { Issuer } from "../../lib/protocol/issuer";
import { confidentialRecord, issuerRecord } from "../../__tests__/records/records";

/** The client, which proves itself as that of the family does. */
export const exchangingClient = (secretDigests: readonly string[]): Client =>
  confidentialRecord({
    clientId: "orders-api",
    secretDigests,
    redirectUris: [],
    subscriptions: { stock: { grantTypes: [exchangeGrant] } },
  });

const clients = ["orders-api"];
const scopes = { "orders:read": ["stock:see"], "orders:write": ["stock:reserve"] };

/** The issuer of the other API, at which tokens of this one are exchanged. */
export function stockIssuer({ api }: Issuer): Issuer {
  const { accessTokenFormat, lifetimes } = api;
  return issuerRecord({
    apiId: "stock",
    audience: "https://api.example/stock",
    scopes: { "stock:see": "See the stock", "stock:reserve": "Reserve goods" },
    accessTokenFormat,
    lifetimes,
    tokenExchange: { sources: new Map([["orders", { clients, scopes }]]), apis: new Map([["orders", api]]) },
  });
}
