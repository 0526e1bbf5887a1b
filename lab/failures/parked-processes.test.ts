// A pushed request gets so many answers at the same moment, in several processes of the host: one of them counts, and all others are told
// which one.
import { randomUUID } from "node:crypto";
import { newDigest } from "../../lib/testing/contract/records";
import {
  ask,
  type Engine,
  engines,
  type HostProcess,
  type HostProcesses,
  lengthOf,
  startHosts,
} from "../../__tests__/servers/cluster-processes";
import { describeWith } from "../../__tests__/servers/server-process";

const processCount = 4;
const simultaneous = 64;

jest.setTimeout(lengthOf({ short: 60_000, long: 1_800_000 }));

interface Told {
  readonly own: string;
  readonly outcome: unknown;
  /** Which answer counts, by what was found then. */
  readonly by: unknown;
}

async function answer(host: HostProcess | undefined, key: string): Promise<Told> {
  const own = randomUUID();
  const expiresAt = Math.floor(Date.now() / 1000) + 300;
  const answered = await host?.send(ask.park({ key, owner: "shop", by: own, expiresAt }));
  return { own, outcome: answered?.body["outcome"], by: answered?.body["by"] };
}

/** What is wrong with what the callers were told. */
function wrongIn(told: readonly Told[]): string | undefined {
  const outcomes = told.map(({ outcome }) => String(outcome));
  const winner = told.find(({ outcome }) => outcome === "created");
  if (!winner || outcomes.filter((outcome) => outcome === "taken").length !== simultaneous - 1)
    return outcomes.toSorted().join(" ");
  const astray = told.filter(({ by }) => by !== winner.own);
  return astray.length === 0 ? undefined : `${astray.length} have found another answer`;
}

function races(engine: Engine): void {
  const rounds = lengthOf({ short: 10, long: engine.longRounds / 10 });
  let hosts: HostProcesses;

  beforeAll(async () => {
    hosts = await startHosts(engine, processCount);
  });
  afterAll(() => hosts.close());

  it(`has one answer of ${simultaneous} in ${processCount} processes, ${rounds} rounds`, async () => {
    const wrong: (string | undefined)[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const key = newDigest();
      const answers = Array.from({ length: simultaneous }, (_, call) =>
        answer(hosts.processes[call % processCount], key),
      );
      wrong.push(wrongIn(await Promise.all(answers)));
    }
    expect(wrong).toEqual(wrong.map(() => undefined));
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `one pushed request in many processes over ${engine.name} (RFC 9126 §4)`,
    tests: () => races(engine),
  });
}
