/** Whole seconds since 1970-01-01T00:00:00Z. Something expires at the moment `now >= expiresAt`. RFC 7519 §2 (NumericDate). */
export type EpochSeconds = number;
