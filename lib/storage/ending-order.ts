/** Which authorizations end first where a person has too many at one client. RFC 6749 §10.10. */
import type { ListedAuthorization } from "./port";

/** True for what was used. Versions before 0.2 noted no use, and stored no end marks: what they stored may be in use, so it counts as used. */
function wasUsed({ lastUsedAt, endMarks }: ListedAuthorization): boolean {
  return lastUsedAt !== undefined || endMarks === undefined;
}

/**
 * Below zero when `a` ends before `b`: those that were never used go first, the oldest at the beginning, then those that expire first.
 * So requests that nobody redeems, of a client in a loop or a hostile page, push out each other and not what is in use.
 */
export function inEndingOrder(a: ListedAuthorization, b: ListedAuthorization): number {
  const [isUsed, isOtherUsed] = [a, b].map(wasUsed);
  if (isUsed !== isOtherUsed) return isUsed ? 1 : -1;
  const byAge = a.createdAt - b.createdAt;
  const byEnd = a.expiresAt - b.expiresAt;
  return isUsed ? byEnd || byAge : byAge || byEnd;
}
