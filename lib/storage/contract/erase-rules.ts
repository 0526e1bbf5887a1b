/** The contract of erasing an end user's authorizations: every record goes, and nobody else's. */
import type { Authorization } from "../../protocol/authorization";
import { newAuthorization, newId, newSubject, otherTexts } from "./records";
import { assertNothing, assertSame, race, type Rule } from "./rule";
import { assertAll, assertGone, createAll, listAll } from "./stored-authorizations";

/** The rules of `authorizations.erase`. */
export const eraseRules: readonly Rule[] = [
  {
    name: "authorizations.erase deletes every authorization of one end user, revoked ones too, and nobody else's",
    async check({ storage, peer, now }) {
      const first = newAuthorization(now, { subject: newSubject() });
      const { subject, clientId } = first;
      const revoked = newAuthorization(now, { subject, clientId });
      const own = [
        first,
        revoked,
        newAuthorization(now, { subject, context: { key: "acme" } }),
        newAuthorization(now, { subject, apiId: "reports", expiresAt: now + 4_000_000 }),
      ];
      const kept = [
        ...[newId(), ...otherTexts(subject)].map((other) =>
          newAuthorization(now, { clientId, subject: other }),
        ),
        newAuthorization(now, { subject: clientId, clientId: subject }),
      ];
      await createAll(storage, [...own, ...kept], now);
      await storage.authorizations.revoke(revoked.authorizationId, now);
      assertSame(await peer.authorizations.erase({ subject }, now), own.length, "the number of deleted ones");
      assertSame(await peer.authorizations.erase({ subject }, now), 0, "the number at the second call");
      await assertGone(storage, { records: own, now });
      assertSame((await listAll(storage, { subject, now })).length, 0, "the number of listed ones");
      const left = await storage.authorizations.revokeAll({ subject }, now);
      assertSame(left, 0, "the number that revokeAll finds");
      await assertAll(storage, { records: kept, now, revoked: false });
    },
  },
  {
    name: "authorizations.erase with an authorizationId deletes this one, if it is the end user's",
    async check({ storage, peer, now }) {
      const subject = newId();
      const [gone, revoked, kept] = [1, 2, 3].map(() => newAuthorization(now, { subject })) as [
        Authorization,
        Authorization,
        Authorization,
      ];
      const stranger = newAuthorization(now);
      await createAll(storage, [gone, revoked, kept, stranger], now);
      await storage.authorizations.revoke(revoked.authorizationId, now);
      for (const record of [gone, revoked]) {
        const { authorizationId } = record;
        const target = { subject, authorizationId };
        assertSame(await peer.authorizations.erase(target, now), 1, "the number of deleted ones");
        assertSame(await peer.authorizations.erase(target, now), 0, "the number at the second call");
        await assertGone(storage, { records: [record], now });
      }
      for (const authorizationId of [newId(), stranger.authorizationId]) {
        const count = await peer.authorizations.erase({ subject, authorizationId }, now);
        assertSame(count, 0, "the number of deleted ones of others");
      }
      await assertAll(storage, { records: [kept, stranger], now, revoked: false });
      const listed = await listAll(peer, { subject, now });
      assertSame(
        listed.map(({ authorizationId }) => authorizationId).join(),
        kept.authorizationId,
        "the list",
      );
    },
  },
  {
    name: "authorizations.erase deletes expired authorizations too, and what is erased can be erased by many at once",
    async check(test) {
      const { storage, peer, now } = test;
      const subject = newId();
      const [expired, expiredToo] = [1, 2].map(() =>
        newAuthorization(now, { subject, expiresAt: now - 30 }),
      ) as [Authorization, Authorization];
      const living = newAuthorization(now, { subject });
      await createAll(storage, [expired, expiredToo], now - 60);
      await createAll(storage, [living], now - 60);
      const { authorizationId } = expired;
      await peer.authorizations.erase({ subject, authorizationId }, now);
      // nothing keeps a person's records once they are erased, whatever the time
      assertNothing(await storage.authorizations.find(authorizationId, now - 31), "an expired one");
      await race(test, { runners: 6, run: (store) => store.authorizations.erase({ subject }, now) });
      await assertGone(peer, { records: [expired, expiredToo, living], now: now - 31 });
      await storage.authorizations.revoke(living.authorizationId, now);
      await assertGone(peer, { records: [living], now });
      const again = newAuthorization(now, { subject });
      await createAll(storage, [again], now);
      await assertAll(peer, { records: [again], now, revoked: false });
      assertSame((await listAll(peer, { subject, now })).length, 1, "the list after a new approval");
    },
  },
];
