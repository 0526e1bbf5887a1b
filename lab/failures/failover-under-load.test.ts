/**
 * A database loses its primary while hosts in several processes spend codes, rotate refresh tokens and end things. It prints what an
 * asynchronous standby has lost. With `AUTHMOUNT_LONG=1` there are more rounds.
 */
import { setTimeout as delay } from "node:timers/promises";
import { digestToken } from "../../lib/protocol/token-value";
import {
  type Answer,
  type ApiId,
  ask,
  codeOf,
  type HostProcesses,
  lengthOf,
  type Question,
  startHosts,
  tokensOf,
} from "../../__tests__/servers/cluster-processes";
import { replicatedMariadb } from "./mysql-replication";
import { replicatedPostgres } from "./postgres-replication";
import type { Replicated, Replication, ReplicationMode } from "./replication";
import { describeWith } from "../../__tests__/servers/server-process";

jest.setTimeout(lengthOf({ short: 600_000, long: 1_800_000 }));

const lanes = 8;
const clientId = "shop";

/** A code or refresh token, and the question that spends it. */
interface Spendable {
  readonly text: string;
  readonly question: Question;
}

/** One authorization, as far as the client was told. */
interface Chain {
  readonly api: ApiId;
  readonly accessTokens: string[];
  /** What was sent, once, and when the answer with tokens came. */
  readonly sent: (Spendable & { readonly acknowledgedAt?: number })[];
  /** What was acknowledged last and never sent. */
  unsent: Spendable | undefined;
  /** What was asked to end it. */
  end?: "acknowledged" | "in doubt";
}

interface Load {
  readonly pair: Replicated;
  readonly hosts: HostProcesses;
  readonly chains: Chain[];
  /** Every failure that a client heard. */
  readonly failures: Set<string>;
  acknowledged: number;
  isOver: boolean;
}

const endWays = [
  "/revoke",
  "auth.consents.revoke",
  "auth.authorizations.revoke",
  "auth.subjects.revoke",
] as const;

/** Sends it to one of the processes. */
async function send({ hosts, failures }: Load, question: Question): Promise<Answer> {
  const host = hosts.processes[Math.floor(Math.random() * hosts.processes.length)];
  if (!host) throw new Error("no host");
  const answer = await host.send(question);
  const { status, location, body } = answer;
  const told = location === undefined ? body["error"] : new URL(location).searchParams.get("error");
  if (status >= 500 || (status === 302 && told)) failures.add(`${status} ${String(told)}`);
  return answer;
}

async function spend(load: Load, chain: Chain): Promise<boolean> {
  const { unsent, api } = chain;
  if (!unsent) return false;
  chain.unsent = undefined;
  const answer = await send(load, unsent.question);
  if (answer.status !== 200) {
    chain.sent.push(unsent);
    return false;
  }
  chain.sent.push({ ...unsent, acknowledgedAt: Date.now() });
  load.acknowledged += 1;
  const { accessToken, refreshToken } = tokensOf(answer);
  chain.accessTokens.push(accessToken);
  chain.unsent = { text: refreshToken, question: ask.refresh(api, refreshToken) };
  return true;
}

async function end(load: Load, { chain, subject }: { chain: Chain; subject: string }): Promise<void> {
  const { api, unsent } = chain;
  const way = endWays[load.chains.length % endWays.length];
  if (!unsent || way === undefined) return;
  chain.end = "in doubt";
  const target = { clientId, apiId: api, subject };
  const question = way === "/revoke" ? ask.revoke(api, unsent.text) : ask.end(way, target);
  if ((await send(load, question)).status === 200) chain.end = "acknowledged";
}

/** One person after the other comes, and their client spends what it gets; for every third one it all ends. */
async function lane(load: Load, name: string): Promise<void> {
  for (let visit = 0; !load.isOver; visit += 1) {
    const api: ApiId = visit % 2 === 0 ? "orders" : "reports";
    const subject = `${name}-${visit}`;
    const answer = await send(load, ask.silentCode({ clientId, apiId: api }, subject));
    if (!answer.location?.includes("code=")) continue;
    const code = codeOf(answer);
    const unsent = { text: code, question: ask.tokens(api, code) };
    const chain: Chain = { api, accessTokens: [], sent: [], unsent };
    load.chains.push(chain);
    for (let step = 0; step < visit % 5; step += 1) if (!(await spend(load, chain))) break;
    if (visit % 3 === 2) await end(load, { chain, subject });
  }
}

async function untilAcknowledged(load: Load, count: number): Promise<void> {
  const enough = load.acknowledged + count;
  for (let turns = 0; load.acknowledged < enough; turns += 1) {
    if (turns > 6_000)
      throw new Error(`the hosts serve no longer: ${load.hosts.failures.join("").slice(0, 2_000)}`);
    await delay(10);
  }
}

interface Round extends Load {
  readonly diedAt: number;
}

/** A failover under load, the standby cut off for so long before. What `check` finds is given when everything is stopped. */
async function failOverUnderLoad<T>(
  {
    database,
    mode,
    lagMilliseconds = 0,
  }: { readonly database: Replication; readonly mode: ReplicationMode; readonly lagMilliseconds?: number },
  check: (round: Round) => Promise<T>,
): Promise<T> {
  const pair = await database.start(mode);
  const hosts = await startHosts({ start: async () => pair.store }, 2);
  try {
    const load: Load = { pair, hosts, chains: [], failures: new Set(), acknowledged: 0, isOver: false };
    const working = Promise.all(Array.from({ length: lanes }, (_, index) => lane(load, `lane-${index}`)));
    await untilAcknowledged(load, 100);
    if (lagMilliseconds > 0) pair.link.freeze();
    await delay(lagMilliseconds);
    const diedAt = Date.now();
    await pair.losePrimary();
    await pair.promote();
    await untilAcknowledged(load, 20);
    load.isOver = true;
    await working;
    return await check({ ...load, diedAt });
  } finally {
    await hosts.close();
  }
}

