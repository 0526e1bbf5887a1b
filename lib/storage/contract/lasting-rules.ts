/** The contract of what lasts: nothing is forgotten before its end, and nobody with many records keeps some. RFC 9700 §4.14.2, 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newCode,
  newEndMark,
  newId,
  newRefreshToken,
} from "./records";
import { successor } from "./rotation-race";
import { assertRecord, assertSame, assertTexts, type Rule, type RuleSubject } from "./rule";
import { assertAll, assertGone, createSeveral, listAll } from "./stored-authorizations";

/** Hundred days. */
const life = 8_640_000;

/** So many authorizations of one end user, for a client of their own. No context has more than may live. */
async function createMany(
  test: RuleSubject,
  { subject, count }: { subject: string; count: number },
): Promise<{ readonly clientId: string; readonly records: readonly Authorization[] }> {
  const key = { subject, clientId: newId() };
  const records = Array.from({ length: count }, (_, index) =>
    newAuthorization(test.now, { ...key, context: { key: `context ${Math.floor(index / 90)}` } }),
  );
  await createSeveral(test, records);
  return { clientId: key.clientId, records };
}

/** Some of them, from the first to the last. To look at each would take a slow store too long. */
function someOf(records: readonly Authorization[]): readonly Authorization[] {
  return records.filter((_, index) => index % 41 === 0 || index === records.length - 1);
}

/** The rules of what lasts. @rfc 9700 §4.14.2, 7009 §2.1 */
export const lastingRules: readonly Rule[] = [
  {
    name: "a code stays consumed and a refresh token used until it expires, also 100 days later",
    async check({ storage, peer, now }) {
      const [expiresAt, last] = [now + life, now + life - 1];
      const [code, from] = [newCode(now, { expiresAt }), newRefreshToken(now, { expiresAt })];
      await storage.authorizationCodes.create(code, now);
      await storage.refreshTokens.create(from, now);
      await storage.authorizationCodes.consume(code, now);
      await storage.refreshTokens.rotate({ from, to: successor(from) }, now);
      const { authorizationCodes, refreshTokens } = peer;
      assertRecord(await authorizationCodes.find(code, last), { ...code, consumed: true }, "the code");
      assertSame(await authorizationCodes.consume(code, last), "not-consumed", "the code again");
      assertRecord(await refreshTokens.find(from, last), { ...from, used: true }, "the refresh token");
      const again = await refreshTokens.rotate({ from, to: successor(from) }, last);
      assertSame(again, "not-rotated", "the refresh token again");
    },
  },
  {
    name: "what was revoked stays revoked until it expires, also 100 days later",
    async check({ storage, peer, now }) {
      const [expiresAt, last] = [now + life, now + life - 1];
      const token = newAccessToken(now, { expiresAt });
      const [one, other] = [newAuthorization(now, { expiresAt }), newAuthorization(now, { expiresAt })];
      for (const record of [one, other]) await storage.authorizations.create(record, now);
      await storage.accessTokens.revoke(token, now);
      await storage.authorizations.revoke(one.authorizationId, now);
      await storage.authorizations.revokeAll({ subject: other.subject }, now);
      assertSame(await peer.accessTokens.isRevoked(token.tokenId, last), true, "the access token");
      await assertAll(peer, { records: [one, other], now: last, revoked: true });
    },
  },
  {
    name: "an end mark and a used assertion are remembered until they expire, also 100 days later",
    async check({ storage, peer, now }) {
      const [expiresAt, last] = [now + life, now + life - 1];
      const [endMark, assertion] = [newEndMark(now, { expiresAt }), newAssertion(now, { expiresAt })];
      await storage.endMarks.save(endMark, now);
      await storage.clientAssertions.use(assertion, now);
      assertTexts(await peer.endMarks.find([endMark.key], last), [endMark.mark], "the end mark");
      assertSame(await peer.clientAssertions.use(assertion, last), "used-before", "the assertion");
    },
  },
  {
    name: "authorizations.revokeAll and erase reach all that an end user has, however many",
    async check(test) {
      const { storage, peer, now } = test;
      const subject = newId();
      const [first, second] = [
        await createMany(test, { subject, count: 270 }),
        await createMany(test, { subject, count: 1_600 }),
      ];
      const { authorizations } = peer;
      const { clientId } = first;
      assertSame(
        await authorizations.revokeAll({ subject, clientId, apiId: "orders" }, now),
        270,
        "revokeAll of a client",
      );
      await assertAll(storage, { records: first.records, now, revoked: true });
      assertSame(await authorizations.revokeAll({ subject }, now), 1_600, "revokeAll of the rest");
      assertSame((await listAll(storage, { subject, now })).length, 0, "the number of living ones");
      await assertAll(storage, { records: someOf(second.records), now, revoked: true });
      const third = await createMany(test, { subject, count: 160 });
      assertSame(await authorizations.erase({ subject }, now), 2_030, "erase");
      const records = [first, second, third].flatMap((each) => someOf(each.records));
      await assertGone(storage, { records, now });
    },
  },
];
