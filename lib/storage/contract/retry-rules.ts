/** The contract of repeated refresh requests: whoever comes late learns how the token was used, and nothing else. RFC 6749 §6. */
import type { RefreshToken } from "../../protocol/authorization";
import { newDigest, newRefreshToken, newUse } from "./records";
import { raceToRotate, successor } from "./rotation-race";
import { assertNothing, assertRecord, assertSame, type Rule } from "./rule";

/** The rules of `use`. @rfc 6749 §6 */
export const retryRules: readonly Rule[] = [
  {
    name: "refreshTokens.rotate keeps `use` with the used token, and gives it to those who come later",
    async check({ storage, peer, now }) {
      const [from, use] = [newRefreshToken(now), newUse(now)];
      const to = successor(from);
      await storage.refreshTokens.create(from, now);
      assertSame(await storage.refreshTokens.rotate({ from, to, use }, now), "rotated", "the first call");
      const used = { ...from, used: true, use };
      assertRecord(await peer.refreshTokens.find(from, now), used, "the used token");
      assertRecord(await peer.refreshTokens.find(to, now), to, "its successor");
      for (const own of [newUse(now + 9), undefined]) {
        const late = successor(from);
        const outcome = await peer.refreshTokens.rotate(
          { from, to: late, ...(own && { use: own }) },
          now + 9,
        );
        const given = typeof outcome === "object" ? outcome : undefined;
        assertRecord(given, use, `a later call ${own ? "with" : "without"} a use`);
        assertNothing(
          await storage.refreshTokens.find(late, now),
          "a token was stored though nothing was rotated",
        );
      }
      assertRecord(await storage.refreshTokens.find(from, from.expiresAt - 1), used, "until its end");
      const next = { from: to, to: successor(to), use: newUse(now + 20) };
      assertSame(await peer.refreshTokens.rotate(next, now + 20), "rotated", "the successor");
      const usedNext = { ...to, used: true, use: next.use };
      assertRecord(await storage.refreshTokens.find(to, now + 20), usedNext, "the used successor");
      assertRecord(await storage.refreshTokens.find(from, now + 20), used, "the first, after all of that");
    },
  },
  {
    name: "refreshTokens.rotate gives no use where there was none: rotated without one, unknown, or expired",
    async check({ storage, peer, now }) {
      const use = newUse(now);
      const assertNone = async (from: RefreshToken, at: number, message: string): Promise<void> => {
        const step = { from, to: successor(from), use };
        assertSame(await peer.refreshTokens.rotate(step, at), "not-rotated", message);
        assertNothing(
          await storage.refreshTokens.find(step.to, at),
          "a token was stored though nothing was rotated",
        );
      };
      const plain = newRefreshToken(now);
      await storage.refreshTokens.create(plain, now);
      await storage.refreshTokens.rotate({ from: plain, to: successor(plain) }, now);
      await assertNone(plain, now, "a token that was rotated without a use");
      assertRecord(await storage.refreshTokens.find(plain, now), { ...plain, used: true }, "that token");
      const ended = newRefreshToken(now, { expiresAt: now + 120 });
      await storage.refreshTokens.create(ended, now);
      await storage.refreshTokens.rotate({ from: ended, to: successor(ended), use }, now);
      await assertNone(ended, now + 120, "a used token that has expired");
      await assertNone({ ...ended, digest: newDigest() }, now, "an unknown token of the same authorization");
    },
  },
  {
    name: "refreshTokens.rotate gives 63 of 64 simultaneous calls the use of the winner",
    async check(subject) {
      for (let round = 0; round < 5; round += 1)
        await raceToRotate(subject, { runners: 64, useOf: () => newUse(subject.now) });
    },
  },
  {
    name: "refreshTokens.rotate gives the losers what the winner stored, when only some of the calls have a use",
    async check(subject) {
      for (let round = 0; round < 5; round += 1) {
        await raceToRotate(subject, {
          runners: 8,
          useOf: (runner) => (runner % 4 < 2 === (round % 2 === 0) ? newUse(subject.now) : undefined),
        });
      }
    },
  },
];
