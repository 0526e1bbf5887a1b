/** Requests of clients, each with the storage calls that it takes, to let each of these fail. */
import request, { type Response } from "supertest";
import { type Pair, pairPath } from "../../__tests__/hosts/apis";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { encode } from "../../__tests__/browser/browser";
import { postToken, refresh } from "../../__tests__/requests/client-requests";
import { type ClientName, credentials } from "../../__tests__/hosts/clients";
import { type Bed, type Moment, newBed } from "./faulty-host";
import type { TestHost } from "../../__tests__/hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import { findClient } from "../../__tests__/storage/slow-storage";

/** A request of a client, ready to be sent again and again. */
interface Prepared {
  readonly attempt: () => Promise<Response>;
  /** Tokens of the same family that were acknowledged before. */
  readonly family?: Tokens;
}

interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  readonly pair: Pair;
  readonly prepare: (host: TestHost) => Promise<Prepared>;
}

interface ClientPair {
  readonly client: "web" | "native" | "spa";
  readonly api: "orders" | "reports";
}

/** Sent by a script of the client's page when the client is a browser. */
function postForm(
  host: TestHost,
  { client, path, fields }: { client: ClientName; path: string; fields: Record<string, string> },
): Promise<Response> {
  const headers = client === "spa" ? { Origin: "https://spa.example" } : {};
  return Promise.resolve(
    request(host.app)
      .post(path)
      .set(headers)
      .type("form")
      .send(encode({ ...credentials(client), ...fields })),
  );
}

const lookUps = (client: ClientName): readonly string[] =>
  client === "spa" ? ["clients.isBrowserOrigin", ...findClient] : findClient;

const stores = (api: ClientPair["api"]): string[] => (api === "reports" ? ["accessTokens.create"] : []);

function redemption({ client, api }: ClientPair): Journey {
  const pair: Pair = { api };
  return {
    calls: [
      ...lookUps(client),
      "authorizationCodes.find",
      "authorizations.find",
      ...stores(api),
      ...(client === "spa" ? [] : ["refreshTokens.create"]),
      "authorizationCodes.consume",
    ],
    pair,
    async prepare(host) {
      const code = await obtainCode(host, { client, pair });
      const path = `${pairPath(pair)}/token`;
      const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
      const attempt = (): Promise<Response> => postForm(host, { client, path, fields });
      return { attempt };
    },
  };
}

function refreshing({ client, api }: ClientPair): Journey {
  const pair: Pair = { api };
  return {
    calls: [
      ...findClient,
      "refreshTokens.find",
      "authorizations.find",
      ...stores(api),
      "refreshTokens.rotate",
    ],
    pair,
    async prepare(host) {
      const family = await obtainTokens(host, { client, pair });
      const { refresh_token: refreshToken = "" } = family;
      return { attempt: () => refresh(host, { client, refreshToken, pair }), family };
    },
  };
}

/** A code or refresh token that has bought already. */
function replayOf({ calls, ...journey }: Journey): Journey {
  return {
    ...journey,
    calls: [...calls.slice(0, calls.indexOf("authorizations.find") + 1), "authorizations.revoke"],
    async prepare(host) {
      const { attempt } = await journey.prepare(host);
      return { attempt, family: (await attempt()).body as Tokens };
    },
  };
}

function about(
  endpoint: "introspect" | "revoke",
  { client, api, kind }: ClientPair & { kind: "access_token" | "refresh_token" },
): Journey["prepare"] {
  return async (host) => {
    const family = await obtainTokens(host, { client, pair: { api } });
    const path = `${pairPath({ api })}/${endpoint}`;
    const fields = { token: family[kind] ?? "" };
    return { attempt: () => postForm(host, { client, path, fields }), family };
  };
}

function bearer(api: "orders" | "reports"): Journey["prepare"] {
  return async (host) => {
    const family = await obtainTokens(host, { client: "web", pair: { api } });
    return { attempt: () => callApi(host, `/${api}`, family.access_token), family };
  };
}

function clientCredentials(pair: Pair, scope: string): Journey["prepare"] {
  return async (host) => {
    const fields = { grant_type: "client_credentials", ...credentials("web"), scope };
    const attempt = (): Promise<Response> => postToken(host, { pair, fields });
    return { attempt, family: (await attempt()).body as Tokens };
  };
}

const jwt: Pair = { api: "orders" };

const opaque: Pair = { api: "reports" };

