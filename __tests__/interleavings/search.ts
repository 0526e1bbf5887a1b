/** Searches settings for schedules that break a rule, and says how to see them again. */
import { describeChoices, explore, type Explored, type Finding, lineOf } from "./explore";
import { type OperationName, operationNames } from "./operations";
import { type Fault, faults } from "./scheduler";
import { describeSetting, newWorld, type Memory, type Setting } from "./worlds";

/** With `AUTHMOUNT_LONG=1` everything is tried; otherwise what a test run has time for. */
export const isLong = process.env["AUTHMOUNT_LONG"] === "1";

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

/** Every pair of this operation with itself and with those behind it in the table. */
export function pairsWith(name: OperationName): readonly (readonly OperationName[])[] {
  return operationNames.slice(operationNames.indexOf(name)).map((other) => [name, other]);
}

/** The settings of these operations. Only where keys change does it matter that tokens are signed. */
export function settingsOf(names: readonly OperationName[]): readonly Setting[] {
  const signed = names.includes("rotate keys");
  const formats = isLong ? (["opaque", "jwt"] as const) : ([signed ? "jwt" : "opaque"] as const);
  return formats.flatMap((format) => memories.map((memory) => ({ names, memory, format })));
}

/** A finding for people, with the line that replays it. */
export function describeFinding(setting: Setting, { problems, choices }: Finding): string {
  const line = `${describeSetting(setting)}: ${lineOf(choices)}`;
  return `${problems.join("; ")}\n\n${describeChoices(choices)}\n\nTo see it again:\nAUTHMOUNT_REPLAY="${line}" npx jest interleavings/replay`;
}

/** Which faults a search injects. */
export const faultPlans = {
  none: () => [],
  /** One at one call in three of each schedule, each in its turn. */
  "now and then": (schedule: number, step: number) =>
    (schedule + step) % 3 === 0 ? [faults[((schedule + step / 3) % faults.length) | 0] ?? "fails"] : [],
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
  let [schedules, pruned, withFaults] = [0, 0, 0];
  for (const setting of settings) {
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
  process.stderr.write(
    `${title}: ${settings.length} settings, ${schedules} schedules, ${pruned} pruned, ${withFaults} with a fault\n`,
  );
  return schedules;
}
