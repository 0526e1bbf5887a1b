/** Runs a fuzz test: so many bent requests, the rules for each answer, and what a failure needs to be seen again. */
import { createServer } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext, runInThisContext } from "node:vm";
import { type FuzzConnection, fuzzConnection, type WireAnswer } from "./fuzz-connection";
import { newDice } from "./fuzz-dice";
import { type FuzzHost } from "./fuzz-host";
import { offenceOf } from "./fuzz-oracles";
import { bentRequest, type FuzzRequest, smaller, wireOf } from "./fuzz-requests";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const isLong = process.env["AUTHMOUNT_LONG"] === "1";
// a million inputs take minutes, and much longer on a busy machine
if (isLong) jest.setTimeout(12 * 3_600_000);

/** What the environment asks for: how many inputs for each target, with which seed, and which input alone. */
export const wish = {
  isLong,
  count: Number(process.env["AUTHMOUNT_FUZZ_COUNT"] ?? (isLong ? 1_000_000 : 2_000)),
  seed: Number(process.env["AUTHMOUNT_FUZZ_SEED"] ?? Date.now() % 2 ** 31),
  only: process.env["AUTHMOUNT_FUZZ_ONLY"],
} as const;

/** After so many inputs there is a new host: codes and tokens are spent by then. */
const perHost = 2_000;
/** No input may take more processor time than this, above a server that only reads it. */
const maxMilliseconds = 50;
/** The heap may grow by so much over a long run; that of a test runner is never quite still. */
const maxGrowth = 30 * 2 ** 20;

/** Heap that is in use, once garbage is gone. */
export async function heapBytes(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

const troubles: string[] = [];
const advised: string[] = [];

/** The process itself. Jest gives tests a copy, whose listeners hear nothing. */
const realProcess = runInThisContext("process") as NodeJS.Process;

/** What the library tells developers of strange requests. */
const advice = [
  "router-never-reached",
  "well-known-not-mounted",
  "base-path-missing",
  "unknown-address",
  "answer-hidden-from-page",
  "token-without-scope",
  "clocks-differ",
];
/** Express parses the URL of a request by `url.parse`, of which Node warns where the port is none. */
const ofExpress = "DEP0170";

function hear(trouble: unknown): void {
  // not `instanceof`, as it may be of another realm
  const code: unknown = Reflect.get(Object(trouble), "code");
  const isAdvice = [...advice, ofExpress].includes(String(code));
  (isAdvice ? advised : troubles).push(String(trouble));
}

/** What developers were advised of since the last call. */
export function takeAdvice(): string[] {
  return advised.splice(0);
}

/** Hears what nobody has caught and what Node warns of, for all tests of the file. */
export function hearTroubles(): void {
  const kinds = ["unhandledRejection", "uncaughtException", "warning"] as const;
  beforeAll(() => {
    process.emitWarning = realProcess.emitWarning.bind(realProcess);
    for (const kind of kinds) realProcess.on(kind, hear);
  });
  afterAll(() => {
    for (const kind of kinds) realProcess.removeListener(kind, hear);
  });
}

/** What was heard since the last call. */
export function takeTroubles(): string[] {
  return troubles.splice(0);
}

/** A server, a connection to it, and what its host was told. */
interface Asked {
  readonly fuzzed: FuzzHost;
  readonly connection: FuzzConnection;
}

/** What a target is. */
export interface Target {
  readonly name: string;
  readonly requests: readonly FuzzRequest[];
  /** The hosts that get each request; one of them, mostly. All must answer alike. */
  open(): Promise<readonly FuzzHost[]>;
}

/** What a run has shown. */
export interface Report {
  readonly inputs: number;
  readonly perSecond: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly slowestMilliseconds: number;
  readonly heapGrowth: number;
}

/** The host's failures since the last call: nothing has failed here, so there must be none. */
function takeFailures({ host: { events } }: FuzzHost): string | undefined {
  const failure = events.find(({ kind }) => kind === "server-error");
  events.length = 0;
  if (failure?.kind !== "server-error") return undefined;
  const { cause } = failure;
  return `server-error: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`;
}

/** What must be the same, however a request reaches the server. */
function essence(answer: WireAnswer | undefined): string {
  if (!answer) return "no answer";
  const error = /"error":"[^"]*"/.exec(answer.body)?.[0] ?? "";
  return `${answer.status} ${error}`;
}

interface Tried {
  readonly offence: string | undefined;
  readonly status: number;
}

async function tryRequest(
  asked: readonly Asked[],
  { request, number }: { request: FuzzRequest; number: number },
): Promise<Tried> {
  const seen: (WireAnswer | undefined)[] = [];
  for (const { fuzzed, connection } of asked) {
    const bytes = wireOf(request, (text) => fuzzed.fill(text, number));
    const answer = await connection.exchange(bytes);
    seen.push(answer);
    const ofHost = answer && (await fuzzed.offenceOf?.(bytes, answer));
    const offence = offenceOf(bytes, answer, fuzzed) ?? ofHost ?? takeFailures(fuzzed) ?? takeTroubles()[0];
    if (offence !== undefined) return { offence, status: answer?.status ?? 0 };
  }
  const [first, ...others] = seen.map(essence);
  const other = others.find((each) => each !== first);
  // each host has tokens of its own, and whether their first characters complete a percent-encoding is chance
  const isChance = other !== undefined && /%[\da-f]?~/i.test(JSON.stringify(request));
  const offence = other === undefined || isChance ? undefined : `the answers differ: ${first} and ${other}`;
  return { offence, status: seen[0]?.status ?? 0 };
}

