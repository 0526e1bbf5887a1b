import { postToken } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";
import { everythingUnderWay } from "./latch";
import {
  crossOrigin,
  expectOneFailure,
  isRead,
  redemption,
  repeatable,
  rowsOf,
  slowAtOneCall,
  slowHost,
  unavailable,
  usedUpAfterOne,
} from "./slow-calls";
import { begunBeside, findClient } from "./slow-storage";
import { shortenTimeLimitForEachTest } from "./time-limit";

shortenTimeLimitForEachTest();

describe("storage that does not answer in time, where the answer is JSON (RFC 6749 §5.2)", () => {
  const journeys = { ...usedUpAfterOne, ...repeatable, ...crossOrigin };

  it.each(Object.entries(journeys))("is tried below in every call of %s", async (_, journey) => {
    const { host, slow } = slowHost();
    const { attempt } = await journey.prepare(host);
    slow.calls.length = 0;
    await attempt();
    expect(slow.calls).toEqual(journey.calls);
  });

  it.each(rowsOf(journeys))(
    "is temporarily_unavailable when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt, secrets } = await journey.prepare(host);
      host.events.length = 0;
      slow.arm(index, way);
      const response = await attempt();
      expect([response.status, response.body]).toEqual([503, unavailable]);
      expect(response.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      expectOneFailure(host, { call, secrets });
    },
  );

  it.each(rowsOf(journeys))(
    "begins no later step when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await everythingUnderWay();
      const begun = [...journey.calls.slice(0, index + 1), ...begunBeside(journey.calls, index)].filter(
        (each) => !isRead(each),
      );
      expect(slow.writes.filter((each) => !isRead(each))).toEqual(begun);
      // nor when the answer comes after all
      await slow.fix();
      expect(slow.writes.filter((each) => !isRead(each))).toEqual(begun);
      expect(slow.calls[index]).toBe(call);
    },
  );

  it.each(rowsOf(usedUpAfterOne))(
    "leaves what was sent usable once at most when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await slow.fix();
      const tries = [(await attempt()).status, (await attempt()).status];
      // what has only been looked up is not spent
      if (isRead(call)) expect(tries).toEqual([200, 400]);
      else
        expect([
          [200, 400],
          [400, 400],
        ]).toContainEqual(tries);
    },
  );
});

describe("what follows a storage call that was not answered in time (RFC 6749 §5.2)", () => {
  it.each(
    Object.entries(usedUpAfterOne).flatMap(([name, journey]) => {
      const index = journey.calls.findIndex((call) => !isRead(call));
      return [{ name, journey, call: journey.calls[index], index }];
    }),
  )(
    "lets one of two attempts win when the late $call of $name comes after the second",
    async ({ journey, index }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, "does its work when it is long given up");
      const first = await attempt();
      const second = await attempt();
      await slow.fix();
      const third = await attempt();
      expect([first.status, second.status, third.status]).toEqual([503, 200, 400]);
    },
  );

  it.each(rowsOf(repeatable))(
    "does not stand in the way of another attempt when $call of $name $way",
    async ({ journey, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await slow.fix();
      expect((await attempt()).status).toBe(200);
    },
  );

  it.each(["orders", "reports"] as const)("does not let an API call at %s pass", async (api) => {
    const { host, slow } = slowHost();
    let reached = 0;
    host.app.get(`/${api}/counted`, host.auth.requireBearer({ api }), (_, res) => {
      reached += 1;
      res.end();
    });
    const { access_token } = await obtainTokens(host, { client: "web", pair: { api } });
    for (const [index] of bearerCalls(api).entries()) {
      slow.arm(index, "is lost");
      expect((await callApi(host, `/${api}/counted`, access_token)).status).toBe(503);
      await slow.fix();
    }
    expect(reached).toBe(0);
  });

  it("leaves a replay to be noticed the next time", async () => {
    const { host, slow } = slowHost();
    const { attempt } = await redemption.prepare(host);
    const { access_token } = (await attempt()).body as { access_token: string };
    slow.arm(4, "is lost");
    expect((await attempt()).status).toBe(503);
    expect(slow.calls[4]).toBe("authorizations.revoke");
    await slow.fix();
    expect((await callApi(host, "/reports", access_token)).status).toBe(200);
    expect((await attempt()).status).toBe(400);
    expect((await callApi(host, "/reports", access_token)).status).toBe(401);
  });

  it("is not remembered of a client: the next request looks it up again", async () => {
    const slow = slowAtOneCall();
    const host = testHost({ storage: slow.storage });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    slow.arm(0, "does its work and is not answered");
    expect((await postToken(host, { fields })).status).toBe(503);
    await slow.fix();
    expect((await postToken(host, { fields })).status).toBe(200);
    expect(slow.calls).toEqual([...findClient, ...findClient]);
  });
});

function bearerCalls(api: "orders" | "reports"): readonly string[] {
  const name = api === "orders" ? "an API call with a JWT" : "an API call with an opaque token";
  return repeatable[name]?.calls ?? [];
}
