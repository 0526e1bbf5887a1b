/** The contract of authorizations. RFC 6749 §1.3, 7009 §2.1, 9700 §4.14.2. */
import { awkwardText, brokenText, longText, newAuthorization, newId } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule } from "./rule";
import { assertAll, createAll } from "./stored-authorizations";

/** The rules of `authorizations`. @rfc 7009 §2.1, 9700 §4.14.2 */
export const authorizationRules: readonly Rule[] = [
  {
    name: "authorizations.find returns what authorizations.create stored, with every field",
    async check({ storage, peer, now }) {
      const records = [
        newAuthorization(now),
        newAuthorization(now, { authTime: now - 100, amr: ["pwd", "otp"], acr: awkwardText }),
        newAuthorization(now, { authTime: 0, amr: [], acr: "", grantedScopes: [] }),
        newAuthorization(now, { refreshableUntil: now + 500, expiresAt: now + 4_000_000_000 }),
        newAuthorization(now, { subject: `${newId()}${awkwardText}` }),
        newAuthorization(now, { clientAuthentication: "key" }),
        newAuthorization(now, { context: { key: awkwardText }, endMarks: [] }),
        newAuthorization(now, { context: { key: "acme", data: { long: longText } } }),
        newAuthorization(now, {
          context: { key: "acme", data: { deep: { list: [1, awkwardText, { none: false }] } } },
          endMarks: [newId(), newId()],
        }),
      ];
      await createAll(storage, records, now);
      await assertAll(storage, { records, now, revoked: false });
      await assertAll(peer, { records, now, revoked: false });
    },
  },
  {
    name: "authorizations.create takes any text that the host adds, also for a second one in the same context",
    async check({ storage, peer, now }) {
      const context = { key: "acme", data: { text: brokenText, deep: { list: [brokenText] } } };
      const amr = ["pwd", brokenText];
      const first = newAuthorization(now, { amr, acr: brokenText, context, endMarks: [] });
      const second = { ...first, authorizationId: newId() };
      // an adapter may read what is there before it stores the second one
      await createAll(storage, [first, second], now);
      await assertAll(peer, { records: [first, second], now, revoked: false });
      const listed = await peer.authorizations.list(first.subject, { limit: 10 }, now);
      assertSame(listed.length, 2, "authorizations.list");
      const { subject, clientId, apiId } = first;
      const own = { subject, clientId, apiId, contextKey: context.key };
      assertSame(await peer.authorizations.revokeAll(own, now), 2, "authorizations.revokeAll");
      await assertAll(storage, { records: [first, second], now, revoked: true });
    },
  },
  {
    name: "authorizations.find returns nothing for an id that is not exactly a stored one",
    async check({ storage, now }) {
      const record = newAuthorization(now, { authorizationId: `Aa${newId().slice(2)}` });
      const { authorizationId } = record;
      await storage.authorizations.create(record, now);
      for (const id of [newId(), `aA${authorizationId.slice(2)}`, `Aa%`, ""]) {
        assertNothing(await storage.authorizations.find(id, now), `authorizations.find("${id}")`);
      }
    },
  },
  {
    name: "an authorization expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const record = newAuthorization(now, { expiresAt: now - 30 });
      const { authorizationId } = record;
      await storage.authorizations.create(record, now - 60);
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      assertRecord(await storage.authorizations.find(authorizationId, now - 31), record, "before its end");
      assertNothing(await storage.authorizations.find(authorizationId, now - 30), "found at its end");
      const late = newAuthorization(now, { expiresAt: now });
      await storage.authorizations.create(late, now);
      assertNothing(await storage.authorizations.find(late.authorizationId, now), "stored after its end");
    },
  },
  {
    name: "authorizations.revoke is visible everywhere, affects this authorization only, and can be repeated",
    async check(subject) {
      const { storage, peer, now } = subject;
      const gone = newAuthorization(now);
      const kept = newAuthorization(now, { subject: gone.subject, clientId: gone.clientId });
      await createAll(storage, [gone, kept], now);
      await assertAll(peer, { records: [gone, kept], now, revoked: false });
      await storage.authorizations.revoke(gone.authorizationId, now);
      await assertAll(peer, { records: [gone], now, revoked: true });
      await race(subject, {
        // an odd number, so that an adapter that toggles the flag ends at "not revoked"
        runners: 7,
        run: (store) => store.authorizations.revoke(gone.authorizationId, now),
      });
      await assertAll(storage, { records: [gone], now, revoked: true });
      await assertAll(peer, { records: [kept], now, revoked: false });
    },
  },
  {
    name: "authorizations.revoke does nothing when there is none",
    async check({ storage, now }) {
      const unknown = newId();
      await storage.authorizations.revoke(unknown, now);
      assertNothing(await storage.authorizations.find(unknown, now), "revoking created one");
    },
  },
];
