import request, { type Response } from "supertest";
import { type AuthServerEvent, type ClientStore, type GrantType, memoryStorage } from "../../lib";
import { issuer, type Pair, pairPath } from "../hosts/apis";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { answerOf, invalidGrant, refusal, serverError } from "../requests/json-answers";
import { intercept } from "../storage/slow-storage";
import { clientCredentials, postTokenText, tokenPath, tokensOf } from "../requests/token-requests";
import {
  answerDevice,
  deviceApis,
  deviceClients,
  deviceCodes,
  deviceGrant,
  poll,
} from "../requests/device-requests";

const clock = stopClockForEachTest();

const pair: Pair = { api: "reports" };
const failure = new Error("the database says: password=hunter2");
type When = "before" | "after";

/** Storage that can be told to fail in one call, before or after the work is done. */
function failingStorage() {
  const failing: { name: string | undefined; when: When } = { name: undefined, when: "before" };
  const calls: string[] = [];
  const storage = intercept(
    memoryStorage({ clients: Object.values(deviceClients) }),
    async (name, call): Promise<unknown> => {
      calls.push(name);
      if (failing.name !== name) return call();
      if (failing.when === "after") await call();
      throw failure;
    },
  );
  return { storage, failing, calls };
}

type Attempt = () => Promise<Response>;

/** Those that options bring have their own tests. */
type TriedGrant = Exclude<GrantType, `urn:${string}`> | typeof deviceGrant;

const prepare: Record<TriedGrant, (host: TestHost) => Promise<Attempt>> = {
  async authorization_code(host) {
    const code = await obtainCode(host, { client: "web", pair });
    return () => redeem(host, { client: "web", code, pair });
  },
  async refresh_token(host) {
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web", pair });
    return () => refresh(host, { client: "web", refreshToken, pair });
  },
  async client_credentials(host) {
    const grant_type = "client_credentials";
    const fields = { grant_type, ...credentials("web"), scope: "reports:read" };
    return () => postToken(host, { pair, fields });
  },
  async [deviceGrant](host) {
    const asked = { client: "web", pair } as const;
    const codes = await deviceCodes(host, { ...asked, fields: { scope: "reports:read" } });
    await answerDevice(host.browser(), codes);
    return () => poll(host, codes, asked);
  },
};

