/** The contract of end marks: everyone who looks after a withdrawal sees it. RFC 7009 §2.1. */
import { newDigestWithLookalikes, newEndMark } from "./records";
import { assertNothing, assertSame, type Rule } from "./rule";

/** The rules of `endMarks`. @rfc 7009 §2.1 */
export const endMarkRules: readonly Rule[] = [
  {
    name: "endMarks.find returns the mark that endMarks.save stored, in every process at once",
    async check({ storage, peer, now }) {
      const { key, mark, expiresAt } = newEndMark(now, { expiresAt: now + 400_000_000 });
      assertNothing(await peer.endMarks.find(key, now), "before");
      await storage.endMarks.save({ key, mark, expiresAt }, now);
      assertSame(await peer.endMarks.find(key, now), mark, "endMarks.find");
    },
  },
  {
    name: "endMarks.save replaces the mark of the same key, and no other",
    async check({ storage, peer, now }) {
      const [first, other] = [newEndMark(now), newEndMark(now)];
      const second = { ...newEndMark(now, { expiresAt: now + 900 }), key: first.key };
      await storage.endMarks.save(first, now);
      await storage.endMarks.save(other, now);
      await peer.endMarks.save(second, now);
      assertSame(await storage.endMarks.find(first.key, now), second.mark, "the second withdrawal");
      assertSame(await storage.endMarks.find(first.key, now + 899), second.mark, "until its own end");
      assertSame(await storage.endMarks.find(other.key, now), other.mark, "another key");
    },
  },
  {
    name: "endMarks.find returns nothing for a key that is not exactly a stored one",
    async check({ storage, now }) {
      const { digest, lookalikes } = newDigestWithLookalikes();
      await storage.endMarks.save(newEndMark(now, { key: digest }), now);
      for (const key of [...lookalikes, ""]) {
        assertNothing(await storage.endMarks.find(key, now), `endMarks.find("${key}")`);
      }
    },
  },
  {
    name: "an end mark expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const { key, mark } = newEndMark(now);
      await storage.endMarks.save({ key, mark, expiresAt: now + 120 }, now);
      assertSame(await storage.endMarks.find(key, now + 119), mark, "one second before its end");
      assertNothing(await storage.endMarks.find(key, now + 120), "found at its end");
    },
  },
];
