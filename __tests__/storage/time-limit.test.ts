import request, { type Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { timeLimited } from "../../lib/storage/calls";
import { type Pair, pairPath } from "../hosts/apis";
import { postAbout, postToken, refresh } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";
import { everythingUnderWay, newLatch } from "./latch";
import { lateCall, opaque, slowHost, spaOrigin, ways } from "./slow-calls";
import { intercept } from "./slow-storage";
import { shortenTimeLimitForEachTest, timers } from "./time-limit";

shortenTimeLimitForEachTest();

describe("storage that does not answer in time, where the host asks (RFC 6749 §10.3)", () => {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };

  it.each(ways)("is an error that auth.consents.list rejects with when consents.list %s", async (way) => {
    const { host, slow } = slowHost();
    slow.arm(0, way);
    await expect(host.auth.consents.list("alice")).rejects.toMatchObject(lateCall("consents.list"));
    await slow.fix();
    expect((await host.auth.consents.list("alice")).consents).toEqual([]);
  });

  const steps = [
    "endMarks.save",
    "endMarks.save",
    "authorizations.revokeAll",
    "endMarks.save",
    "consents.delete",
  ];
  it.each(steps.flatMap((call, index) => ways.map((way) => ({ call, index, way }))))(
    "is an error that auth.consents.revoke rejects with when $call $way, and the next call revokes",
    async ({ call, index, way }) => {
      const { host, slow } = slowHost();
      const { access_token } = await obtainTokens(host, { client: "web" });
      host.events.length = 0;
      slow.arm(index, way);
      await expect(host.auth.consents.revoke(key)).rejects.toMatchObject(lateCall(call));
      expect(host.events.map(({ kind }) => kind)).not.toContain("consent-revoked");
      await slow.fix();
      expect(slow.writes).toEqual(steps.slice(0, index + 1));
      await host.auth.consents.revoke(key);
      expect((await host.auth.consents.list("alice")).consents).toEqual([]);
      expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    },
  );
});

/** The same port as an instance of a class: methods on the prototype, and a private field that only it can read. */
function asInstance<Port extends object>(port: Port): Port {
  const methods = port as Readonly<Record<string, (...args: unknown[]) => unknown>>;
  class Adapter {
    readonly #methods = methods;
    call(name: string, args: unknown[]): unknown {
      return this.#methods[name]?.(...args);
    }
  }
  for (const name of Object.keys(methods)) {
    Object.defineProperty(Adapter.prototype, name, {
      value(this: Adapter, ...args: unknown[]) {
        return this.call(name, args);
      },
    });
  }
  return new Adapter() as unknown as Port;
}

/** The same storage with each port made over. */
function madeOver(storage: Storage, make: <Port extends object>(port: Port) => Port): Storage {
  return {
    clients: make(storage.clients),
    consents: make(storage.consents),
    authorizations: make(storage.authorizations),
    authorizationCodes: make(storage.authorizationCodes),
    refreshTokens: make(storage.refreshTokens),
    accessTokens: make(storage.accessTokens),
    endMarks: make(storage.endMarks),
    clientAssertions: make(storage.clientAssertions),
    clientRegistrations: make(storage.clientRegistrations),
  };
}

/** Every port is called at least once. */
async function wholeJourney(host: TestHost): Promise<readonly number[]> {
  const answers: Response[] = [];
  for (const api of ["orders", "reports"] as const) {
    const pair: Pair = { api };
    const first = await obtainTokens(host, { client: "web", pair });
    const { refresh_token: refreshToken = "" } = first;
    answers.push(
      await callApi(host, `/${api}`, first.access_token),
      await postAbout(host, { endpoint: "introspect", pair, token: first.access_token }),
      await refresh(host, { client: "web", refreshToken, pair }),
      await postAbout(host, { endpoint: "revoke", pair, token: first.access_token }),
      await fromOrigin(host),
    );
  }
  await host.auth.consents.list("alice");
  await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
  return answers.map(({ status }) => status);
}

