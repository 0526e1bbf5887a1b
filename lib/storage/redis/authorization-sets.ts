/** What concerns many authorizations of one person in Redis: their list, their limit, their end. RFC 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { AuthorizationPage, AuthorizationSelection, ListedAuthorization } from "../port";
import { surplusOf } from "../ending-order";
import type { AuthorizationIndexes, IndexEntry } from "./authorization-index";
import type { AuthorizationRecords } from "./authorization-records";
import { atOnce } from "./records";

/** Where authorizations are, and what is stored of them. */
export interface AuthorizationSets {
  readonly indexes: AuthorizationIndexes;
  readonly records: AuthorizationRecords;
}

const idOf = ({ authorizationId }: Authorization): string => authorizationId;
const contextKeyOf = ({ context }: Authorization): string => context?.key ?? "";

/** Revokes all of a selection. Entries without a record stay: an approval under way writes its record after them. */
export async function revokeSelection(
  { indexes, records }: AuthorizationSets,
  selection: AuthorizationSelection,
): Promise<number> {
  const { subject, clientId, apiId, contextKey } = selection;
  if (clientId === undefined || apiId === undefined) {
    return records.revoke(await indexes.all(indexes.ofSubject(subject)));
  }
  const ids = await indexes.all(indexes.ofClient({ subject, clientId, apiId }));
  if (contextKey === undefined) return records.revoke(ids);
  // those that have expired too: the caller's clock may be ahead of others
  const found = await records.read(ids, 0);
  return records.revoke(found.filter((one) => contextKeyOf(one) === contextKey).map(idOf));
}

/** A new authorization, and the time of its creation. */
export interface Created {
  readonly authorization: Authorization;
  readonly now: EpochSeconds;
}

/**
 * Revokes what exceeds `maxAuthorizations` in the contexts of these new authorizations of one end user, client and API. Takes what is
 * revoked out of the index of the client, so that nobody reads it again. It stays in the index of its person, where it marks its place
 * for pages.
 */
export async function limitContexts(
  { indexes, records }: AuthorizationSets,
  created: readonly [Created, ...Created[]],
): Promise<void> {
  const [{ authorization, now }] = created;
  const index = indexes.ofClient(authorization);
  const found = await records.read(await indexes.all(index), 0);
  const isLiving = ({ revoked, expiresAt }: Authorization): boolean => !revoked && now < expiresAt;
  const newIds = new Set(created.map((one) => idOf(one.authorization)));
  const contextKeys = new Set(created.map((one) => contextKeyOf(one.authorization)));
  const surplus = [...contextKeys].flatMap((contextKey) =>
    surplusOf(
      found.filter((one) => isLiving(one) && contextKeyOf(one) === contextKey),
      (one) => newIds.has(idOf(one)),
    ).map(idOf),
  );
  await records.revoke(surplus);
  // what has expired stays: by a clock that is behind it still lives, and an end must find it
  const ids = [...found.filter(({ revoked }) => revoked).map(idOf), ...surplus];
  await indexes.remove(index, { ids, now });
}

/** A page of the living ones, from the index of their person. It goes on behind what has ended until the page is full. */
export async function listPage(
  { indexes, records }: AuthorizationSets,
  { subject, page, now }: { subject: string; page: AuthorizationPage; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  const { limit } = page;
  const index = indexes.ofSubject(subject);
  const living: ListedAuthorization[] = [];
  let after: IndexEntry | undefined = page.after === undefined ? undefined : { id: page.after };
  // more at once when many have ended: each read is a trip
  for (let count = limit; living.length < limit; count = Math.max(limit, atOnce)) {
    const entries = await indexes.page(index, { count, after });
    const ids = entries.map(({ id }) => id);
    const found = await records.read(ids, now);
    living.push(...found.filter(({ revoked }) => !revoked));
    // with its end: it may be erased before the next look
    after = entries.at(-1);
    if (ids.length < count) break;
  }
  return living.slice(0, limit);
}
