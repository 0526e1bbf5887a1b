/** A host whose APIs call one another for people, and the exchanges of their resource servers (RFC 8693 §2.1). */
import type { Response } from "supertest";
import { type Client, generateClientSecret, type GrantType } from "../../lib";
import type { Fields } from "../browser/browser";
import { obtainTokens } from "../browser/journey";
import { apis, type Pair } from "../hosts/apis";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { postToken } from "./client-requests";
import { tokensOf } from "./token-requests";

/** The grant, as a client names it. */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange" satisfies GrantType;
/** The type of access tokens. */
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";

/** The APIs, whose tokens are exchanged in a circle: orders (JWT) → reports (opaque) → files (JWT) → orders. */
export const exchangeApis = {
  ...apis,
  orders: {
    ...apis["orders"],
    tokenExchange: { files: { clients: ["files-api"], scopes: { "files:read": ["orders:read"] } } },
  },
  reports: {
    ...apis["reports"],
    tokenExchange: {
      orders: { clients: ["orders-api"], scopes: { "orders:read": ["reports:read"] } },
    },
  },
  files: {
    ...apis["files"],
    tokenExchange: {
      orders: {
        clients: ["orders-api"],
        scopes: { "orders:read": ["files:read"], "orders:write": ["files:read", "files:write"] },
      },
      reports: { clients: ["reports-api"], scopes: { "reports:read": ["files:read"] } },
    },
  },
} as typeof apis;

/** The id of a resource server. */
export type ServiceName = "orders-api" | "reports-api" | "files-api";

const secret = generateClientSecret();

/** A resource server that may exchange at every API, as far as the tables name it. */
export function serviceOf(clientId: string): Client {
  const grantTypes: readonly GrantType[] = [exchangeGrant];
  return {
    clientId,
    name: clientId,
    confidential: true,
    secretDigests: [secret.digest],
    redirectUris: [],
    subscriptions: { orders: { grantTypes }, reports: { grantTypes }, files: { grantTypes } },
  };
}

/** The resource servers of the APIs, and the clients of people. */
export const exchangeClients: readonly Client[] = [
  ...Object.values(clients),
  ...["orders-api", "reports-api", "files-api"].map(serviceOf),
];

/** A host with these APIs and clients. */
export function exchangeHost(options: TestHostOptions = {}): TestHost {
  return testHost({ apis: exchangeApis, clients: exchangeClients, ...options });
}

/** Who exchanges which token, and where. */
export interface Exchange {
  readonly by?: ServiceName | ClientName;
  readonly pair?: Pair;
  readonly token: string;
  readonly fields?: Fields;
}

/** What a resource server proves itself with. */
export function serviceCredentials(by: ServiceName): Fields {
  return { client_id: by, client_secret: secret.secret };
}

const isService = (by: ServiceName | ClientName): by is ServiceName => by.endsWith("-api");

/** The form of an exchange. */
export function exchangeFields({ by = "orders-api", token, fields }: Exchange): Fields {
  return {
    grant_type: exchangeGrant,
    ...(isService(by) ? serviceCredentials(by) : credentials(by)),
    subject_token: token,
    subject_token_type: accessTokenType,
    ...fields,
  };
}

/** POST token with an exchange: by the resource server of orders, for a token of files, unless it says otherwise. */
export function exchange(host: TestHost, asked: Exchange): Promise<Response> {
  const { pair = { api: "files" } } = asked;
  return postToken(host, { pair, fields: exchangeFields(asked) });
}

/** The token that an exchange gives. */
export async function exchanged(host: TestHost, asked: Exchange): Promise<string> {
  return tokensOf(await exchange(host, asked)).access_token;
}

/** A token of orders that Alice has allowed `web`. */
export async function ordersToken(host: TestHost, scope = "orders:read orders:write"): Promise<string> {
  return (await obtainTokens(host, { client: "web", fields: { scope } })).access_token;
}
