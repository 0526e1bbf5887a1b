/** The contract of end marks: everyone who looks after an end sees it. RFC 7009 §2.1. */
import { newDigestWithLookalikes, newEndKey, newEndMark, newId } from "./records";
import { assertTexts, type Rule } from "./rule";

/** Of a thousand keys, some have a mark, the last one too. */
const isSaved = (place: number): boolean => place % 37 === 0;

/** The rules of `endMarks`. @rfc 7009 §2.1 */
export const endMarkRules: readonly Rule[] = [
  {
    name: "endMarks.find returns the mark that endMarks.save stored, in every process at once",
    async check({ storage, peer, now }) {
      const { key, mark, expiresAt } = newEndMark(now, { expiresAt: now + 400_000_000 });
      assertTexts(await peer.endMarks.find([key], now), [undefined], "before");
      await storage.endMarks.save({ key, mark, expiresAt }, now);
      assertTexts(await peer.endMarks.find([key], now), [mark], "endMarks.find");
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
      assertTexts(await storage.endMarks.find([first.key], now), [second.mark], "the second withdrawal");
      assertTexts(await storage.endMarks.find([first.key], now + 899), [second.mark], "until its own end");
      assertTexts(await storage.endMarks.find([other.key], now), [other.mark], "another key");
      // the last one counts, also where an earlier one would last longer
      const third = { ...newEndMark(now, { expiresAt: now + 300 }), key: first.key };
      await peer.endMarks.save(third, now);
      assertTexts(await storage.endMarks.find([first.key], now), [third.mark], "one that ends sooner");
      const fourth = { ...third, mark: newEndMark(now).mark };
      await storage.endMarks.save(fourth, now);
      assertTexts(await peer.endMarks.find([first.key], now), [fourth.mark], "one that ends with it");
    },
  },
  {
    name: "endMarks.find returns nothing for a key that is not exactly a stored one",
    async check({ storage, now }) {
      const { digest, lookalikes } = newDigestWithLookalikes();
      const [owner, otherOwner] = [newId(), newId()];
      const keyOf = (rest: string): string => `${owner}.${rest}`;
      await storage.endMarks.save(newEndMark(now, { key: keyOf(digest) }), now);
      for (const key of [...lookalikes.map(keyOf), `${otherOwner}.${digest}`, owner, digest, ""]) {
        assertTexts(await storage.endMarks.find([key], now), [undefined], `endMarks.find("${key}")`);
      }
    },
  },
  {
    name: "endMarks.find returns the marks of several keys in the order of the keys",
    async check({ storage, peer, now }) {
      const [first, second, ended] = [
        newEndMark(now),
        newEndMark(now),
        newEndMark(now, { expiresAt: now + 60 }),
      ];
      const missing = newEndMark(now);
      for (const endMark of [second, ended, first]) await storage.endMarks.save(endMark, now);
      const asked = [missing, first, ended, second, first, missing];
      const marks = [undefined, first.mark, undefined, second.mark, first.mark, undefined];
      const keys = asked.map(({ key }) => key);
      assertTexts(await peer.endMarks.find(keys, now + 60), marks, "endMarks.find");
      const other = [second.mark, first.mark];
      assertTexts(await peer.endMarks.find([second.key, first.key], now), other, "in another order");
      assertTexts(await peer.endMarks.find([], now), [], "endMarks.find of no keys");
    },
  },
  {
    name: "endMarks.find keeps all marks of one owner apart, and answers for any number of keys",
    async check({ storage, peer, now }) {
      const owner = newId();
      const asked = Array.from({ length: 1_000 }, () => newEndMark(now, { key: newEndKey(owner) }));
      for (const [place, endMark] of asked.entries())
        if (isSaved(place)) await storage.endMarks.save(endMark, now);
      const found = await peer.endMarks.find(
        asked.map(({ key }) => key),
        now,
      );
      assertTexts(
        found,
        asked.map(({ mark }, place) => (isSaved(place) ? mark : undefined)),
        "endMarks.find",
      );
    },
  },
  {
    name: "an end mark expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const { key, mark } = newEndMark(now);
      await storage.endMarks.save({ key, mark, expiresAt: now + 120 }, now);
      assertTexts(await storage.endMarks.find([key], now + 119), [mark], "one second before its end");
      assertTexts(await storage.endMarks.find([key], now + 120), [undefined], "found at its end");
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newEndMark(now, { expiresAt: now - 30 });
      await storage.endMarks.save(past, now - 60);
      assertTexts(
        await storage.endMarks.find([past.key], now - 31),
        [past.mark],
        "by a clock that is behind",
      );
      assertTexts(await storage.endMarks.find([past.key], now - 30), [undefined], "at its end by that clock");
    },
  },
];
