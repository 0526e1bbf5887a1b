/** What holds for `authorizations.noteUse`: a last use moves forward only, and brings nothing back. RFC 6749 §1.3. */
import type { Authorization } from "../../protocol/authorization";
import type { Storage } from "../../storage/port";
import { assertLastUse, usesOf } from "./authorization-rules";
import { newAuthorization } from "./records";
import { assertAll, assertNothing, assertSame, createAll, listAll, race, type Rules } from "./rule";

const idOf = ({ authorizationId }: Authorization): string => authorizationId;

/** The rules of `authorizations.noteUse`. @rfc 6749 §1.3 */
export const noteUseRules: Rules = {
  async "authorizations.noteUse moves lastUsedAt of this authorization only, to the time that is passed in, and never back"(
    test,
  ) {
    const { storage, peer, now } = test;
    const record = newAuthorization(now);
    const other = newAuthorization(now, { subject: record.subject, clientId: record.clientId });
    await createAll(storage, [record, other], now);
    const [code] = await usesOf(storage, { authorization: record, now });
    const note = (store: Storage, after: number): Promise<void> =>
      store.authorizations.noteUse(record.authorizationId, now + after);
    // the caller's clock may be behind
    await note(storage, -60);
    await assertLastUse(test, { record, lastUsedAt: now - 60 });
    await note(peer, 20);
    await note(storage, 10);
    await note(storage, 20);
    await assertLastUse(test, { record, lastUsedAt: now + 20 });
    await code.use(storage, now + 30);
    await note(peer, 25);
    await assertLastUse(test, { record, lastUsedAt: now + 30 });
    await note(peer, 40);
    await assertLastUse(test, { record, lastUsedAt: now + 40 });
    await assertLastUse(test, { record: other, lastUsedAt: undefined });
  },
  async "of simultaneous calls of authorizations.noteUse, the latest time stays"(test) {
    const { storage, now } = test;
    for (let round = 0; round < 8; round += 1) {
      const record = newAuthorization(now);
      await createAll(storage, [record], now);
      const run = (store: Storage, runner: number): Promise<void> =>
        store.authorizations.noteUse(record.authorizationId, now + ((3 * runner + round) % 8));
      await race(test, { runners: 8, run });
      await assertLastUse(test, { record, lastUsedAt: now + 7 });
    }
  },
  async "authorizations.noteUse does nothing when there is none, or it was revoked, has expired or was erased"({
    storage,
    peer,
    now,
  }) {
    const [revoked, erased] = [newAuthorization(now), newAuthorization(now)];
    const expired = newAuthorization(now, { expiresAt: now + 20 });
    await createAll(storage, [revoked, erased, expired], now);
    await storage.authorizations.revoke(idOf(revoked), now);
    await storage.authorizations.erase({ subject: erased.subject }, now);
    const missing = newAuthorization(now);
    for (const record of [revoked, erased, expired, missing])
      await peer.authorizations.noteUse(idOf(record), now + 30);
    await assertAll(storage, { records: [revoked], now: now + 30, revoked: true });
    for (const record of [erased, expired, missing])
      assertNothing(await storage.authorizations.find(idOf(record), now + 30), "found after noteUse");
    for (const { subject } of [revoked, erased, expired, missing])
      assertSame((await listAll(storage, { subject, now: now + 30 })).length, 0, "the number of listed ones");
  },
};
