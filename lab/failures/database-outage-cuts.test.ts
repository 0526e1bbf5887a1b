/** A real database whose connections are cut in one call, at every place. */
import { Redis } from "ioredis";
import { redisStorage } from "../../lib/redis";
import type { CutPoint } from "../../__tests__/servers/cut-proxy";
import { callApi, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import {
  type Bed,
  type Database,
  databases,
  describeDatabase,
  expectHarmless,
  isGood,
  opaque,
  servedStatuses,
  untilServed,
} from "./outage-bed";
import { codeJourney, type Journey, journeys, refreshTokenJourney, stepJourney } from "./purchases";
import { redis, startRedis } from "../../__tests__/servers/redis-server";

const points: readonly (readonly [string, CutPoint])[] = [
  ["before the database has it", "request"],
  ["when it is done, before its answer", "answer"],
  ["within its answer", { afterBytes: 2 }],
];

const allJourneys = { ...journeys, "a code, in one step": stepJourney };

const rows = Object.entries(allJourneys).flatMap(([name, journey]) =>
  journey.calls.flatMap((call, index) =>
    points.map(([where, point]) => ({ name, journey, call, index, where, point })),
  ),
);

const hostOf = ({ stepping, serial }: Bed, journey: Journey) => (journey === stepJourney ? stepping : serial);

/** True when the cut at this call comes after the code or token was spent. */
function isSpent({ journey, index, point }: { journey: Journey; index: number; point: CutPoint }): boolean {
  const spending = journey.calls.indexOf(journey.spends);
  return point === "request" ? index > spending : index >= spending;
}

/** The attempt that is cut, and its answer. */
async function cutAttempt(
  bed: Bed,
  { journey, index, point }: { journey: Journey; index: number; point: CutPoint },
) {
  const { proxy, calls } = bed;
  const host = hostOf(bed, journey);
  // the first time a connection runs a statement, a driver may prepare it in a step of its own
  await (await journey.prepare(host)).attempt();
  const purchase = await journey.prepare(host);
  host.events.length = 0;
  calls.length = 0;
  const cutsBefore = proxy.cuts();
  bed.onCall = (at) => void (at === index && proxy.cutNext(point));
  const response = await purchase.attempt();
  bed.onCall = () => undefined;
  expect(proxy.cuts()).toBe(cutsBefore + 1);
  return { ...purchase, response, host };
}

function cutConnections(bed: () => Bed): void {
  it.each(Object.entries(allJourneys))("is tried below in every call about %s", async (_, journey) => {
    const { calls: made } = bed();
    const { attempt } = await journey.prepare(hostOf(bed(), journey));
    made.length = 0;
    expect((await attempt()).status).toBe(200);
    expect(made).toEqual(journey.calls);
  });

  // in one test, as each of them costs several requests
  it.each(rows)(
    "is a server_error, and lets $name buy once unless it was spent: $call ($index) is cut $where",
    async (row) => {
      const { host, attempt, family, response, secrets } = await cutAttempt(bed(), row);
      expect([response.status, response.body]).toMatchObject([500, { error: "server_error" }]);
      expectHarmless(host, secrets);
      if (family) expect(await isGood(host, family.access_token)).toBe(true);
      const retry = await untilServed(attempt);
      const { access_token: bought } = retry.body as Partial<Tokens>;
      expect(bought === undefined).toBe(isSpent(row));
      if (bought !== undefined) expect(await isGood(host, bought, row.journey.pair)).toBe(true);
      expect(await servedStatuses(attempt, 2)).toEqual([400, 400]);
    },
  );

  it("is harmless to idle connections: requests are served when all of them were cut", async () => {
    const { host, proxy } = bed();
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: opaque });
    await Promise.all(Array.from({ length: 20 }, () => callApi(host, "/reports", token)));
    proxy.cutAll();
    expect(await isGood(host, token)).toBe(true);
  });
}

/** This client library sends a command again when its answer was lost. */
function withItsDefaults(bed: () => Bed): void {
  async function loseAnswer(journey: Journey): Promise<{ status: number; kinds: readonly string[] }> {
    const index = journey.calls.indexOf(journey.spends);
    const { response, host } = await cutAttempt(bed(), { journey, index, point: "answer" });
    return { status: response.status, kinds: host.events.map(({ kind }) => kind) };
  }

  it("does not take a rotation that is sent again for a replay", async () => {
    const { status, kinds } = await loseAnswer(refreshTokenJourney);
    expect(kinds).not.toContain("replay-detected");
    expect(status).not.toBe(400);
  });

  it("takes the consumption of a code that is sent again for a replay: nothing was issued for it", async () => {
    const { status, kinds } = await loseAnswer(codeJourney);
    expect([status, kinds.includes("token-issued")]).toEqual([400, false]);
  });
}

const ioredisDefaults: Database = {
  name: "Redis by ioredis with its own defaults",
  server: redis,
  start: () => startRedis(),
  async connect(port) {
    const client = new Redis({ port });
    client.on("error", () => undefined);
    return {
      storage: redisStorage({ client }),
      reconnected: () => new Promise((resolve) => client.once("ready", resolve)),
      end: async () => client.disconnect(),
    };
  },
};

for (const database of databases) {
  describeDatabase(database, (bed) => {
    describe("a connection that is cut in one call (RFC 6749 §4.1.2, §10.5)", () => cutConnections(bed));
  });
}
describeDatabase(ioredisDefaults, (bed) => {
  describe("a connection that is cut in one call (RFC 9700 §4.14.2)", () => withItsDefaults(bed));
});