/** What buys tokens. */
export const buying: Readonly<Record<string, Journey>> = {
  "a confidential client's redemption for a JWT": redemption({ client: "web", api: "orders" }),
  "a confidential client's redemption for an opaque token": redemption({ client: "web", api: "reports" }),
  "a native client's redemption for a JWT": redemption({ client: "native", api: "orders" }),
  "a native client's redemption for an opaque token": redemption({ client: "native", api: "reports" }),
  "a browser client's redemption for a JWT": redemption({ client: "spa", api: "orders" }),
  "a browser client's redemption for an opaque token": redemption({ client: "spa", api: "reports" }),
  "a confidential client's refresh for a JWT": refreshing({ client: "web", api: "orders" }),
  "a confidential client's refresh for an opaque token": refreshing({ client: "web", api: "reports" }),
  "a native client's refresh for a JWT": refreshing({ client: "native", api: "orders" }),
  "a native client's refresh for an opaque token": refreshing({ client: "native", api: "reports" }),
};

/** What tries to buy again. */
export const replays: Readonly<Record<string, Journey>> = {
  "a replay of a code": replayOf(redemption({ client: "web", api: "reports" })),
  "a browser client's replay of a code": replayOf(redemption({ client: "spa", api: "orders" })),
  "a replay of a refresh token": replayOf(refreshing({ client: "native", api: "reports" })),
};

/** What revokes a token. */
export const revocations: Readonly<Record<string, Journey>> = {
  "the revocation of a JWT": {
    calls: [...findClient, "accessTokens.revoke"],
    pair: jwt,
    prepare: about("revoke", { client: "web", api: "orders", kind: "access_token" }),
  },
  "the revocation of an opaque token": {
    calls: [...findClient, "accessTokens.find", "accessTokens.revoke"],
    pair: opaque,
    prepare: about("revoke", { client: "native", api: "reports", kind: "access_token" }),
  },
  "the revocation of a JWT from a page": {
    calls: ["clients.isBrowserOrigin", ...findClient, "accessTokens.revoke"],
    pair: jwt,
    prepare: about("revoke", { client: "spa", api: "orders", kind: "access_token" }),
  },
  "the revocation of a refresh token": {
    calls: [
      ...findClient,
      "refreshTokens.find",
      "authorizationCodes.find",
      "authorizations.find",
      "authorizations.revoke",
    ],
    pair: opaque,
    prepare: about("revoke", { client: "web", api: "reports", kind: "refresh_token" }),
  },
};

/** What may be asked any number of times. */
export const repeatable: Readonly<Record<string, Journey>> = {
  "client credentials for a JWT": {
    calls: [...findClient],
    pair: jwt,
    prepare: clientCredentials(jwt, "orders:read"),
  },
  "client credentials for an opaque token": {
    calls: [...findClient, "accessTokens.create"],
    pair: opaque,
    prepare: clientCredentials(opaque, "reports:read"),
  },
  "the introspection of a JWT": {
    calls: [...findClient, "accessTokens.isRevoked", "authorizations.find", ...findClient],
    pair: jwt,
    prepare: about("introspect", { client: "web", api: "orders", kind: "access_token" }),
  },
  "the introspection of an opaque token": {
    calls: [
      ...findClient,
      "accessTokens.find",
      "accessTokens.isRevoked",
      "authorizations.find",
      ...findClient,
    ],
    pair: opaque,
    prepare: about("introspect", { client: "web", api: "reports", kind: "access_token" }),
  },
  "the introspection of a refresh token": {
    calls: [...findClient, "refreshTokens.find", "authorizations.find"],
    pair: opaque,
    prepare: about("introspect", { client: "web", api: "reports", kind: "refresh_token" }),
  },
  "an API call with a JWT": {
    calls: ["accessTokens.isRevoked", "authorizations.find", ...findClient],
    pair: jwt,
    prepare: bearer("orders"),
  },
  "an API call with an opaque token": {
    calls: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find", ...findClient],
    pair: opaque,
    prepare: bearer("reports"),
  },
};

/** The request in which one call fails. */
export async function failingAttempt(
  { flow, index, moment }: { flow: Journey; index: number; moment: Moment },
  bed: Bed = newBed(),
) {
  const prepared = await flow.prepare(bed.host);
  bed.host.events.length = 0;
  bed.faulty.arm(index, moment);
  const response = await prepared.attempt();
  bed.faulty.fix();
  return { ...bed, ...prepared, response };
}

/** An API call with the access token of such a request. */
export const callWith = (
  host: TestHost,
  { pair }: Journey,
  { access_token: token }: Tokens,
): Promise<Response> => callApi(host, `/${pair.api}`, token);
