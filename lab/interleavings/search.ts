/** Searches settings for schedules that break a rule, and says how to see them again. */
import { describeChoices, explore, type Explored, type Finding, lineOf } from "./explore";
import type { Format } from "./host";
import { type OperationName, operationNames, operationOf } from "./operations";
import { type Fault, faults } from "./scheduler";
import { collide, type Touch } from "./touches";
import { describeSetting, newWorld, type Memory, partsOf, type Setting } from "./worlds";

/** With `AUTHMOUNT_LONG=1` everything is tried; otherwise what a test run has time for. */
export const isLong = process.env["AUTHMOUNT_LONG"] === "1";
// a test of the long form tries one operation with every other
if (isLong) jest.setTimeout(12 * 3_600_000);

/** What processes may know of the client. */
export const memories: readonly Memory[] = ["fresh", "remembered"];

/**
 * Nothing waits for time: a call that is late is told so by the scheduler. The timers of the library's own limits would only fire when the
 * machine is busy, so they stand still.
 */
export function stopTimers(): void {
  beforeAll(() => {
    jest.useFakeTimers({
      doNotFake: [
        "setImmediate",
        "clearImmediate",
        "nextTick",
        "queueMicrotask",
        "Date",
        "performance",
        "hrtime",
      ],
    });
  });
  afterAll(() => void jest.useRealTimers());
}

/** True for an operation beside the family, or about one word of the host. */
export function isBeside(name: OperationName): boolean {
  const { needs, word, brings, only } = operationOf(name);
  return [needs, word, brings, only].some((beside) => beside !== undefined);
}

/** Every pair of this operation with itself and with those behind it in the table. */
export function pairsWith(name: OperationName): readonly (readonly OperationName[])[] {
  return operationNames.slice(operationNames.indexOf(name)).map((other) => [name, other]);
}

/** In which form a token for the client itself carries its end mark: in the stored record, and in the JWT. */
const bothForms: readonly OperationName[] = ["ask for the client itself"];

/** A process remembers nothing of a client that has registered itself when it asks, and nothing of assertions. */
function isRemembered(name: OperationName): boolean {
  const { needs, brings } = operationOf(name);
  return needs !== "registered client" && brings !== "keyed client";
}

/** The formats of the long form. It has ID tokens where one of the operations may give one. */
function everyFormat(names: readonly OperationName[]): readonly Format[] {
  const mayTell = names.some((name) => operationOf(name).presents);
  return mayTell ? ["opaque", "jwt", "openid"] : ["opaque", "jwt"];
}

/** The settings of these operations. Elsewhere it matters only where keys change that tokens are signed. */
export function settingsOf(names: readonly OperationName[]): readonly Setting[] {
  const signed = names.includes("rotate keys");
  const isBoth = names.some((name) => bothForms.includes(name));
  const some: readonly Format[] = isBoth ? ["opaque", "jwt"] : [signed ? "jwt" : "opaque"];
  const only = names.flatMap((name) => operationOf(name).only ?? []);
  const formats = only.length > 0 ? new Set(only) : isLong ? everyFormat(names) : some;
  const tried = isLong || names.every(isRemembered) ? memories : (["fresh"] as const);
  return [...formats].flatMap((format) => tried.map((memory) => ({ names, memory, format })));
}

/** All that an operation touches when it runs alone, beside what all of the setting need. */
async function touchedBy(name: OperationName, setting: Setting): Promise<readonly Touch[]> {
  const world = await newWorld({ ...setting, names: [name], parts: partsOf(setting.names) });
  const { scheduler, operations } = world;
  const touches: Touch[] = [];
  await scheduler.start(operations);
  for (let [next] = scheduler.waiting(); next; [next] = scheduler.waiting()) {
    touches.push(...next.touches);
    await scheduler.step(next.id);
  }
  return touches;
}

const isOfPushed = (name: OperationName): boolean => operationOf(name).needs === "pushed request";
const isOfBound = (name: OperationName): boolean => operationOf(name).needs === "bound client";
const isOfExchange = (name: OperationName): boolean => operationOf(name).needs === "resource server";
const isFinal = (name: OperationName): boolean => /^(?:erase|delete|expire)/.test(name);

