/** The contract of the limit of living authorizations: a flood by one person at one client ends that person's unused ones only. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { maxAuthorizations } from "../port";
import { newAuthorization, newCode, newId } from "./records";
import { assertSame, type Rule, type RuleSubject } from "./rule";
import { assertAll, createSeveral, listAll } from "./stored-authorizations";

interface Kind {
  readonly key: Partial<Authorization>;
  readonly now: EpochSeconds;
}

/** As many as may live. Each ends a second after the one before it. */
function asManyAsMayLive({ key, now }: Kind): readonly Authorization[] {
  return Array.from({ length: maxAuthorizations }, (_, index) =>
    newAuthorization(now, { ...key, expiresAt: now + 1_000 + index }),
  );
}

/** Marks these as used, by a code of each. */
async function useAll({ storage, now }: RuleSubject, records: readonly Authorization[]): Promise<void> {
  for (const { authorizationId } of records) {
    const code = newCode(now, { authorizationId });
    await storage.authorizationCodes.create(code, now);
    await storage.authorizationCodes.consume(code, now);
  }
}

/** The rules of `maxAuthorizations`. */
export const authorizationLimitRules: readonly Rule[] = [
  {
    name: "authorizations.create revokes the one that expires first when there is one too many, and only among its own",
    async check(test) {
      const { storage, peer, now } = test;
      const { subject, clientId, apiId } = newAuthorization(now);
      const key = { subject, clientId, apiId, context: { key: "acme" } };
      const own = asManyAsMayLive({ key, now });
      const soon = { expiresAt: now + 600 };
      const others = [
        newAuthorization(now, { ...key, ...soon, subject: newId() }),
        newAuthorization(now, { ...key, ...soon, clientId: newId() }),
        newAuthorization(now, { ...key, ...soon, apiId: "reports" }),
        newAuthorization(now, { ...key, ...soon, context: { key: "acme2" } }),
        newAuthorization(now, { subject, clientId, apiId, ...soon }),
      ];
      const revoked = newAuthorization(now, { ...key, ...soon });
      const expired = newAuthorization(now, { ...key, expiresAt: now - 30 });
      await peer.authorizations.create(expired, now - 60);
      await peer.authorizations.create(revoked, now);
      await peer.authorizations.revoke(revoked.authorizationId, now);
      await createSeveral(test, [...own, ...others]);
      await assertAll(peer, { records: [...own, ...others], now, revoked: false });
      // it is given to somebody who waits for it, so it counts even if it ends before all others
      const next = newAuthorization(now, { ...key, ...soon });
      await storage.authorizations.create(next, now);
      await assertAll(peer, { records: own.slice(0, 1), now, revoked: true });
      await assertAll(peer, { records: [...own.slice(1), next, ...others], now, revoked: false });
      const last = newAuthorization(now, { ...key, expiresAt: now + 5_000 });
      await peer.authorizations.create(last, now);
      await assertAll(storage, { records: [next], now, revoked: true });
      await assertAll(storage, { records: [...own.slice(1), last, ...others], now, revoked: false });
    },
  },
  {
    name: "authorizations.create returns to the limit after simultaneous calls",
    async check(test) {
      const { storage, peer, now } = test;
      const { subject, clientId } = newAuthorization(now);
      const key = { subject, clientId };
      await createSeveral(test, asManyAsMayLive({ key, now }));
      const more = Array.from({ length: 16 }, () =>
        newAuthorization(now, { ...key, expiresAt: now + 5_000 }),
      );
      await createSeveral(test, more);
      const last = newAuthorization(now, { ...key, expiresAt: now + 5_000 });
      await storage.authorizations.create(last, now);
      const listed = await listAll(peer, { subject, now });
      assertSame(listed.length, maxAuthorizations, "the number of living ones");
      await assertAll(peer, { records: [...more, last], now, revoked: false });
    },
  },
  {
    name: "authorizations.create leaves what a slower clock calls living where revokeAll finds it",
    async check({ storage, peer, now }) {
      const soon = newAuthorization(now, { expiresAt: now + 200 });
      const { subject, clientId, apiId } = soon;
      const key = { subject, clientId, apiId };
      await storage.authorizations.create(soon, now);
      // another process calls it expired, and has too many in two contexts
      const ahead = now + 240;
      for (let count = 0; count <= maxAuthorizations; count += 1) {
        const context = { key: `context ${count % 2}` };
        const record = newAuthorization(ahead, { ...key, context });
        await peer.authorizations.create(record, ahead);
      }
      await assertAll(storage, { records: [soon], now, revoked: false });
      assertSame(
        await storage.authorizations.revokeAll(key, now),
        maxAuthorizations + 2,
        "the number of revoked ones",
      );
      await assertAll(storage, { records: [soon], now, revoked: true });
    },
  },
  {
    name: "authorizations.create revokes what was never used before what was used, the oldest first",
    async check(test) {
      const { storage, peer, now } = test;
      const { subject, clientId } = newAuthorization(now);
      const newOne = (createdAt: EpochSeconds, expiresAt: EpochSeconds): Authorization =>
        newAuthorization(now, { subject, clientId, createdAt, expiresAt, endMarks: [] });
      const used = [newOne(now - 20, now + 300), newOne(now - 10, now + 400)];
      // the oldest one expires last, so that its end does not say its age
      const waiting = Array.from({ length: maxAuthorizations - used.length }, (_, index) =>
        newOne(now - 5 + index, now + 1_000 - index),
      );
      await createSeveral(test, [...used, ...waiting]);
      await useAll(test, used);
      const flood = [1, 2, 3].map((index) => newOne(now + 200 + index, now + 500));
      for (const record of flood) await storage.authorizations.create(record, now);
      await assertAll(peer, { records: [...used, ...waiting.slice(3), ...flood], now, revoked: false });
      await assertAll(peer, { records: waiting.slice(0, 3), now, revoked: true });
      await useAll(test, [...waiting.slice(3), ...flood]);
      const next = newOne(now, now + 200);
      await peer.authorizations.create(next, now);
      await assertAll(storage, { records: used.slice(0, 1), now, revoked: true });
      await assertAll(storage, { records: [...used.slice(1), next], now, revoked: false });
    },
  },
  {
    name: "authorizations.create takes what has no endMarks, as versions before 0.2 stored it, for used",
    async check(test) {
      const { storage, peer, now } = test;
      const { subject, clientId } = newAuthorization(now);
      const key = { subject, clientId };
      const earlier = [300, 400].map((seconds) =>
        newAuthorization(now, { ...key, createdAt: now - 20, expiresAt: now + seconds }),
      );
      const waiting = Array.from({ length: maxAuthorizations - earlier.length }, (_, index) =>
        newAuthorization(now, { ...key, expiresAt: now + 1_000 + index, endMarks: [] }),
      );
      await createSeveral(test, [...earlier, ...waiting]);
      const next = newAuthorization(now, { ...key, expiresAt: now + 350, endMarks: [] });
      await storage.authorizations.create(next, now);
      await assertAll(peer, { records: waiting.slice(0, 1), now, revoked: true });
      await assertAll(peer, { records: [...earlier, ...waiting.slice(1), next], now, revoked: false });
      await useAll(test, [...waiting.slice(1), next]);
      // among those in use, the one that expires first goes, whichever version has stored it
      const last = newAuthorization(now, { ...key, expiresAt: now + 200, endMarks: [] });
      await peer.authorizations.create(last, now);
      await assertAll(storage, { records: earlier.slice(0, 1), now, revoked: true });
      await assertAll(storage, { records: [...earlier.slice(1), next, last], now, revoked: false });
    },
  },
];
