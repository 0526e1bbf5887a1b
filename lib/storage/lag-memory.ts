/** Remembers answers of storage for a moment, and shares look-ups while they run. RFC 7662 §4 (caching). */
import type { Clock, EpochSeconds } from "../protocol/time";
import { boundedCache } from "./bounded-cache";

/** How old a remembered answer may be. */
export interface Lag {
  /** How long, in seconds, an answer may be repeated without asking again; 0 to ask every time and share nothing. */
  readonly lagSeconds: number;
  readonly clock: Clock;
}

/**
 * Returns the answer for a key.
 *
 * @param ask starts a new look-up. It gets the last answer, which is too old to be repeated, or `undefined`.
 * @param maxAgeSeconds how old the answer may be; left out: the lag. With 0 a new look-up is started, and its answer is remembered.
 */
export type LagMemory<T> = (
  key: string,
  ask: (stale: T | undefined) => Promise<T>,
  maxAgeSeconds?: number,
) => Promise<T>;

/** A moment by the clock, which may be set back, and by the seconds for which this process has run, which pass by themselves. */
interface Moment {
  readonly at: EpochSeconds;
  readonly ran: number;
}

/** With the moment at which its look-up began, or at which what it was made of was read. */
interface Dated<T> extends Moment {
  readonly answer: T;
}

/** What a memory has to know of its answers. */
export interface AnswerFacts<T> {
  /**
   * How many places an answer takes in the memory, 1 for a small one, and 0 for an answer that must not be repeated: it is asked for
   * again each time.
   */
  readonly worth: (answer: T) => number;
  /**
   * When the oldest part of an answer was read, if that was remembered itself. Left out: when the look-up began. Only an answer that takes a
   * place is asked.
   */
  readonly asOf?: (answer: T) => EpochSeconds;
}

const maxRemembered = 10_000;
/** How old a running look-up may be for others to wait for it: one that hangs must not hold up every later request. */
const sharedSeconds = 1;

/** The moment, or an earlier one if something was read before it. */
function noLaterThan({ at, ran }: Moment, asOf: EpochSeconds): Moment {
  const before = Math.max(0, at - asOf);
  return { at: at - before, ran: ran - before };
}

/** The seconds between the two: if the clock was set back meanwhile, those that have really passed. */
function secondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(later.at - earlier.at, later.ran - earlier.ran);
}

/** The same clock, which calls `onSetBack` when it is behind its last answer. */
function watchedClock(clock: Clock, onSetBack: () => void): Clock {
  let latest = 0;
  return () => {
    const now = clock();
    if (now < latest) onSetBack();
    latest = now;
    return now;
  };
}

/**
 * A memory of answers. It returns the remembered answer, otherwise that of a look-up that another request began within the lag,
 * otherwise that of a new look-up. The lag counts from when a look-up began, so no answer is older than the lag. If a look-up
 * fails, everyone who waited for it gets the failure. The memory is bounded: the least recently used answer is dropped first.
 */
export function lagMemory<T>(
  { lagSeconds, clock }: Lag,
  { worth, asOf = () => Infinity }: AnswerFacts<T>,
): LagMemory<T> {
  const remembered = boundedCache<Dated<T>>(maxRemembered, ({ answer }) => worth(answer));
  const underWay = new Map<string, Dated<Promise<T>>>();
  // a clock that is set back must not make any answer last longer
  const readClock = watchedClock(clock, () => {
    remembered.clear();
    underWay.clear();
  });
  // a step back is not seen if nobody asks until the clock has made up for it
  const readNow = (): Moment => ({ at: readClock(), ran: performance.now() / 1000 });

  async function begin(key: string, by: { now: Moment; ask: Parameters<LagMemory<T>>[1] }): Promise<T> {
    const { now, ask } = by;
    const look: Dated<Promise<T>> = { answer: ask(remembered.get(key)?.answer), ...now };
    underWay.set(key, look);
    try {
      const answer = await look.answer;
      // an answer that was overtaken, by a newer look-up or by the clock, is not remembered
      if (underWay.get(key) !== look) return answer;
      if (worth(answer) > 0) remembered.set(key, { answer, ...noLaterThan(now, asOf(answer)) });
      else remembered.delete(key);
      return answer;
    } finally {
      if (underWay.get(key) === look) underWay.delete(key);
    }
  }

  return async (key, ask, maxAgeSeconds = lagSeconds) => {
    const now = readNow();
    const known = remembered.get(key);
    if (known && secondsBetween(known, now) < maxAgeSeconds) return known.answer;
    const begun = underWay.get(key);
    const age = begun ? secondsBetween(begun, now) : Infinity;
    // waiting for a look-up that hangs would make this request hang too
    if (!begun || age >= maxAgeSeconds || age > sharedSeconds) return begin(key, { now, ask });
    const answer = await begun.answer;
    // an answer such as "not found" is not shared: what is registered at this moment must be found at once
    return worth(answer) > 0 && now.at - asOf(answer) < lagSeconds
      ? answer
      : begin(key, { now: readNow(), ask });
  };
}
