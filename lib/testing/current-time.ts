/** The time that a test sees: read at each call, because a test may move it. */
import type { EpochSeconds } from "../protocol/time";

/** The current time in whole epoch seconds, by the global `Date`. */
export function currentTime(): EpochSeconds {
  return Math.floor(Date.now() / 1000);
}
