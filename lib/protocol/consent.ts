/** Standing permission of an end user for one client at one API. RFC 6749 §1.3, §10.2. */
import type { EpochSeconds } from "./time";

/** Whose permission, for which client, at which API. */
export interface ConsentKey {
  readonly subject: string;
  readonly clientId: string;
  readonly apiId: string;
}

/** A remembered consent. */
export interface Consent extends ConsentKey {
  readonly scopes: readonly string[];
  readonly grantedAt: EpochSeconds;
  readonly expiresAt: EpochSeconds;
  /** The end mark that stood when the person was asked; `undefined` when there was none. */
  readonly endMark?: string;
}

/** True for a consent that was given after the last withdrawal. */
export function isInForce({ endMark }: Consent, current: string | undefined): boolean {
  return current === undefined || endMark === current;
}

/** The scopes to remember: what was allowed before and not asked again, and what is allowed now. */
export function rememberedScopes(
  before: Consent | undefined,
  decision: { askedScopes: readonly string[]; grantedScopes: readonly string[] },
): readonly string[] {
  const untouched = (before?.scopes ?? []).filter((scope) => !decision.askedScopes.includes(scope));
  return [...untouched, ...decision.grantedScopes];
}
