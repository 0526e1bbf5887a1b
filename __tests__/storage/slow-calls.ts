/** Storage that does not answer one call in time, and the journeys that call it. */
import { inspect } from "node:util";
import request, { type Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { type Pair, pairPath } from "../hosts/apis";
import { codeVerifier } from "../browser/authorization-request";
import { postAbout, postToken, redeem, refresh } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { everythingUnderWay, type Latch, newLatch } from "./latch";
import { findClient, intercept, watchWrites } from "./slow-storage";

/** How a call may go that is not answered in time. */
export const ways = [
  "is lost",
  "does its work and is not answered",
  "does its work when it is long given up",
] as const;

/** One of these ways. */
export type Way = (typeof ways)[number];

/** Storage, and which of its calls goes unanswered. */
export interface SlowStorage {
  readonly storage: Storage;
  /** The calls of the request that `arm` precedes, in their order. */
  readonly calls: string[];
  /** The calls among them that change something. */
  readonly writes: string[];
  /** From now on calls are counted, and the one at this index, counted from 0, is not answered. */
  arm(index: number, way: Way): void;
  /** Storage works again; a call that is long given up does its work now. */
  fix(): Promise<void>;
}

/** Memory in which one call goes unanswered, once a test says which. */
export function slowAtOneCall(): SlowStorage {
  const calls: string[] = [];
  let slow: { readonly index: number; readonly way: Way; readonly late: Latch } | undefined;
  const stuck = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, call) => {
    calls.push(name);
    if (!slow || calls.length - 1 !== slow.index) return call();
    const { way, late } = slow;
    if (way === "does its work and is not answered") await call();
    await late.opened;
    return way === "does its work when it is long given up" ? call() : undefined;
  });
  const { storage, writes } = watchWrites(stuck);
  return {
    storage,
    calls,
    writes,
    arm(index, way) {
      calls.length = 0;
      writes.length = 0;
      slow = { index, way, late: newLatch() };
    },
    async fix() {
      const late = slow?.late;
      slow = undefined;
      late?.open();
      await everythingUnderWay();
    },
  };
}

/** A host whose every look-up of a client is a call. */
export function slowHost(): { readonly host: TestHost; readonly slow: SlowStorage } {
  const slow = slowAtOneCall();
  return { host: testHost({ storage: slow.storage, revocationLagSeconds: 0 }), slow };
}

/** Something that a client does, ready to be done again and again. */
export interface Prepared {
  readonly attempt: () => Promise<Response>;
  /** What must stand in no event. */
  readonly secrets: readonly string[];
}

/** Something that a client does, and what storage is asked for it. */
export interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  prepare(host: TestHost): Promise<Prepared>;
}

/** The API whose access tokens are opaque. */
export const opaque: Pair = { api: "reports" };

/** The origin of the client `spa`. */
export const spaOrigin = "https://spa.example";

/** Introspection or revocation of one token of `web`. */
function about(
  endpoint: "introspect" | "revoke",
  { pair, kind }: { pair: Pair; kind: "access_token" | "refresh_token" },
): Journey["prepare"] {
  return async (host) => {
    const { [kind]: token = "" } = await obtainTokens(host, { client: "web", pair });
    return { attempt: () => postAbout(host, { endpoint, pair, token }), secrets: [token] };
  };
}

function bearer(pair: Pair): Journey["prepare"] {
  return async (host) => {
    const { access_token: token } = await obtainTokens(host, { client: "web", pair });
    return { attempt: () => callApi(host, `/${pair.api}`, token), secrets: [token] };
  };
}

function fromPage(endpoint: "token" | "revoke", method: "post" | "options"): Journey["prepare"] {
  return async (host) => {
    const path = `${pairPath()}/${endpoint}`;
    const attempt = async (): Promise<Response> => {
      const sent = request(host.app)[method](path).set("Origin", spaOrigin);
      return method === "post" ? sent.type("form").send("grant_type=none") : sent;
    };
    return { attempt, secrets: [] };
  };
}

/** The exchange of a code. */
export const redemption: Journey = {
  calls: [
    ...findClient,
    "authorizationCodes.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.create",
    "authorizationCodes.consume",
  ],
  async prepare(host) {
    const code = await obtainCode(host, { client: "web", pair: opaque });
    return { attempt: () => redeem(host, { client: "web", code, pair: opaque }), secrets: [code] };
  },
};