async function opened<T>(target: Target, use: (asked: readonly Asked[]) => Promise<T>): Promise<T> {
  const hosts = await target.open();
  const asked = hosts.map((fuzzed) => ({ fuzzed, connection: fuzzConnection(fuzzed.server) }));
  try {
    return await use(asked);
  } finally {
    for (const { connection } of asked) connection.close();
    await Promise.all(hosts.map((fuzzed) => fuzzed.close()));
  }
}

/** The smallest request found that breaks a rule on a new host. */
async function shrunk(
  target: Target,
  { request, number }: { request: FuzzRequest; number: number },
): Promise<FuzzRequest> {
  let smallest = request;
  for (let attempts = 200; attempts > 0;) {
    let found: FuzzRequest | undefined;
    for (const candidate of smaller(smallest)) {
      if (found || attempts-- <= 0) break;
      const { offence } = await opened(target, (asked) => tryRequest(asked, { request: candidate, number }));
      if (offence !== undefined) found = candidate;
    }
    if (!found) return smallest;
    smallest = found;
  }
  return smallest;
}

async function fail(
  target: Target,
  { request, number, offence }: { request: FuzzRequest; number: number; offence: string },
): Promise<never> {
  const again = await opened(target, (asked) => tryRequest(asked, { request, number }));
  const shown = again.offence === undefined ? request : await shrunk(target, { request, number });
  throw new Error(
    [
      `${target.name}: ${offence}`,
      again.offence === undefined
        ? "Alone on a new host the request is answered well; those before it matter."
        : "The smallest request found:",
      JSON.stringify(shown).slice(0, 4_000),
      `Again: AUTHMOUNT_FUZZ_SEED=${wish.seed} AUTHMOUNT_FUZZ_ONLY=${number}`,
    ].join("\n"),
  );
}

const milliseconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

/** The least processor time of four exchanges, as compilers and garbage collection run whenever they like. */
async function leastTime(connection: FuzzConnection, bytes: string): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const before = process.cpuUsage();
    await connection.exchange(bytes);
    times.push(milliseconds(process.cpuUsage(before)));
  }
  return Math.min(...times);
}

/** Processor time of the input, above that of a server that only reads it: a megabyte takes a client and Node some time by itself. */
async function timeOf(
  asked: readonly Asked[],
  { request, number }: { request: FuzzRequest; number: number },
): Promise<number> {
  const reader = createServer((received, answer) => received.resume().once("end", () => answer.end()));
  await new Promise<void>((listening) => reader.listen(0, "127.0.0.1", listening));
  const floor = fuzzConnection(reader);
  const times: number[] = [];
  for (const { fuzzed, connection } of asked) {
    const bytes = wireOf(request, (text) => fuzzed.fill(text, number));
    times.push((await leastTime(connection, bytes)) - (await leastTime(floor, bytes)));
  }
  floor.close();
  reader.closeAllConnections();
  await new Promise((closed) => reader.close(closed));
  return Math.max(0, ...times);
}

interface Progress {
  readonly statuses: Record<string, number>;
  slowest: number;
}

async function runSome(
  target: Target,
  { from, to, progress }: { from: number; to: number; progress: Progress },
): Promise<void> {
  await opened(target, async (asked) => {
    for (let number = from; number < to; number += 1) {
      const request = bentRequest(
        newDice(wish.seed + Buffer.byteLength(target.name), number),
        target.requests,
      );
      const before = process.cpuUsage();
      const { offence, status } = await tryRequest(asked, { request, number });
      const first = milliseconds(process.cpuUsage(before));
      if (offence !== undefined) await fail(target, { request, number, offence });
      progress.statuses[status] = (progress.statuses[status] ?? 0) + 1;
      if (first <= progress.slowest || !wish.isLong) continue;
      const least = first > maxMilliseconds / 2 ? await timeOf(asked, { request, number }) : first;
      progress.slowest = Math.max(progress.slowest, least);
      if (least > maxMilliseconds)
        await fail(target, { request, number, offence: `${least} ms of processor time` });
    }
  });
}

/** Sends all inputs of the run to the target. Throws on the first that breaks a rule, with what is needed to see it again. */
export async function fuzz(target: Target): Promise<Report> {
  const begin = performance.now();
  const [start, end] = wish.only === undefined ? [0, wish.count] : [Number(wish.only), Number(wish.only) + 1];
  const progress: Progress = { statuses: {}, slowest: 0 };
  let heapAtStart: number | undefined;
  for (let from = start; from < end; from += perHost) {
    await runSome(target, { from, to: Math.min(end, from + perHost), progress });
    // by then everything is compiled and loaded
    if (heapAtStart === undefined && from - start >= 4 * perHost) heapAtStart = await heapBytes();
  }
  const seconds = (performance.now() - begin) / 1_000;
  const report: Report = {
    inputs: end - start,
    perSecond: Math.round((end - start) / seconds),
    statuses: progress.statuses,
    slowestMilliseconds: progress.slowest,
    heapGrowth: heapAtStart === undefined ? 0 : (await heapBytes()) - heapAtStart,
  };
  if (wish.isLong) tell(target.name, report);
  if (wish.isLong && report.heapGrowth > maxGrowth)
    throw new Error(`the heap has grown by ${report.heapGrowth} bytes`);
  return report;
}

/** Prints what a long run has shown. */
export function tell(name: string, report: object): void {
  process.stdout.write(`fuzz ${name}, seed ${wish.seed}: ${JSON.stringify(report)}\n`);
}
