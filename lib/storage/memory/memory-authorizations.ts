/** Authorizations in the memory of one process, found by their id and by the end user. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { ExpiringMap } from "./expiring-map";
import { surplusOf } from "../ending-order";
import {
  type AuthorizationSelection,
  type AuthorizationStore,
  type ListedAuthorization,
  maxAuthorizations,
} from "../port";

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

/** The authorizations that follow `last` in the list, or the first ones. */
function pageOf(
  living: readonly Authorization[],
  { last, limit }: { last: Authorization | undefined; limit: number },
): readonly Authorization[] {
  const behind = living.filter((authorization) => !last || inListOrder(last, authorization) < 0);
  return behind.toSorted(inListOrder).slice(0, limit);
}

/** Every record of an end user, revoked ones too, and those that have expired and only wait to be dropped. */
function allOf(
  { inGroup }: Pick<ExpiringMap<Authorization>, "inGroup">,
  subject: string,
): readonly Authorization[] {
  return [livingOf(subject), revokedOf(subject)].flatMap((group) => inGroup(group, -Infinity));
}

/** The authorizations of this map, whose entries are grouped by `groupsOf`. */
export function memoryAuthorizations(authorizations: ExpiringMap<Authorization>): AuthorizationStore {
  const revoke = (id: string): void => authorizations.change(id, { revoked: true });
  const livingIn = (selection: AuthorizationSelection, now: EpochSeconds): readonly Authorization[] =>
    authorizations.inGroup(livingOf(selection.subject), now).filter(isSelected(selection));

  function withLastUse(authorization: Authorization): ListedAuthorization {
    const lastUsedAt = authorizations.usedAt(authorization.authorizationId);
    return lastUsedAt === undefined ? authorization : { ...authorization, lastUsedAt };
  }

  function keepLimit(added: Authorization, now: EpochSeconds): void {
    const group = limitedWith(added);
    if (authorizations.groupSize(group) <= maxAuthorizations) return;
    const living = authorizations.inGroup(group, now).map(withLastUse);
    const surplus = surplusOf(living, (one) => one.authorizationId === added.authorizationId);
    for (const one of surplus) revoke(one.authorizationId);
  }

  return {
    create: async (authorization, now) => {
      authorizations.set(authorization.authorizationId, authorization, now);
      keepLimit(authorization, now);
    },
    find: async (authorizationId, now) => authorizations.get(authorizationId, now),
    revoke: async (authorizationId) => revoke(authorizationId),
    revokeAll: async (selection) => {
      // what the caller's clock calls expired may still be used where a clock is behind
      const notRevoked = livingIn(selection, -Infinity);
      for (const { authorizationId } of notRevoked) revoke(authorizationId);
      return notRevoked.length;
    },
    list: async (subject, { after, limit }, now) => {
      const last = after === undefined ? undefined : authorizations.get(after, now);
      if (after !== undefined && last?.subject !== subject) return [];
      return pageOf(livingIn({ subject }, now), { last, limit }).map(withLastUse);
    },
    erase: async ({ subject, authorizationId }) => {
      const erased = allOf(authorizations, subject).filter(
        (one) => authorizationId === undefined || one.authorizationId === authorizationId,
      );
      for (const one of erased) authorizations.delete(one.authorizationId);
      return erased.length;
    },
  };
}
