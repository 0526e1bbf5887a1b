/** How the protocol counts time, and how far clocks may differ. RFC 7519 §2 (NumericDate), §4.1.4 (leeway). */

/** Whole seconds since 1970-01-01T00:00:00Z. Something expires at the moment `now >= expiresAt`. */
export type EpochSeconds = number;

/** Returns the current time. It is passed in, so that tests can set it and the rules never read a system clock. */
export type Clock = () => EpochSeconds;

/**
 * How far, in seconds, the clocks of the processes, the database and the machine where people sign in may differ. A time that
 * another machine states is accepted up to this difference. A database keeps a record this much longer than the record says:
 * otherwise a process whose clock is behind could find a spent token without the mark that it was spent, or a revoked token
 * without its revocation.
 */
export const clockDriftSeconds = 300;

/** The earliest moment that a time of another machine can mean: one ahead of `now` comes from a clock that is ahead. */
export function earliestOf(time: EpochSeconds, now: EpochSeconds): EpochSeconds {
  return time > now ? time - clockDriftSeconds : time;
}

/**
 * What the slowest clock may show while this one shows `now`. What ends something looks it up by this time: what has expired here may
 * still be used where the clock is behind.
 */
export function bySlowestClock(now: EpochSeconds): EpochSeconds {
  return now - clockDriftSeconds;
}
