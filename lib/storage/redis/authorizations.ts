/** Authorizations in Redis: one key each, and two indexes for each end user. Redis removes expired ones. RFC 6749 §1.3, 7009 §2.1. */
import { allStored } from "../calls";
import { type AuthorizationStore, maxAuthorizations } from "../port";
import { authorizationIndexes } from "./authorization-index";
import { authorizationKey, readAuthorization, setAuthorization } from "./authorization-record";
import { authorizationRecords } from "./authorization-records";
import { eraseOf } from "./authorization-erasure";
import { type Created, limitContexts, listPage, revokeSelection } from "./authorization-sets";
import type { RedisStoreOptions } from "./records";
import { sharedRuns } from "./shared-runs";

/** Authorizations. @rfc 6749 §1.3 */
export function redisAuthorizations(options: RedisStoreOptions): AuthorizationStore {
  const { prefix, send } = options;
  const [indexes, records] = [authorizationIndexes(options), authorizationRecords(options)];
  const sets = { indexes, records };
  const limit = sharedRuns<Created>((created) => limitContexts(sets, created));
  return {
    async create(authorization, now) {
      const key = authorizationKey(prefix, authorization.authorizationId);
      const added = { entries: [{ id: authorization.authorizationId, of: authorization }], now } as const;
      // the indexes first: an authorization that they lack could not be revoked together with the consent
      const [count] = await allStored([
        indexes.add(indexes.ofClient(authorization), added),
        indexes.add(indexes.ofSubject(authorization.subject), added),
      ]);
      await send(key, setAuthorization(key, authorization));
      if (count > maxAuthorizations) await limit(indexes.ofClient(authorization), { authorization, now });
    },
    async find(authorizationId, now) {
      const key = authorizationKey(prefix, authorizationId);
      return readAuthorization(await send(key, ["GET", key]), now);
    },
    async revoke(authorizationId) {
      await records.revoke([authorizationId]);
    },
    revokeAll: (selection) => revokeSelection(sets, selection),
    list: (subject, page, now) => listPage(sets, { subject, page, now }),
    erase: (target, now) => eraseOf(sets, { ...target, now }),
  };
}
