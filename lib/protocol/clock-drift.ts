/** How far the clocks of processes, of the database and of where people sign in may be apart. RFC 7519 §4.1.4 (leeway). */

/**
 * What another machine says of time is believed so far, and no further. A database keeps a record this much longer than the
 * record says: a process whose clock is behind must not find a spent token without the mark that it was spent, or a revoked
 * one without its revocation.
 */
export const clockDriftSeconds = 300;