const memory = (): Storage => memoryStorage({ clients: Object.values(clients) });

async function fromOrigin(host: TestHost): Promise<Response> {
  return request(host.app).options(`${pairPath()}/token`).set("Origin", spaOrigin);
}

const wholeJourneyStatuses = [200, 200, 200, 200, 204, 200, 200, 200, 200, 204];

describe("a host's own storage behind the time limit (RFC 6749 §5.2)", () => {
  it.each<[string, Storage]>([
    ["instances of classes with private fields", madeOver(memory(), asInstance)],
    ["frozen objects", Object.freeze(madeOver(memory(), Object.freeze))],
    ["frozen instances", madeOver(madeOver(memory(), asInstance), Object.freeze)],
    ["objects without a prototype", madeOver(memory(), (port) => Object.assign(Object.create(null), port))],
  ])("may be %s", async (_, storage) => {
    const host = testHost({ storage, revocationLagSeconds: 0 });
    expect(await wholeJourney(host)).toEqual(wholeJourneyStatuses);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("is handed the arguments, and its answer is handed on, as they are", async () => {
    const asked: unknown[][] = [];
    const answer = [{ any: "thing" }];
    const consents = {
      list(...args: unknown[]) {
        asked.push(args);
        return Promise.resolve(answer);
      },
    } as unknown as Storage["consents"];
    expect(await timeLimited({ ...memory(), consents }).consents.list("alice", 1_000)).toBe(answer);
    expect(asked).toEqual([["alice", 1_000]]);
  });

  it("may fail with what it likes, which is handed on as it is", async () => {
    const failure = new Error("the database is away");
    const consents = { ...memory().consents, list: () => Promise.reject(failure) };
    await expect(timeLimited({ ...memory(), consents }).consents.list("alice", 1_000)).rejects.toBe(failure);
  });

  it("is a server_error when it throws at once", async () => {
    const failure = new Error("the database says: password=hunter2");
    const accessTokens: Storage["accessTokens"] = {
      ...memory().accessTokens,
      create() {
        throw failure;
      },
    };
    const host = testHost({ storage: { ...memory(), accessTokens } });
    const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
    const response = await postToken(host, { pair: opaque, fields });
    expect([response.status, response.body]).toEqual([
      500,
      { error: "server_error", error_description: "The server could not answer this request." },
    ]);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: failure }]);
    expect(timers.begun.filter((timer) => !timers.cleared.has(timer))).toEqual([]);
  });

  it("leaves no timer behind, whether it answers, fails or is late", async () => {
    const { host, slow } = slowHost();
    expect(await wholeJourney(host)).toEqual(wholeJourneyStatuses);
    expect(timers.begun).toHaveLength(slow.calls.length);
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    slow.arm(0, "is lost");
    await postToken(host, { fields });
    const failing = testHost({ storage: intercept(memory(), () => Promise.reject(new Error("away"))) });
    await postToken(failing, { fields });
    expect(timers.begun.filter((timer) => !timers.cleared.has(timer))).toEqual([]);
  });

  it("has no timer at all when it answers at once", async () => {
    expect(await wholeJourney(testHost({ revocationLagSeconds: 0 }))).toEqual(wholeJourneyStatuses);
    expect(timers.begun).toEqual([]);
  });

  it("is given up without a second thought: what it fails with later goes nowhere", async () => {
    const rejected = newLatch();
    const late = newLatch();
    const unhandled: unknown[] = [];
    const hear = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", hear);
    const storage = intercept(memory(), async () => {
      await late.opened;
      rejected.open();
      throw new Error("the connection was lost");
    });
    const host = testHost({ storage });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    expect((await postToken(host, { fields })).status).toBe(503);
    late.open();
    await rejected.opened;
    await everythingUnderWay();
    process.removeListener("unhandledRejection", hear);
    expect(unhandled).toEqual([]);
    expect(host.events.map(({ kind }) => kind)).toEqual(["server-error"]);
  });
});