async function tally(
  load: Load,
  { question, times }: { question: Question; times: number },
): Promise<string> {
  const answers = await Promise.all(Array.from({ length: times }, () => send(load, question)));
  const bought = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ body }) => body["error"] === "invalid_grant").length;
  return `${bought} bought, ${refused} refused of ${times}`;
}

/** The question to this chain, and what may come of it. A replay ends a chain, so each is asked about one code or token only. */
function questionOf(
  { sent, unsent, end: ended }: Chain,
  { times, asksForSpent }: { times: number; asksForSpent: boolean },
): { readonly question: Question; readonly allowed: readonly string[] } | undefined {
  const usable = `1 bought, ${times - 1} refused of ${times}`;
  const usedUp = `0 bought, ${times} refused of ${times}`;
  const inDoubt = sent.find(({ acknowledgedAt }) => acknowledgedAt === undefined);
  if (inDoubt) return { question: inDoubt.question, allowed: [usable, usedUp] };
  const spent = sent.at(-1);
  if (asksForSpent && spent) return { question: spent.question, allowed: [usedUp] };
  if (!unsent) return undefined;
  const allowed = { none: [usable], acknowledged: [usedUp], "in doubt": [usable, usedUp] }[ended ?? "none"];
  return { question: unsent.question, allowed };
}

/** What is wrong with the chain at the new primary. */
async function wrongOf(load: Load, { chain, index }: { chain: Chain; index: number }): Promise<string[]> {
  const wrong: string[] = [];
  const { api, accessTokens, end: ended } = chain;
  const wanted = { none: [200], acknowledged: [401], "in doubt": [200, 401] }[ended ?? "none"];
  for (const token of accessTokens) {
    const { status } = await send(load, ask.call(api, token));
    if (!wanted.includes(status)) wrong.push(`an access token got ${status}, ended: ${ended}`);
  }
  const times = index % 5 === 0 ? 32 : 2;
  const asked = questionOf(chain, { times, asksForSpent: index % 2 === 0 });
  if (!asked) return wrong;
  const found = await tally(load, { question: asked.question, times });
  if (!asked.allowed.includes(found)) wrong.push(`${found}, ended: ${ended}, but: ${asked.allowed.join()}`);
  return wrong;
}

async function checkChains(round: Round): Promise<readonly string[]> {
  const wrong: string[] = [];
  const left = round.chains.entries();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const [index, chain] of left) wrong.push(...(await wrongOf(round, { chain, index })));
    }),
  );
  return wrong;
}

/** The acknowledged uses that the new primary does not know, by their age when the old one died. */
async function lostOf({ pair, chains, diedAt }: Round) {
  const used = chains.flatMap(({ sent }) => sent).filter((each) => each.acknowledgedAt !== undefined);
  const known = new Set(await pair.spent());
  const age = ({ acknowledgedAt = 0 }): number => diedAt - acknowledgedAt;
  const lost = used.filter(({ text }) => !known.has(digestToken(text))).map(age);
  return { lost, lastSecond: used.filter((each) => age(each) >= 0 && age(each) <= 1_000).length };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function synchronous(database: Replication): void {
  const rounds = lengthOf({ short: 1, long: 10 });

  it(`nothing that was acknowledged is lost, and nothing is usable twice: ${rounds} rounds`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { wrong, failures, lost } = await failOverUnderLoad(
        { database, mode: "synchronous" },
        async (done) => ({
          failures: [...done.failures].toSorted(),
          lost: (await lostOf(done)).lost,
          wrong: await checkChains(done),
        }),
      );
      process.stderr.write(`${database.name}, synchronous: failures ${failures.join(", ")}\n`);
      expect([lost, wrong]).toEqual([[], []]);
    }
  });
}

/** For how long the standby has heard nothing when the primary dies. */
const cutOffs = lengthOf({
  short: [{ lagMilliseconds: 250, rounds: 1 }],
  long: [
    { lagMilliseconds: 1_000, rounds: 3 },
    { lagMilliseconds: 250, rounds: 3 },
    { lagMilliseconds: 0, rounds: 10 },
  ],
});

function asynchronous(database: Replication): void {
  it.each(cutOffs)("prints what is lost: %j", async ({ lagMilliseconds, rounds }) => {
    const found: Awaited<ReturnType<typeof lostOf>>[] = [];
    while (found.length < rounds) {
      found.push(await failOverUnderLoad({ database, mode: "asynchronous", lagMilliseconds }, lostOf));
    }
    const lost = found.map((each) => each.lost.length);
    const figures = {
      lagMilliseconds,
      rounds,
      roundsWithLoss: lost.filter((count) => count > 0).length,
      acknowledgedInLastSecond: Math.round(sum(found.map(({ lastSecond }) => lastSecond)) / rounds),
      lostPerRound: { mean: sum(lost) / rounds, most: Math.max(...lost) },
      oldestLostMilliseconds: Math.max(0, ...found.flatMap((each) => each.lost)),
    };
    process.stderr.write(`${database.name}, asynchronous: ${JSON.stringify(figures)}\n`);
    expect(found).toHaveLength(rounds);
  });
}

for (const database of [replicatedPostgres, replicatedMariadb]) {
  describeWith(database, {
    name: `${database.name} that loses its primary under load (RFC 6749 §4.1.2, §10.5; 7009 §2.1; 9700 §4.14.2)`,
    tests() {
      describe("a synchronous standby takes over", () => synchronous(database));
      describe("an asynchronous standby takes over", () => asynchronous(database));
    },
  });
}
