// Processes end at any moment, with requests half done: between spending a code or token and answering, above all. Nobody gets a
// second success out of that, and what was answered stays good.
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Answer,
  type ApiId,
  ask,
  codeOf,
  type Engine,
  engines,
  type HostProcess,
  type HostProcesses,
  lengthOf,
  type Question,
  startHosts,
  type TokenPair,
  tokensOf,
} from "../../__tests__/servers/cluster-processes";
import { randomOf } from "./schedule";
import { describeWith } from "../../__tests__/servers/server-process";

const processCount = 4;
const kills = lengthOf({ short: 4, long: 100 });
const lanes = 6;
const hangMilliseconds = 20_000;

jest.setTimeout(lengthOf({ short: 600_000, long: 1_800_000 }));

/** One authorization, as far as the client was told. */
interface Chain {
  readonly api: ApiId;
  readonly accessTokens: string[];
  /** What was spent and answered. */
  readonly spent: Question[];
  /** What the next step spends; each is spent once while the processes are killed. */
  next: { readonly kind: "code" | "refresh_token"; readonly value: string };
  /** True when the last step was sent and never answered. */
  unanswered: boolean;
}

interface Tally {
  kills: number;
  requests: number;
  refusedConnections: number;
  unanswered: number;
  readonly wrong: string[];
}

interface Place {
  readonly hosts: HostProcesses;
  readonly random: () => number;
  readonly tally: Tally;
  readonly chains: Chain[];
}

function pick<T>({ random }: Place, list: readonly T[]): T {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error("nothing to pick from");
  return chosen;
}

async function inTime({ tally }: Place, answer: Promise<Answer>): Promise<Answer> {
  const controller = new AbortController();
  const late = delay(hangMilliseconds, undefined, { signal: controller.signal }).then(() => {
    tally.wrong.push("a request hangs");
    throw new Error("a request hangs");
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    controller.abort();
  }
}

/** Asks any process; one that takes no connection has seen nothing of it, so another is asked. */
async function askAny(place: Place, question: Question): Promise<Answer | "unanswered"> {
  const { hosts, tally } = place;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    tally.requests += 1;
    try {
      return await inTime(place, pick(place, hosts.processes).send(question));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") {
        tally.unanswered += 1;
        return "unanswered";
      }
      tally.refusedConnections += 1;
    }
  }
  throw new Error("no process takes connections");
}

function questionOf({ api, next }: Chain): Question {
  return next.kind === "code" ? ask.tokens(api, next.value) : ask.refresh(api, next.value);
}

function take(chain: Chain, { accessToken, refreshToken }: TokenPair): void {
  chain.spent.push(questionOf(chain));
  chain.accessTokens.push(accessToken);
  chain.next = { kind: "refresh_token", value: refreshToken };
}

async function newChain(place: Place): Promise<Chain | undefined> {
  const api = pick<ApiId>(place, ["orders", "reports"]);
  const answer = await askAny(place, ask.code(api));
  if (answer === "unanswered") return undefined;
  if (answer.status !== 302) {
    place.tally.wrong.push(`no code but ${answer.status} ${JSON.stringify(answer.body)}`);
    return undefined;
  }
  const chain: Chain = {
    api,
    accessTokens: [],
    spent: [],
    next: { kind: "code", value: codeOf(answer) },
    unanswered: false,
  };
  place.chains.push(chain);
  return chain;
}

/** Spends what the chain has; true when the client got more. */
async function step(place: Place, chain: Chain): Promise<boolean> {
  const answer = await askAny(place, questionOf(chain));
  chain.unanswered = answer === "unanswered";
  if (answer === "unanswered") return false;
  if (answer.status !== 200) {
    place.tally.wrong.push(`a good ${chain.next.kind} got ${answer.status} ${JSON.stringify(answer.body)}`);
    return false;
  }
  take(chain, tokensOf(answer));
  return true;
}

/** Authorizes, exchanges and refreshes a few times, until it is told that all kills are done. */
async function lane(place: Place, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const chain = await newChain(place);
    if (!chain) continue;
    let stepsLeft = 1 + Math.floor(place.random() * 5);
    while (stepsLeft > 0 && (await step(place, chain))) stepsLeft -= 1;
  }
}

function inDoubt({ chains }: Place): number {
  return chains.filter(({ unanswered }) => unanswered).length;
}

/** Goes on for a while if no kill has met an exchange. */
async function killAndRestart(place: Place): Promise<void> {
  const isEnough = (): boolean => place.tally.kills >= (inDoubt(place) > 0 ? kills : 10 * kills);
  while (!isEnough()) {
    await delay(place.random() * 300);
    const victim: HostProcess = pick(place, place.hosts.processes);
    await victim.kill();
    place.tally.kills += 1;
    await victim.restart();
  }
}

