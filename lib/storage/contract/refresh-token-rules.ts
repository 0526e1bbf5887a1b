/** The contract of refresh tokens: of any number of rotations exactly one succeeds, completely. RFC 6749 §6, 9700 §4.14.2. */
import type { RefreshToken } from "../../protocol/authorization";
import { newDigest, newDigestWithLookalikes, newRefreshToken } from "./records";
import { raceToRotate, successor } from "./rotation-race";
import { assertNothing, assertRecord, assertSame, raceSizes, type Rule, type RuleSubject } from "./rule";

/** Rotates one token many times at once. A stored token of a loser would be a second branch of the family, which nobody notices. */
async function raceForRotation(subject: RuleSubject, runners: number): Promise<void> {
  await raceToRotate(subject, { runners, useOf: () => undefined });
}

async function assertNotRotated(
  { storage, peer }: RuleSubject,
  { from, now }: { from: RefreshToken; now: number },
): Promise<void> {
  const to = successor(from);
  assertSame(await storage.refreshTokens.rotate({ from, to }, now), "not-rotated", "rotate");
  assertNothing(await peer.refreshTokens.find(to, now), "a token was stored though nothing was rotated");
}

/** The rules of `refreshTokens`. @rfc 6749 §6, 9700 §4.14.2 */
export const refreshTokenRules: readonly Rule[] = [
  {
    name: "refreshTokens.find returns what refreshTokens.create stored, with every field",
    async check({ storage, peer, now }) {
      const token = newRefreshToken(now);
      await storage.refreshTokens.create(token, now);
      assertRecord(await peer.refreshTokens.find(token, now), token, "refreshTokens.find");
    },
  },
  {
    name: "refreshTokens.find returns nothing for a handle that is not exactly a stored one",
    async check({ storage, now }) {
      const { digest, lookalikes } = newDigestWithLookalikes();
      const token = newRefreshToken(now, { digest });
      const { authorizationId } = token;
      await storage.refreshTokens.create(token, now);
      for (const other of lookalikes) {
        const found = await storage.refreshTokens.find({ authorizationId, digest: other }, now);
        assertNothing(found, "another digest of the same authorization");
      }
    },
  },
  {
    name: "refreshTokens.rotate replaces a token once; it can still be found as used, and its successor can be rotated",
    async check(subject) {
      const { storage, peer, now } = subject;
      const first = newRefreshToken(now);
      const second = successor(first);
      const third = successor(second);
      await storage.refreshTokens.create(first, now);
      assertRecord(await peer.refreshTokens.find(first, now), first, "before the first");
      assertSame(
        await storage.refreshTokens.rotate({ from: first, to: second }, now),
        "rotated",
        "the first",
      );
      assertRecord(await peer.refreshTokens.find(first, now), { ...first, used: true }, "a used token");
      assertRecord(await peer.refreshTokens.find(second, now), second, "its successor");
      await assertNotRotated(subject, { from: first, now });
      assertSame(await peer.refreshTokens.rotate({ from: second, to: third }, now), "rotated", "the second");
      assertRecord(await storage.refreshTokens.find(third, now), third, "the third");
      const end = first.expiresAt - 1;
      assertRecord(await storage.refreshTokens.find(first, end), { ...first, used: true }, "until its end");
    },
  },
  {
    name: "refreshTokens.rotate stores nothing for a token that does not exist",
    async check(subject) {
      const { storage, now } = subject;
      const token = newRefreshToken(now);
      await assertNotRotated(subject, { from: token, now });
      await storage.refreshTokens.create(token, now);
      await assertNotRotated(subject, { from: { ...token, digest: newDigest() }, now });
      assertRecord(await storage.refreshTokens.find(token, now), token, "the token beside it");
    },
  },
  {
    name: "a refresh token expires at its expiresAt, by the time that is passed in",
    async check(subject) {
      const { storage, now } = subject;
      const token = newRefreshToken(now, { expiresAt: now + 120 });
      await storage.refreshTokens.create(token, now);
      assertRecord(await storage.refreshTokens.find(token, now + 119), token, "one second before its end");
      assertNothing(await storage.refreshTokens.find(token, now + 120), "found at its end");
      await assertNotRotated(subject, { from: token, now: now + 120 });
      const step = { from: token, to: successor(token) };
      assertSame(await storage.refreshTokens.rotate(step, now + 119), "rotated", "one second before its end");
      const late = newRefreshToken(now, { expiresAt: now });
      await storage.refreshTokens.create(late, now);
      await assertNotRotated(subject, { from: late, now });
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newRefreshToken(now, { expiresAt: now - 30 });
      await storage.refreshTokens.create(past, now - 60);
      const behind = { from: past, to: successor(past) };
      assertSame(
        await storage.refreshTokens.rotate(behind, now - 31),
        "rotated",
        "by a clock that is behind",
      );
      const used = { ...past, used: true };
      assertRecord(await storage.refreshTokens.find(past, now - 31), used, "once it was used");
      assertNothing(await storage.refreshTokens.find(past, now - 30), "found at its end by that clock");
    },
  },
  ...raceSizes.map((runners) => ({
    name: `refreshTokens.rotate has one winner among ${runners} simultaneous calls, and stores only its token`,
    async check(subject: RuleSubject) {
      for (let round = 0; round < 5; round += 1) await raceForRotation(subject, runners);
    },
  })),
  {
    name: "refreshTokens.rotate has one winner for each of 8 tokens at once",
    async check(subject) {
      await Promise.all(Array.from({ length: 8 }, () => raceForRotation(subject, 8)));
    },
  },
];