/** What can succeed once. */
export const usedUpAfterOne: Readonly<Record<string, Journey>> = {
  "grant authorization_code": redemption,
  "grant refresh_token": {
    calls: [
      ...findClient,
      "refreshTokens.find",
      "authorizations.find",
      "accessTokens.create",
      "refreshTokens.rotate",
    ],
    async prepare(host) {
      const tokens = await obtainTokens(host, { client: "web", pair: opaque });
      const { refresh_token: refreshToken = "" } = tokens;
      const attempt = (): Promise<Response> => refresh(host, { client: "web", refreshToken, pair: opaque });
      return { attempt, secrets: [refreshToken, tokens.access_token] };
    },
  },
};

/** What can succeed again and again. */
export const repeatable: Readonly<Record<string, Journey>> = {
  "grant client_credentials": {
    calls: [...findClient, "accessTokens.create"],
    async prepare(host) {
      const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
      return { attempt: () => postToken(host, { pair: opaque, fields }), secrets: [] };
    },
  },
  "introspection of a JWT": {
    calls: [...findClient, "accessTokens.isRevoked", "authorizations.find", ...findClient],
    prepare: about("introspect", { pair: { api: "orders" }, kind: "access_token" }),
  },
  "introspection of an opaque token": {
    calls: [
      ...findClient,
      "accessTokens.find",
      "accessTokens.isRevoked",
      "authorizations.find",
      ...findClient,
    ],
    prepare: about("introspect", { pair: opaque, kind: "access_token" }),
  },
  "introspection of a refresh token": {
    calls: [...findClient, "refreshTokens.find", "authorizations.find"],
    prepare: about("introspect", { pair: opaque, kind: "refresh_token" }),
  },
  "revocation of a JWT": {
    calls: [...findClient, "accessTokens.revoke"],
    prepare: about("revoke", { pair: { api: "orders" }, kind: "access_token" }),
  },
  "revocation of an opaque token": {
    calls: [...findClient, "accessTokens.find", "accessTokens.revoke"],
    prepare: about("revoke", { pair: opaque, kind: "access_token" }),
  },
  "revocation of a refresh token": {
    calls: [
      ...findClient,
      "refreshTokens.find",
      "authorizationCodes.find",
      "authorizations.find",
      "authorizations.revoke",
    ],
    prepare: about("revoke", { pair: opaque, kind: "refresh_token" }),
  },
  "an API call with a JWT": {
    calls: ["accessTokens.isRevoked", "authorizations.find", ...findClient],
    prepare: bearer({ api: "orders" }),
  },
  "an API call with an opaque token": {
    calls: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find", ...findClient],
    prepare: bearer(opaque),
  },
};

/** What a script of another origin asks. */
export const crossOrigin: Readonly<Record<string, Journey>> = {
  "a preflight for a token": { calls: ["clients.isBrowserOrigin"], prepare: fromPage("token", "options") },
  "a preflight for a revocation": {
    calls: ["clients.isBrowserOrigin"],
    prepare: fromPage("revoke", "options"),
  },
  "a page's token request": { calls: ["clients.isBrowserOrigin"], prepare: fromPage("token", "post") },
};

/** Whether this call changes nothing. */
export const isRead = (call: string): boolean => /\.(find|list|isRevoked|isBrowserOrigin)$/.test(call);

/** One row for each call of each journey, and each way in which it goes unanswered. */
export function rowsOf(journeys: Readonly<Record<string, Journey>>) {
  return Object.entries(journeys).flatMap(([name, journey]) =>
    journey.calls.flatMap((call, index) => ways.map((way) => ({ name, journey, call, index, way }))),
  );
}

/** The answer to a client. */
export const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

/** The error about a call that did not answer in time. */
export function lateCall(name: string): object {
  return { code: "host-call-late", message: expect.stringMatching(`^${name} `) as string };
}

/** Of the events since the last look, one is the failure: it names the call and holds no secret. */
export function expectOneFailure(
  host: TestHost,
  { call, secrets }: { call: string; secrets: readonly string[] },
): void {
  const failures = host.events.filter(({ kind }) => kind === "server-error");
  expect(failures).toEqual([expect.objectContaining({ cause: expect.any(Error) })]);
  const [failure] = failures;
  expect(failure).toMatchObject({ cause: lateCall(call) });
  const written = inspect(host.events, { depth: 20, showHidden: true });
  for (const secret of [...secrets, codeVerifier, ...Object.values(credentials("web")).slice(1)]) {
    expect(secret).not.toBe("");
    // a token may begin with an id that an event may name
    expect(written).not.toContain(secret.split(".").at(-1));
  }
}