/** Does the same for every item, a few at a time. */
async function forEach<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of left) await act(item);
    }),
  );
}

async function checkAccessTokens(place: Place, { api, accessTokens }: Chain): Promise<void> {
  for (const accessToken of accessTokens) {
    const answer = await askAny(place, ask.call(api, accessToken));
    if (answer === "unanswered" || answer.status !== 200) {
      place.tally.wrong.push(`an access token of ${api} is dead: ${JSON.stringify(answer)}`);
    }
  }
}

type Outcome = "success" | "invalid_grant" | "other";

function outcomeOf(answer: Answer | "unanswered"): Outcome {
  if (answer === "unanswered") return "other";
  if (answer.status === 200) return "success";
  return answer.status === 400 && answer.body["error"] === "invalid_grant" ? "invalid_grant" : "other";
}

/** The last code or token of the chain, from two processes at once and then again. */
async function checkLast(place: Place, chain: Chain): Promise<void> {
  const question = questionOf(chain);
  const together = await Promise.all([askAny(place, question), askAny(place, question)]);
  const outcomes = [...together, await askAny(place, question)].map(outcomeOf).toSorted().join(" ");
  const once = "invalid_grant invalid_grant success";
  // a step that was not answered may have been done, and then this is a replay
  const allowed = chain.unanswered ? [once, "invalid_grant invalid_grant invalid_grant"] : [once];
  if (!allowed.includes(outcomes)) {
    place.tally.wrong.push(`the last ${chain.next.kind}, unanswered ${chain.unanswered}: ${outcomes}`);
  }
}

/** What the client has spent long ago is refused still. */
async function checkSpent(place: Place, chain: Chain): Promise<void> {
  const outcome = outcomeOf(await askAny(place, pick(place, chain.spent)));
  if (outcome !== "invalid_grant") place.tally.wrong.push(`a spent code or token: ${outcome}`);
}

/** A replay revokes all of its chain, so each chain serves one question. */
async function checkChain(place: Place, chain: Chain): Promise<void> {
  const askOfSpent = chain.spent.length > 0 && place.random() < 0.25;
  await (askOfSpent ? checkSpent : checkLast)(place, chain);
}

/** A whole chain at this process alone. */
async function checkServes({ tally }: Place, host: HostProcess): Promise<void> {
  const { refreshToken } = tokensOf(
    await host.send(ask.tokens("orders", codeOf(await host.send(ask.code("orders"))))),
  );
  const { accessToken } = tokensOf(await host.send(ask.refresh("orders", refreshToken)));
  const { status } = await host.send(ask.call("orders", accessToken));
  if (status !== 200) tally.wrong.push(`a process answers ${status}`);
}

async function liveThroughKills(place: Place): Promise<void> {
  let over = false;
  const load = Array.from({ length: lanes }, () => lane(place, () => over));
  const killing = killAndRestart(place).finally(() => (over = true));
  await Promise.all([...load, killing]);
}

function kill(engine: Engine): void {
  let hosts: HostProcesses | undefined;

  afterAll(() => hosts?.close());

  it(`takes back nothing and gives nothing twice, ${kills} kills`, async () => {
    const seed = randomInt(2 ** 31);
    process.stderr.write(`${engine.name}: seed ${seed}\n`);
    hosts = await startHosts(engine, processCount);
    const tally: Tally = { kills: 0, requests: 0, refusedConnections: 0, unanswered: 0, wrong: [] };
    const place: Place = { hosts, random: randomOf(seed), tally, chains: [] };
    const before = Date.now();
    await liveThroughKills(place);
    const { wrong, ...counts } = tally;
    const loadSeconds = Math.round((Date.now() - before) / 1000);
    await Promise.all(hosts.processes.map((host) => checkServes(place, host)));
    // first of all the access tokens: a replay is about to revoke some of them
    await forEach(place.chains, (chain) => checkAccessTokens(place, chain));
    await forEach(place.chains, (chain) => checkChain(place, chain));
    const accessTokens = place.chains.flatMap((chain) => chain.accessTokens).length;
    const figures = {
      ...counts,
      chains: place.chains.length,
      inDoubt: inDoubt(place),
      accessTokens,
      loadSeconds,
    };
    process.stderr.write(`${engine.name}: ${JSON.stringify(figures)}\n`);
    expect([wrong.length, wrong.slice(0, 3)]).toEqual([0, []]);
    expect(hosts.failures).toEqual([]);
    expect(figures.inDoubt).toBeGreaterThan(0);
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `processes killed under load over ${engine.name} (RFC 6749 §4.1.2, §10.4; 9700 §4.14.2)`,
    tests: () => kill(engine),
  });
}
