/** A clock for tests: moves the time of this process forward, for the server, the host and everything else that asks `Date`. */
import { refuseProduction } from "./production";
import { hostMistake } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";

/** The time of this process, which a test can move forward. It keeps running by itself. */
export interface TestClock {
  /** The time that `Date` gives, in epoch seconds. */
  readonly now: () => EpochSeconds;
  /**
   * Moves the time forward.
   *
   * @throws TypeError when it is not whole seconds above 0, or when the clock was restored. Throws Error when something else has replaced
   * `Date` or `Date.now` since, such as fake timers, so that the time would stay where it is.
   */
  readonly advance: (seconds: number) => void;
  /** Takes back the time that this clock has added. Other clocks keep theirs. Calling it again does nothing. */
  readonly restore: () => void;
}

/** What a clock has put in the place of `Date`. */
interface Shift {
  /** The `Date` that was there before. */
  readonly previous: DateConstructor;
  seconds: number;
  isRestored: boolean;
}

// a name for all copies of this module: each of them must recognise what another one has put there
const shiftOf = Symbol.for("authmount.testClock");

function shiftIn(date: DateConstructor): Shift | undefined {
  return Object.hasOwn(date, shiftOf) ? (Reflect.get(date, shiftOf) as Shift) : undefined;
}

/** A `Date` that is later. Its dates are dates of the one before, so `instanceof` holds for old and new ones. */
function shiftedDate(shift: Shift): DateConstructor {
  const { previous } = shift;
  const time = (): number => previous.now() + shift.seconds * 1000;
  function ShiftedDate(...args: readonly unknown[]): unknown {
    if (!new.target) return new previous(time()).toString();
    return Reflect.construct(previous, args.length === 0 ? [time()] : args, new.target);
  }
  Object.setPrototypeOf(ShiftedDate, previous);
  Object.defineProperties(ShiftedDate, {
    name: { value: "Date" },
    length: { value: 7 },
    prototype: { value: previous.prototype, writable: false },
    now: { value: time, writable: true, configurable: true },
    [shiftOf]: { value: shift },
  });
  return ShiftedDate as unknown as DateConstructor;
}

/** Takes away the clocks on top that were restored. One that lies beneath another adds nothing, and goes with that one. */
function removeRestored(): void {
  for (;;) {
    const top = shiftIn(globalThis.Date);
    if (!top?.isRestored) return;
    globalThis.Date = top.previous;
  }
}

/** More would lead to dates that JavaScript cannot express. */
const mostSeconds = 1e11;

function advance(shift: Shift, seconds: number): void {
  if (shift.isRestored)
    throw hostMistake("restored-clock", "clock.advance: this clock was restored. Make another one.");
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds + shift.seconds > mostSeconds)
    throw hostMistake("wrong-seconds", "clock.advance: write whole seconds above 0.");
  const before = Date.now();
  shift.seconds += seconds;
  // time goes on meanwhile, and somebody may set the machine's clock
  if (Date.now() - before >= seconds * 500) return;
  shift.seconds -= seconds;
  throw hostMistake(
    "clock-replaced",
    "clock.advance: Date or Date.now has been replaced since testClock(), by fake timers for example. Move the time by one of them only.",
  );
}

/**
 * A clock over the time of the whole process, or of the test file in Jest. It replaces the global `Date`, so the server, JWTs and your
 * app see the same time. Timers, `performance.now()`, and the clocks of a database and of other processes go on as before.
 *
 * @throws TypeError in production
 */
export function testClock(): TestClock {
  refuseProduction("testClock");
  const shift: Shift = { previous: globalThis.Date, seconds: 0, isRestored: false };
  globalThis.Date = shiftedDate(shift);
  return {
    now: currentTime,
    advance: (seconds) => advance(shift, seconds),
    restore() {
      shift.seconds = 0;
      shift.isRestored = true;
      removeRestored();
    },
  };
}

/** The current time in whole epoch seconds, by the global `Date`. */
export function currentTime(): EpochSeconds {
  return Math.floor(Date.now() / 1000);
}
