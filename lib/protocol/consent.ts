/** A remembered permission of an end user for one client at one API. RFC 6749 §1.3, §10.2. */
import type { EpochSeconds } from "./time";

/** Whose permission, for which client, at which API. */
export interface ConsentKey {
  /** The stable id of the end user. */
  readonly subject: string;
  readonly clientId: string;
  readonly apiId: string;
}

/** A remembered consent. Scopes that were added to the client later are not in it, so people are asked about them. */
export interface Consent extends ConsentKey {
  /** What the end user allowed, implied scopes included. */
  readonly scopes: readonly string[];
  readonly grantedAt: EpochSeconds;
  /** From then on the person is asked again. */
  readonly expiresAt: EpochSeconds;
  /** The end mark that was in force when the person was asked; `undefined` when there was none. */
  readonly endMark?: string;
}

/** True for a consent that was given after the last withdrawal. Compares marks, not clocks, which differ between processes. */
export function isInForce({ endMark }: Consent, current: string | undefined): boolean {
  return current === undefined || endMark === current;
}

/** The scopes to remember: earlier ones that were not asked about again, and those that were allowed now. */
export function rememberedScopes(
  before: Consent | undefined,
  decision: { askedScopes: readonly string[]; grantedScopes: readonly string[] },
): readonly string[] {
  const untouched = (before?.scopes ?? []).filter((scope) => !decision.askedScopes.includes(scope));
  return [...untouched, ...decision.grantedScopes];
}
