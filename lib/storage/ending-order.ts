/** Which authorizations end first where a person has too many at one client. RFC 6749 §10.10. */
import type { ListedAuthorization } from "./port";

/**
 * Below zero when `a` ends before `b`: those that were never used go first, the oldest at the beginning, then those that expire first.
 * So requests that nobody redeems, of a client in a loop or a hostile page, push out each other and not what is in use.
 */
export function inEndingOrder(a: ListedAuthorization, b: ListedAuthorization): number {
  const [isUsed, isOtherUsed] = [a, b].map(({ lastUsedAt }) => lastUsedAt !== undefined);
  if (isUsed !== isOtherUsed) return isUsed ? 1 : -1;
  const byAge = a.createdAt - b.createdAt;
  const byEnd = a.expiresAt - b.expiresAt;
  return isUsed ? byEnd || byAge : byAge || byEnd;
}
