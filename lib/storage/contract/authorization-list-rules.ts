/** The contract of the list of an end user's authorizations: what lives, in an order that pages can follow. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { newAuthorization, newId, newSubject, otherTexts } from "./records";
import { assertRecord, assertSame, assertTexts, type Rule, type RuleSubject } from "./rule";
import { createAll, listAll } from "./stored-authorizations";

const idOf = ({ authorizationId }: Authorization): string => authorizationId;

/** Authorizations of one end user that end so many seconds from now. */
function endingAfter(
  seconds: readonly number[],
  { subject, now }: { subject: string; now: EpochSeconds },
): readonly Authorization[] {
  return seconds.map((after) => newAuthorization(now, { subject, expiresAt: now + after }));
}

/** Goes through all pages, and fails unless each but the last is full and together they hold each of these once. */
async function checkPages(
  { peer, now }: RuleSubject,
  { records, limit }: { records: readonly Authorization[]; limit: number },
): Promise<void> {
  const subject = records[0]?.subject ?? "";
  const left = new Map(records.map((record) => [record.authorizationId, record]));
  let after: Authorization | undefined;
  for (;;) {
    const full = Math.min(limit, left.size);
    const page = await peer.authorizations.list(
      subject,
      { limit, ...(after && { after: idOf(after) }) },
      now,
    );
    assertSame(page.length, full, `the number of authorizations in a page of ${limit}`);
    for (const listed of page) {
      assertRecord(left.get(idOf(listed)), listed, "listed twice, or changed");
      left.delete(idOf(listed));
      if (after)
        assertSame(after.expiresAt >= listed.expiresAt, true, "the one that expires last comes first");
      after = listed;
    }
    if (page.length < limit) return;
  }
}

/** The rules of `authorizations.list`. */
export const authorizationListRules: readonly Rule[] = [
  {
    name: "authorizations.list returns the living authorizations of one end user, the one that expires last first",
    async check({ storage, peer, now }) {
      const subject = newSubject();
      const later = now + 60;
      const own = [
        newAuthorization(now, { subject, expiresAt: now + 500 }),
        newAuthorization(now, { subject, expiresAt: now + 9_000_000, context: { key: "acme" } }),
        newAuthorization(now, { subject, expiresAt: now + 61, apiId: "reports" }),
        newAuthorization(now, { subject, expiresAt: now + 70_000, amr: ["pwd"], endMarks: [newId()] }),
      ];
      const ended = newAuthorization(now, { subject, expiresAt: later });
      const revoked = newAuthorization(now, { subject, expiresAt: now + 800 });
      const others = otherTexts(subject).map((other) => newAuthorization(now, { subject: other }));
      await createAll(storage, [...own, ended, revoked, ...others, newAuthorization(now)], now);
      await storage.authorizations.revoke(revoked.authorizationId, now);
      const listed = await peer.authorizations.list(subject, { limit: 50 }, later);
      const expected = own.toSorted((a, b) => b.expiresAt - a.expiresAt);
      assertTexts(listed.map(idOf), expected.map(idOf), "the order of authorizations.list");
      assertRecord(listed, expected, "authorizations.list");
      assertRecord(await peer.authorizations.list(newId(), { limit: 50 }, now), [], "the list of a stranger");
      // the caller's clock may be behind that of the store
      const past = newAuthorization(now, { expiresAt: now - 30 });
      await createAll(storage, [past], now - 60);
      const earlier = await peer.authorizations.list(past.subject, { limit: 50 }, now - 31);
      assertTexts(earlier.map(idOf), [idOf(past)], "the list by a clock that is behind");
    },
  },
  {
    name: "authorizations.list has pages that follow each other, also where several expire at the same time",
    async check(test) {
      const { storage, now } = test;
      for (const seconds of [
        [100, 300, 200, 300, 300, 300, 400],
        [100, 300, 200, 100, 400, 100],
      ]) {
        const records = endingAfter(seconds, { subject: newId(), now });
        await createAll(storage, records, now);
        for (const limit of [1, 2, 3, 4, 50]) await checkPages(test, { records, limit });
      }
    },
  },
  {
    name: "authorizations.list continues behind one that was revoked, and has nothing behind one that is gone",
    async check({ storage, peer, now }) {
      const subject = newId();
      const [last, middle, first] = endingAfter([300, 200, 100], { subject, now });
      const [stranger] = endingAfter([400], { subject: newId(), now });
      if (!last || !middle || !first || !stranger) return;
      await createAll(storage, [first, last, middle, stranger], now);
      await storage.authorizations.revoke(middle.authorizationId, now);
      const behind = async (after: string, at: EpochSeconds): Promise<readonly string[]> =>
        (await peer.authorizations.list(subject, { after, limit: 50 }, at)).map(idOf);
      assertTexts(await behind(idOf(last), now), [idOf(first)], "behind a living one");
      assertTexts(await behind(idOf(middle), now), [idOf(first)], "behind a revoked one");
      assertTexts(await behind(idOf(first), now), [], "behind the last one");
      assertTexts(await behind(newId(), now), [], "behind an unknown one");
      assertTexts(await behind(idOf(stranger), now), [], "behind one of another end user");
      assertTexts(await behind(idOf(middle), now + 200), [], "behind one that has expired");
      await storage.authorizations.erase({ subject, authorizationId: idOf(middle) }, now);
      assertTexts(await behind(idOf(middle), now), [], "behind one that was erased");
    },
  },
  {
    name: "authorizations.list no longer has those that revokeAll has revoked",
    async check({ storage, peer, now }) {
      const subject = newId();
      const [kept, ...gone] = endingAfter([100, 200, 300], { subject, now });
      if (!kept) return;
      const { clientId, apiId } = kept;
      await createAll(storage, [...gone, kept], now);
      for (const { clientId: other } of gone)
        await storage.authorizations.revokeAll({ subject, clientId: other, apiId }, now);
      const listed = await listAll(peer, { subject, now });
      assertTexts(listed.map(idOf), [idOf(kept)], "after revokeAll for other clients");
      await storage.authorizations.revokeAll({ subject, clientId, apiId }, now);
      assertTexts((await listAll(peer, { subject, now })).map(idOf), [], "after revokeAll for every client");
    },
  },
];
