/** Which authorizations end where a person has too many at one client. RFC 6749 §10.10. */
import type { Authorization } from "../protocol/authorization";
import { type ListedAuthorization, maxAuthorizations } from "./port";

/**
 * Those beyond `maxAuthorizations`, counted apart for what is in use and for what nobody has redeemed. Codes of a client in a loop or a
 * hostile page so push out each other, never what is in use; and what is in use takes no place from a code that is about to be redeemed.
 * As the oldest go first, a code that has expired goes before one that can still be redeemed.
 *
 * @param isNew says which ones were just created, for which somebody waits. They stay.
 */
export function surplusOf(
  living: readonly ListedAuthorization[],
  isNew: (one: Authorization) => boolean,
): readonly ListedAuthorization[] {
  if (living.length <= maxAuthorizations) return [];
  const inOrder = living.toSorted(
    (a, b) =>
      Number(isNew(a)) - Number(isNew(b)) ||
      (a.lastUsedAt ?? 0) - (b.lastUsedAt ?? 0) ||
      a.createdAt - b.createdAt ||
      a.expiresAt - b.expiresAt,
  );
  return [true, false].flatMap((isUsed) => {
    const pool = inOrder.filter(({ lastUsedAt }) => (lastUsedAt !== undefined) === isUsed);
    return pool.slice(0, Math.max(0, pool.length - maxAuthorizations));
  });
}