describe("storage that fails in one call of a token request (RFC 6749 §5.2)", () => {
  /** Storage call → what a second attempt with the same code or token gets, once storage works again. */
  type Outcomes = Record<string, { before: number; after: number }>;

  const free = { before: 200, after: 200 };

  const step = { before: 200, after: 400 };

  const outcomes: Record<TriedGrant, Outcomes> = {
    authorization_code: {
      "clients.find": free,
      "endMarks.find": free,
      "authorizationCodes.find": free,
      "authorizations.find": free,
      "accessTokens.create": free,
      "refreshTokens.create": free,
      "authorizationCodes.consume": step,
    },
    refresh_token: {
      "clients.find": free,
      "endMarks.find": free,
      "refreshTokens.find": free,
      "authorizations.find": free,
      "accessTokens.create": free,
      "refreshTokens.rotate": step,
    },
    client_credentials: { "clients.find": free, "endMarks.find": free, "accessTokens.create": free },
    [deviceGrant]: {
      "clients.find": free,
      "endMarks.find": free,
      "parkedRequests.find": free,
      "authorizationCodes.find": free,
      "authorizations.find": free,
      "accessTokens.create": free,
      "refreshTokens.create": free,
      "authorizationCodes.consume": step,
    },
  };

  const grantTypes = Object.keys(outcomes) as TriedGrant[];

  it.each(grantTypes)("is tried below in every call of grant %s", async (grantType) => {
    const { storage, calls } = failingStorage();
    const attempt = await prepare[grantType](
      testHost({ storage, apis: deviceApis, revocationLagSeconds: 0 }),
    );
    calls.length = 0;
    tokensOf(await attempt());
    expect(calls.toSorted()).toEqual(Object.keys(outcomes[grantType]).toSorted());
  });

  const rows = grantTypes.flatMap((grantType) =>
    Object.entries(outcomes[grantType]).flatMap(([name, { before, after }]) => [
      { grantType, name, when: "before" as const, secondAttempt: before },
      { grantType, name, when: "after" as const, secondAttempt: after },
    ]),
  );

  it.each(rows)(
    "answers $grantType with server_error when $name throws $when its work",
    async ({ grantType, name, when, secondAttempt }) => {
      const { storage, failing } = failingStorage();
      const host = testHost({ storage, apis: deviceApis, revocationLagSeconds: 0 });
      const attempt = await prepare[grantType](host);
      Object.assign(failing, { name, when });
      const response = await attempt();
      expect(answerOf(response)).toEqual(serverError);
      expect(response.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      expect(response.text).not.toMatch(/hunter2|database|\bat\b.*:\d+/);
      const event = host.events.at(-1) as Extract<AuthServerEvent, { kind: "server-error" }>;
      expect(event).toMatchObject({ kind: "server-error", issuer: `https://host.example${pairPath(pair)}` });
      expect(event.cause).toBe(failure);

      failing.name = undefined;
      expect((await attempt()).status).toBe(secondAttempt);
      // a code or refresh token buys once, whatever storage did meanwhile
      expect((await attempt()).status).toBe(grantType === "client_credentials" ? 200 : 400);
    },
  );
});

describe("storage that fails during a token request (RFC 6749 §5.2)", () => {
  it.each(["authorization_code", "refresh_token", deviceGrant] as const)(
    "does not hide a replay of %s: the next one revokes",
    async (grantType) => {
      const { storage, failing } = failingStorage();
      const host = testHost({ storage, apis: deviceApis, revocationLagSeconds: 0 });
      const attempt = await prepare[grantType](host);
      const { access_token } = tokensOf(await attempt());
      failing.name = "authorizations.revoke";
      expect(answerOf(await attempt())).toEqual(serverError);
      failing.name = undefined;
      expect((await callApi(host, "/reports", access_token)).status).toBe(200);
      expect(answerOf(await attempt())).toEqual(invalidGrant);
      expect((await callApi(host, "/reports", access_token)).status).toBe(401);
    },
  );

  it("answers server_error when the look for a browser origin fails", async () => {
    const { storage, failing } = failingStorage();
    const host = testHost({ storage });
    failing.name = "clients.isBrowserOrigin";
    for (const method of ["post", "options"] as const) {
      const sent = request(host.app)[method](tokenPath).set("Origin", "https://spa.example");
      const response = await (method === "post" ? sent.type("form").send("client_id=spa") : sent);
      expect(answerOf(response)).toEqual(serverError);
    }
    expect(host.events).toMatchObject([
      { kind: "server-error", issuer, cause: failure },
      { kind: "server-error", issuer, cause: failure },
    ]);
  });

  const thrown = [
    ["nothing", undefined],
    ["a text", "broken"],
    [
      "what looks like an OAuth error",
      Object.assign(new Error("no"), { error: "invalid_grant", status: 400 }),
    ],
  ] as const;

  it.each(thrown)("answers server_error to storage that throws %s, at once", async (_, cause) => {
    const store: ClientStore = {
      find() {
        throw cause;
      },
      isBrowserOrigin: async () => false,
    };
    const host = testHost({ storage: { ...memoryStorage({ clients: [] }), clients: store } });
    expect(answerOf(await postTokenText(host, clientCredentials))).toEqual(serverError);
    expect(host.events).toEqual([{ kind: "server-error", at: clock.now(), issuer, cause }]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no log");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no log");
      },
    ],
  ] as const)("answers as ever when the host's onEvent %s", async (_, onEvent) => {
    const host = testHost({ onEvent });
    expect((await postTokenText(host, clientCredentials)).status).toBe(200);
    expect(answerOf(await postTokenText(host, ""))).toEqual(refusal(400, "invalid_request"));
  });
});
