import { memoryStorage, type Storage } from "../../lib";
import { apis } from "../hosts/apis";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";
import { introspect, ownToken } from "../requests/client-requests";
import { everythingUnderWay, newLatch } from "../storage/latch";

const clock = stopClockForEachTest();

const { orders } = apis;
const longLived = { ...apis, ...(orders && { orders: { ...orders, accessTokenSeconds: 9_000 } }) };

type NoteUse = Storage["authorizations"]["noteUse"];

/** A host whose storage notes uses in this way, and what it was asked to note. */
function hostWith(options: TestHostOptions = {}, noteUse?: NoteUse) {
  const memory = memoryStorage({ clients: Object.values(clients) });
  const noted: Parameters<NoteUse>[] = [];
  const authorizations: Storage["authorizations"] = {
    ...memory.authorizations,
    noteUse(...told) {
      noted.push(told);
      return noteUse ? noteUse(...told) : memory.authorizations.noteUse(...told);
    },
  };
  return { host: testHost({ ...options, storage: { ...memory, authorizations } }), noted };
}

async function lastUse({ auth }: TestHost): Promise<number | undefined> {
  const { authorizations } = await auth.authorizations.list("alice");
  return authorizations[0]?.lastUsedAt;
}

describe("the last use of an authorization (RFC 6749 §1.3)", () => {
  it('is when tokens were issued, unless lastUses is "calls": nothing is written', async () => {
    for (const options of [{}, { lastUses: "refresh" } as const]) {
      const { host, noted } = hostWith(options);
      const { access_token: token } = await obtainTokens(host, { client: "web" });
      const issued = clock.now();
      clock.advance(60);
      expect((await callApi(host, "/orders", token)).status).toBe(200);
      await everythingUnderWay();
      expect([noted, await lastUse(host)]).toEqual([[], issued]);
    }
  });

  it('is a call as well with lastUses: "calls", to the hour', async () => {
    const { host, noted } = hostWith({ lastUses: "calls", apis: longLived });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    const issued = clock.now();
    for (const seconds of [60, 60, 3_540, 1]) {
      clock.advance(seconds);
      expect((await callApi(host, "/orders", token)).status).toBe(200);
    }
    await everythingUnderWay();
    expect(noted.map(([, at]) => at - issued)).toEqual([60, 3_660]);
    expect(await lastUse(host)).toBe(issued + 3_660);
  });

  it("is written once where requests are simultaneous", async () => {
    const { host, noted } = hostWith({ lastUses: "calls" });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    await Promise.all(Array.from({ length: 8 }, () => callApi(host, "/orders", token)));
    expect(noted).toHaveLength(1);
  });

  it("is no call that was refused, no introspection, and no call of a client for itself", async () => {
    const { host, noted } = hostWith({ lastUses: "calls" });
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders/changes", token)).status).toBe(403);
    expect((await callApi(host, "/reports", token)).status).toBe(401);
    await introspect(host, { client: "web", token });
    const { access_token: own } = (await ownToken(host, { client: "machine" })).body as {
      access_token: string;
    };
    expect((await callApi(host, "/orders", own)).status).toBe(200);
    await everythingUnderWay();
    expect(noted).toEqual([]);
  });

  it("is not waited for", async () => {
    const stored = newLatch();
    const { host, noted } = hostWith({ lastUses: "calls" }, () => stored.opened);
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    expect(noted).toHaveLength(1);
    // otherwise the time limit of the call would outlive the test
    stored.open();
  });

  it.each<[string, NoteUse]>([
    ["rejects", () => Promise.reject(new Error("no connection"))],
    [
      "throws",
      () => {
        throw new Error("no connection");
      },
    ],
    ["answers nothing", () => undefined as never],
  ])("harms no request when storage %s", async (how, noteUse) => {
    const { host } = hostWith({ lastUses: "calls" }, noteUse);
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    host.events.length = 0;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    // a rejection that nobody handles would fail this test
    await everythingUnderWay();
    const failure = {
      at: clock.now(),
      kind: "server-error",
      authorizationId: expect.stringMatching(/^[\w-]{22}$/) as unknown,
      cause: new Error("no connection"),
    };
    expect(host.events).toEqual(how === "answers nothing" ? [] : [failure]);
  });
});
