/** A remembered permission of an end user for one client at one API. RFC 6749 §1.3, §10.2. */
import type { EpochSeconds } from "./time";

/** What a consent is remembered for: an end user, a client, an API and a context. */
export interface ConsentKey {
  /** The stable id of the end user. */
  readonly subject: string;
  readonly clientId: string;
  readonly apiId: string;
  /** The `key` of the context that the person chose, such as an organization; left out or `""` when there is none. */
  readonly contextKey?: string;
}

/** Everything between one end user, one client and one API. */
export interface ConsentSelection {
  /** The stable id of the end user. */
  readonly subject: string;
  readonly clientId: string;
  readonly apiId: string;
  /** Only what has this context, `""` for what has none. Left out: every context. */
  readonly contextKey?: string;
}

/** How many consents of one end user are remembered. An end user who has given more is asked again about the oldest. */
export const maxConsents = 1_000;

/** A remembered consent. Scopes that were added to the client later are not in it, so people are asked about them. */
export interface Consent extends ConsentKey {
  /** What the end user allowed, implied scopes included. */
  readonly scopes: readonly string[];
  readonly grantedAt: EpochSeconds;
  /** From then on the person is asked again. */
  readonly expiresAt: EpochSeconds;
  /** The end marks that were in force when the person was asked. */
  readonly endMarks: readonly string[];
  /** What a client that nobody registered said of itself when the person was asked. The consent is used only while that is unchanged. */
  readonly clientDigest?: string;
}

/**
 * What to remember: the earlier scopes that were not asked about again, and those that were allowed now. The earlier ones end when they
 * would have ended, and all others with them: nobody was asked about them.
 */
export function remembered(
  before: Consent | undefined,
  decision: { askedScopes: readonly string[]; grantedScopes: readonly string[]; expiresAt: EpochSeconds },
): Pick<Consent, "scopes" | "expiresAt"> {
  const { askedScopes, grantedScopes, expiresAt } = decision;
  const untouched = (before?.scopes ?? []).filter((scope) => !askedScopes.includes(scope));
  return before && untouched.length > 0
    ? { scopes: [...untouched, ...grantedScopes], expiresAt: Math.min(before.expiresAt, expiresAt) }
    : { scopes: grantedScopes, expiresAt };
}
