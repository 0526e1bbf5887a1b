/** Answers of storage that may be repeated for a moment, and look-ups that may be shared while they run. RFC 7662 §4 (caching). */
import { LRUCache } from "lru-cache";
import type { Clock, EpochSeconds } from "../protocol/time";

export interface Lag {
  /** How long, in seconds, an answer may be repeated without asking again; 0 to ask every time. */
  readonly lagSeconds: number;
  readonly clock: Clock;
}

/**
 * Gives the answer to a key.
 *
 * @param ask a new look-up; it is given the last answer, which may not be repeated any more.
 */
export type LagMemory<T> = (key: string, ask: (stale: T | undefined) => Promise<T>) => Promise<T>;

interface Dated<T> {
  readonly answer: T;
  /** When it was asked for. */
  readonly at: EpochSeconds;
}

const maxRemembered = 10_000;
/** How old a look-up under way may be that others still wait for. */
const sharedSeconds = 1;

/**
 * Answers with what is remembered, else by the look-up that another request has begun within the lag, else by a new one. The
 * lag counts from when a look-up began, so nobody gets an older answer. A failure is that of all who waited for it.
 *
 * @param isWorthIt what is not worth repeating is asked anew each time.
 */
export function lagMemory<T>({ lagSeconds, clock }: Lag, isWorthIt: (answer: T) => boolean): LagMemory<T> {
  const remembered = new LRUCache<string, Dated<T>>({ max: maxRemembered });
  const underWay = new Map<string, Dated<Promise<T>>>();
  let latest = 0;

  function readClock(): EpochSeconds {
    const now = clock();
    // nothing may last longer because a clock was set back
    if (now < latest) {
      remembered.clear();
      underWay.clear();
    }
    latest = now;
    return now;
  }

  async function begin(key: string, by: { now: EpochSeconds; ask: Parameters<LagMemory<T>>[1] }): Promise<T> {
    const { now: at, ask } = by;
    const look: Dated<Promise<T>> = { answer: ask(remembered.get(key)?.answer), at };
    underWay.set(key, look);
    try {
      const answer = await look.answer;
      // one that was overtaken, by a newer one or by the clock, is not remembered
      if (underWay.get(key) !== look) return answer;
      if (isWorthIt(answer)) remembered.set(key, { answer, at });
      else remembered.delete(key);
      return answer;
    } finally {
      if (underWay.get(key) === look) underWay.delete(key);
    }
  }

  return async (key, ask) => {
    const now = readClock();
    const isFresh = (dated: Dated<unknown>): boolean => now - dated.at < lagSeconds;
    const known = remembered.get(key);
    if (known && isFresh(known)) return known.answer;
    const begun = underWay.get(key);
    // one that hangs must not take all others with it
    if (!begun || !isFresh(begun) || now - begun.at > sharedSeconds) return begin(key, { now, ask });
    const answer = await begun.answer;
    // what is registered this moment may come at once
    return isWorthIt(answer) ? answer : begin(key, { now: readClock(), ask });
  };
}
