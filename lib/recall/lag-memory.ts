/** Remembers answers of storage for a moment, and shares look-ups while they run. RFC 7662 §4 (caching). */
import type { Clock, EpochSeconds } from "../protocol/time";
import { boundedCache } from "./bounded-cache";
import { type Moment, momentsOf, mostSecondsBetween } from "./moment";
import { type Flight, flights } from "./single-flight";

/** How old a remembered answer may be. */
export interface Lag {
  /** How long, in seconds, an answer may be repeated without asking again; 0 to ask every time and share nothing. */
  readonly lagSeconds: number;
  readonly clock: Clock;
}

/**
 * Returns the answer for a key.
 *
 * @param ask starts a new look-up. It gets the key, and the last answer, which is too old to be repeated, or `undefined`.
 * @param maxAgeSeconds how old the answer may be; left out: the lag. With 0 a new look-up is started, and its answer is remembered.
 */
export type LagMemory<T> = (
  key: string,
  ask: (key: string, stale: T | undefined) => Promise<T>,
  maxAgeSeconds?: number,
) => Promise<T>;

/** What a memory has to know of its answers. */
export interface AnswerFacts<T> {
  /**
   * How many places an answer takes in the memory, 1 for a small one, and 0 for an answer that must not be repeated: it is asked for
   * again each time.
   */
  readonly placesOf: (answer: T) => number;
  /**
   * When the oldest part of an answer was read, if that was remembered itself. Left out: when the look-up began. Only an answer that takes a
   * place is asked.
   */
  readonly asOf?: (answer: T) => EpochSeconds;
}

const maxRemembered = 10_000;
/** How old a running look-up may be for others to wait for it: one that hangs must not hold up every later request. */
const sharedSeconds = 1;

/** With the moment at which its look-up began, or at which what it was made of was read. */
interface Remembered<T> {
  readonly answer: T;
  readonly from: Moment;
}

interface LookUp<T> extends Flight<T> {
  readonly from: Moment;
}

/** The moment, or an earlier one if something was read before it. */
function secondsBefore(moment: Moment, seconds: number): Moment {
  const before = Math.max(0, seconds);
  return { ...moment, at: moment.at - before, ran: moment.ran - before };
}

/**
 * A memory of answers. It returns the remembered answer, otherwise that of a look-up that another request began within the lag,
 * otherwise that of a new look-up. The lag counts from when a look-up began, so no answer is older than the lag. If a look-up
 * fails, everyone who waited for it gets the failure. The memory is bounded: the least recently used answer is dropped first.
 */
export function lagMemory<T>(
  { lagSeconds, clock }: Lag,
  { placesOf, asOf = () => Infinity }: AnswerFacts<T>,
): LagMemory<T> {
  const remembered = boundedCache<Remembered<T>>(maxRemembered, ({ answer }) => placesOf(answer));
  const lookUps = flights<LookUp<T>>();
  const moment = momentsOf(clock);

  function begin(key: string, ask: Parameters<LagMemory<T>>[1]): Promise<T> {
    const [from, now] = [moment(), clock()];
    async function find(): Promise<T> {
      const answer = await ask(key, remembered.get(key)?.answer);
      // an answer that was overtaken by a newer look-up is not remembered
      if (lookUps.get(key) !== lookUp) return answer;
      if (placesOf(answer) > 0)
        remembered.set(key, { answer, from: secondsBefore(from, now - asOf(answer)) });
      else remembered.delete(key);
      return answer;
    }
    const lookUp: LookUp<T> = { answer: find(), from };
    return lookUps.show(key, lookUp).answer;
  }

  return async (key, ask, maxAgeSeconds = lagSeconds) => {
    const now = moment();
    const known = remembered.get(key);
    if (known && mostSecondsBetween(known.from, now) < maxAgeSeconds) return known.answer;
    const begun = lookUps.get(key);
    const age = begun ? mostSecondsBetween(begun.from, now) : Infinity;
    // waiting for a look-up that hangs would make this request hang too
    if (!begun || age >= maxAgeSeconds || age > sharedSeconds) return begin(key, ask);
    const askedAt = clock();
    const answer = await begun.answer;
    // an answer such as "not found" is not shared: what is registered at this moment must be found at once
    return placesOf(answer) > 0 && askedAt - asOf(answer) < lagSeconds ? answer : begin(key, ask);
  };
}
