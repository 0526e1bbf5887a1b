/** Time as the protocol counts it, and how far clocks may be apart. RFC 7519 §2 (NumericDate), §4.1.4 (leeway). */

/** Whole seconds since 1970-01-01T00:00:00Z. Something expires at the moment `now >= expiresAt`. */
export type EpochSeconds = number;

/** Gives the current time. */
export type Clock = () => EpochSeconds;

/**
 * How far, in seconds, the clocks of processes, of the database and of the place where people sign in may be apart. The time that
 * another machine states is believed up to this difference. A database keeps a record this much longer than the record says: a
 * process whose clock is behind must not find a spent token without the mark that it was spent, or a revoked one without its
 * revocation.
 */
export const clockDriftSeconds = 300;
