/** How much time has passed, whatever is done to the clock. RFC 7662 §4, 9111 §4.2.3 (the age of what is remembered). */
import type { Clock } from "../protocol/time";

/** A moment by a clock, which may be set, and by the seconds for which this process has run: they pass by themselves, and only forward. */
export interface Moment {
  readonly at: number;
  readonly ran: number;
  /** How often the clock has been set back. */
  readonly steps: number;
}

/** Moments by this clock. When it is set back, they go on from where they were. */
export function momentsOf(clock: Clock): () => Moment {
  let last = -Infinity;
  let ahead = 0;
  let steps = 0;
  return () => {
    const now = clock();
    if (now < last) {
      ahead += last - now;
      steps += 1;
    }
    last = now;
    return { at: now + ahead, ran: performance.now() / 1000, steps };
  };
}

/** The seconds that have passed, by whichever says more: a step back that nobody has seen makes nothing last longer. */
export function secondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(later.at - earlier.at, later.ran - earlier.ran);
}

/** The seconds that may have passed: any number if the clock was set back meanwhile. */
export function mostSecondsBetween(earlier: Moment, later: Moment): number {
  return earlier.steps === later.steps ? secondsBetween(earlier, later) : Infinity;
}

/** Tells whether so many seconds have passed since this call. */
export function deadlineIn(seconds: number): () => boolean {
  const end = performance.now() + seconds * 1000;
  return () => performance.now() >= end;
}
