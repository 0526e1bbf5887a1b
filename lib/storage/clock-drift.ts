/** How far the clocks of processes and database may be apart. RFC 7519 §4.1.4 (leeway). */

/**
 * A database keeps a record this much longer than the record says. A process whose clock is behind must not find a spent
 * token without the mark that it was spent, or a revoked one without its revocation.
 */
export const clockDriftSeconds = 300;
