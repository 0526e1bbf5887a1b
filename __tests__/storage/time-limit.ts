/** The time limit of a storage call, made short. */
import { stopClockForEachTest } from "../hosts/clock";

/** What became of the time limits. */
export interface Timers {
  /** Time limits that were begun. */
  readonly begun: unknown[];
  /** Every timer that was cleared. */
  readonly cleared: Set<unknown>;
}

/** Lets the five seconds of a storage call pass in five milliseconds, and every other time as it is. */
export function shortenTimeLimit(): Timers {
  const timers: Timers = { begun: [], cleared: new Set() };
  const { setTimeout: begin, clearTimeout: end } = globalThis;
  const beginShort = (callback: () => void, milliseconds?: number): NodeJS.Timeout => {
    if (milliseconds !== 5_000) return begin(callback, milliseconds);
    const timer = begin(callback, 5);
    timers.begun.push(timer);
    return timer;
  };
  jest.spyOn(globalThis, "setTimeout").mockImplementation(beginShort);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.cleared.add(timer);
    end(timer);
  });
  return timers;
}

/** The time limits of the test that runs. */
export let timers: Timers;

/** For each test of the file the clock stands still, and the time limit is short. */
export function shortenTimeLimitForEachTest(): void {
  stopClockForEachTest();
  beforeEach(() => {
    timers = shortenTimeLimit();
  });
}