/** What touches everything has something to do with these only: the others are not signed, not derived, or have run out by `expire`. */
const relatives: Partial<Record<OperationName, (name: OperationName) => boolean>> = {
  "registrations expire": (name) => operationOf(name).needs === "registered client",
  exchange: (name) => isOfExchange(name) || operationOf(name).needs === undefined,
  "revoke the resource server": isOfExchange,
  "end the other API": isOfExchange,
  // "refresh" has met the others
  "refresh with the key": isOfBound,
  "refresh without the key": isOfBound,
  "replay without the key": isOfBound,
  // "approve" has met the others
  "approve the pushed request": (name) => isOfPushed(name) || isFinal(name),
  "approve the pushed request elsewhere": isOfPushed,
  "ask userinfo": (name) => operationOf(name).needs === undefined,
  "rotate keys": (name) => operationOf(name).needs === "client itself",
  "rotate secrets": (name) => operationOf(name).word !== undefined,
};

/** True when two of the operations touch something in common. If none do, each runs as if it were alone, and all orders are equal. */
async function hasOrders(setting: Setting): Promise<boolean> {
  const touched: (readonly Touch[])[] = [];
  for (const name of setting.names) touched.push(await touchedBy(name, setting));
  return touched.some((one, place) => touched.slice(place + 1).some((other) => collide(one, other)));
}

/**
 * Whether there is time for this setting. The short form leaves out pairs with an operation beside the family whose orders are all
 * equal, or of which one touches everything and has nothing to do with the other. The long form has them all.
 */
async function isWorthwhile(setting: Setting): Promise<boolean> {
  const { names } = setting;
  if (isLong || !names.some(isBeside)) return true;
  const areRelatives = names.every((name, place) =>
    names.every((other, at) => at === place || relatives[name]?.(other) !== false),
  );
  return areRelatives && hasOrders(setting);
}

/** A finding for people, with the line that replays it. */
export function describeFinding(setting: Setting, { problems, choices }: Finding): string {
  const line = `${describeSetting(setting)}: ${lineOf(choices)}`;
  return `${problems.join("; ")}\n\n${describeChoices(choices)}\n\nTo see it again:\nAUTHMOUNT_REPLAY="${line}" npx jest interleavings/replay`;
}

/** Which faults a search injects. */
export const faultPlans = {
  none: () => [],
  /** One at one call in three of the first schedules, and at ever fewer of later ones, each in its turn. */
  "now and then": (schedule: number, step: number) => {
    const period = 3 * (1 + Math.floor(schedule / 10));
    return (schedule + step) % period === 0
      ? [faults[((schedule + step / 3) % faults.length) | 0] ?? "fails"]
      : [];
  },
  all: () => faults,
} as const satisfies Record<string, (schedule: number, step: number) => readonly Fault[]>;

/** Searches this setting. */
export async function searched(
  setting: Setting,
  { plan, maxSchedules = 20_000 }: { plan: keyof typeof faultPlans; maxSchedules?: number },
): Promise<Explored> {
  const explored = await explore(() => newWorld(setting), {
    maxSchedules,
    orders: "different ones",
    faultsAt: faultPlans[plan],
  });
  jest.clearAllTimers();
  return explored;
}

/** Searches these settings to the end, and prints how much there was. @throws Error with the first schedule that breaks a rule */
export async function expectNothing(
  settings: readonly Setting[],
  { plan, title }: { plan: keyof typeof faultPlans; title: string },
): Promise<number> {
  let [schedules, pruned, withFaults, left] = [0, 0, 0, 0];
  for (const setting of settings) {
    if (!(await isWorthwhile(setting))) {
      left += 1;
      continue;
    }
    const explored = await searched(setting, { plan });
    const [finding] = explored.findings;
    if (finding) throw new Error(describeFinding(setting, finding));
    if (!explored.isComplete) throw new Error(`${describeSetting(setting)} has too many schedules`);
    schedules += explored.schedules;
    pruned += explored.pruned;
    withFaults += explored.withFaults;
    if (isLong) {
      const counts = `${explored.schedules} schedules, ${explored.pruned} pruned, ${explored.withFaults} with a fault`;
      process.stderr.write(`  ${describeSetting(setting)}: ${counts}\n`);
    }
  }
  const leftOut = left > 0 ? `, ${left} settings left out` : "";
  process.stderr.write(
    `${title}: ${settings.length - left} settings, ${schedules} schedules, ${pruned} pruned, ${withFaults} with a fault${leftOut}\n`,
  );
  return schedules + left;
}
