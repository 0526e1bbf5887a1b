// The attacker has copied a signed assertion of a client, and sends it to all processes of the host at the same moment, or to another
// process after the one that took it was killed. It counts once.
import { randomInt } from "node:crypto";
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
import { randomOf } from "./schedule";
import { describeWith } from "../../__tests__/servers/server-process";

const processCount = 4;
const kills = lengthOf({ short: 3, long: 100 });
const usesOfEachKill = 60;
const lanes = 6;

jest.setTimeout(lengthOf({ short: 600_000, long: 1_800_000 }));

type Outcome = "used" | "used-before" | "unanswered";

function inAnHour(): number {
  return Math.floor(Date.now() / 1000) + 3_600;
}

/** What a process answers, if it lives long enough. */
async function use(host: HostProcess, digest: string): Promise<Outcome> {
  try {
    const { status, body } = await host.send(ask.useAssertion({ digest, expiresAt: inAnHour() }));
    return status === 200 ? (body["outcome"] as Outcome) : "unanswered";
  } catch {
    return "unanswered";
  }
}

async function everywhere(hosts: HostProcesses, digest: string): Promise<readonly Outcome[]> {
  const outcomes = await Promise.all(hosts.processes.map((host) => use(host, digest)));
  return outcomes.toSorted();
}

/** Does the same so many times, a few at a time. */
async function inLanes(times: number, act: () => Promise<void>): Promise<void> {
  let begun = 0;
  async function lane(): Promise<void> {
    while (begun < times) {
      begun += 1;
      await act();
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Uses assertions at processes chosen by chance, of which one is killed half-way. Gives what each was told. */
async function useWhileKilled(
  hosts: HostProcesses,
  { random, told }: { random: () => number; told: Map<string, Outcome> },
): Promise<void> {
  const pick = (): HostProcess => {
    const host = hosts.processes[Math.floor(random() * processCount)];
    if (!host) throw new Error("no process");
    return host;
  };
  const victim = pick();
  let answered = 0;
  await inLanes(usesOfEachKill, async () => {
    const digest = newDigest();
    told.set(digest, await use(pick(), digest));
    answered += 1;
    if (answered === usesOfEachKill / 2) await victim.kill();
  });
  await victim.restart();
}

function races(engine: Engine): void {
  const rounds = lengthOf({ short: 250, long: engine.longRounds });
  let hosts: HostProcesses;

  beforeAll(async () => {
    hosts = await startHosts(engine, processCount);
  });
  afterAll(() => hosts.close());

  it(`counts once over ${processCount} processes at the same moment, ${rounds} rounds`, async () => {
    const wrong: (readonly Outcome[])[] = [];
    await inLanes(rounds, async () => {
      const outcomes = await everywhere(hosts, newDigest());
      if (outcomes.join(" ") !== "used used-before used-before used-before") wrong.push(outcomes);
    });
    expect([wrong.length, wrong.slice(0, 3)]).toEqual([0, []]);
  });

  it(`does not count again after the process that took it was killed, ${kills} kills`, async () => {
    const seed = randomInt(2 ** 31);
    process.stderr.write(`${engine.name}: seed ${seed}\n`);
    const [told, random] = [new Map<string, Outcome>(), randomOf(seed)];
    for (let kill = 0; kill < kills; kill += 1) await useWhileKilled(hosts, { random, told });
    const wrong: string[] = [];
    for (const [digest, outcome] of told) {
      const times = (await everywhere(hosts, digest)).filter((one) => one === "used").length;
      // what was not answered may have been used or not
      if (times > (outcome === "unanswered" ? 1 : 0)) wrong.push(`${outcome}, and then ${times} times more`);
    }
    expect(wrong).toEqual([]);
    expect([...told.values()].filter((outcome) => outcome === "used").length).toBeGreaterThan(kills);
    expect(hosts.failures).toEqual([]);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `one client assertion in many processes over ${engine.name} (RFC 7523 §3, 7519 §4.1.7)`,
    tests: () => races(engine),
  });
}
