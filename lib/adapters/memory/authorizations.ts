/** Authorizations in the memory of one process, found by their id and by the end user. */
import { type Authorization, narrowed } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { ExpiringMap } from "./expiring-map";
import { surplusOf } from "../../storage/ending-order";
import type { AuthorizationSelection, AuthorizationStore, ListedAuthorization } from "../../storage/port";

/** What is kept of authorizations. */
export interface KeptAuthorizations {
  /** Grouped by `groupsOf`. */
  readonly records: ExpiringMap<Authorization>;
  /** When each record was last used. A revoked one is another object, whose last use nobody asks for. */
  readonly lastUses: WeakMap<Authorization, EpochSeconds>;
}

const livingOf = (subject: string): string => `+${subject}`;
const revokedOf = (subject: string): string => `-${subject}`;

/** The living ones that count together towards the limit. */
function limitedWith({ subject, clientId, apiId, context }: Authorization): string {
  return JSON.stringify([subject, clientId, apiId, context?.key ?? ""]);
}

/**
 * The groups of an authorization. An approval looks only at those that count towards the same limit: an end user may have allowed
 * thousands of clients, and there can be many revoked ones until they expire.
 */
export function groupsOf(authorization: Authorization): readonly string[] {
  const { subject, revoked } = authorization;
  return revoked ? [revokedOf(subject)] : [livingOf(subject), limitedWith(authorization)];
}

/** True for what belongs to this selection; the end user is the same already. */
function isSelected({ clientId, apiId, contextKey }: AuthorizationSelection) {
  return (authorization: Authorization): boolean =>
    (clientId === undefined || authorization.clientId === clientId) &&
    (apiId === undefined || authorization.apiId === apiId) &&
    (contextKey === undefined || (authorization.context?.key ?? "") === contextKey);
}

/** Below zero when `a` comes before `b` in a list: the one that expires last is first. None comes before itself. */
function inListOrder(a: Authorization, b: Authorization): number {
  if (a.expiresAt !== b.expiresAt) return b.expiresAt - a.expiresAt;
  return a.authorizationId > b.authorizationId ? -1 : 1;
}

/** A use of an authorization, which may be in another storage. */
interface Use {
  readonly authorizationId: string;
  readonly now: EpochSeconds;
}

/** Keeps the last use of an authorization. */
export function noteUse({ records, lastUses }: KeptAuthorizations, { authorizationId, now }: Use): void {
  const used = records.get(authorizationId, now);
  if (used) lastUses.set(used, now);
}

function withLastUse({ lastUses }: KeptAuthorizations, one: Authorization): ListedAuthorization {
  const lastUsedAt = lastUses.get(one);
  return lastUsedAt === undefined ? one : { ...one, lastUsedAt };
}

/** Takes scopes from an authorization, and says whether it had others than these. Its last use stays. */
function narrow(
  kept: KeptAuthorizations,
  { one, scopes }: { one: Authorization; scopes: readonly string[] },
): boolean {
  const lesser = narrowed(one, scopes);
  if (!lesser) return false;
  const { authorizationId } = one;
  const lastUsedAt = kept.lastUses.get(one);
  kept.records.change(authorizationId, lesser);
  if (lastUsedAt !== undefined) noteUse(kept, { authorizationId, now: lastUsedAt });
  return true;
}

/** The authorizations that are kept here. */
export function memoryAuthorizations(kept: KeptAuthorizations): AuthorizationStore {
  const { records, lastUses } = kept;
  const revoke = (id: string): void => records.change(id, { revoked: true });
  // what the caller's clock calls expired may still be used where a clock is behind
  const livingIn = (selection: AuthorizationSelection): readonly Authorization[] =>
    records.inGroup(livingOf(selection.subject), -Infinity).filter(isSelected(selection));
  const withUse = (one: Authorization): ListedAuthorization => withLastUse(kept, one);

  return {
    create: async (authorization, now) => {
      records.set(authorization.authorizationId, authorization, now);
      const living = records.inGroup(limitedWith(authorization), now);
      const isNew = (one: Authorization): boolean => one.authorizationId === authorization.authorizationId;
      for (const { authorizationId } of surplusOf(living.map(withUse), isNew)) revoke(authorizationId);
    },
    find: async (authorizationId, now) => records.get(authorizationId, now),
    revoke: async (authorizationId) => revoke(authorizationId),
    revokeAll: async (selection) => {
      const notRevoked = livingIn(selection);
      for (const { authorizationId } of notRevoked) revoke(authorizationId);
      return notRevoked.length;
    },
    narrowAll: async ({ selection, scopes }) =>
      livingIn(selection).filter((one) => narrow(kept, { one, scopes })).length,
    list: async (subject, { after, limit }, now) => {
      const last = after === undefined ? undefined : records.get(after, now);
      if (after !== undefined && last?.subject !== subject) return [];
      const living = records.inGroup(livingOf(subject), now);
      const behind = living.filter((one) => !last || inListOrder(last, one) < 0);
      return behind.toSorted(inListOrder).slice(0, limit).map(withUse);
    },
    erase: async ({ subject, authorizationId }) => {
      const erased = [livingOf(subject), revokedOf(subject)]
        .flatMap((group) => records.inGroup(group, -Infinity))
        .filter((one) => authorizationId === undefined || one.authorizationId === authorizationId);
      for (const one of erased) records.delete(one.authorizationId);
      return erased.length;
    },
    noteUse: async (authorizationId, now) => {
      const used = records.get(authorizationId, now);
      if (used && (lastUses.get(used) ?? 0) < now) lastUses.set(used, now);
    },
  };
}
