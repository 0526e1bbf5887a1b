/** The contract of the limit of living authorizations: a flood by one person at one client ends that person's oldest ones only. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { maxAuthorizations } from "../port";
import { newAuthorization, newId } from "./records";
import { assertSame, race, type Rule, type RuleSubject } from "./rule";
import { assertAll, listAll } from "./stored-authorizations";

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

/** Creates them at both ends of the store, eight at a time. */
async function createSeveral(subject: RuleSubject, records: readonly Authorization[]): Promise<void> {
  await race(subject, {
    runners: 8,
    run: async ({ authorizations }, runner) => {
      for (const [index, record] of records.entries())
        if (index % 8 === runner) await authorizations.create(record, subject.now);
    },
  });
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
];
