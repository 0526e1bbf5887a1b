/** The contract of authorization codes: of any number of redemptions exactly one succeeds. RFC 6749 §4.1.2, 9700 §4.5. */
import { newCode, newDigest, newDigestWithLookalikes, newId } from "./records";
import {
  assertNothing,
  assertRecord,
  assertSame,
  race,
  raceSizes,
  type Rule,
  type RuleSubject,
} from "./rule";

/** Redeems one code many times at once. Two winners would mean that both a thief and the client get tokens. */
async function raceForCode(subject: RuleSubject, runners: number): Promise<void> {
  const { storage, peer, now } = subject;
  const code = newCode(now);
  await storage.authorizationCodes.create(code, now);
  const outcomes = await race(subject, {
    runners,
    run: (store) => store.authorizationCodes.consume(code, now),
  });
  const winners = outcomes.filter((outcome) => outcome === "consumed").length;
  const losers = outcomes.filter((outcome) => outcome === "not-consumed").length;
  assertSame(winners, 1, `${winners} of ${runners} calls got "consumed"`);
  assertSame(losers, runners - 1, `not every loser got "not-consumed"`);
  assertRecord(await peer.authorizationCodes.find(code, now), { ...code, consumed: true }, "after the race");
}

/** The rules of `authorizationCodes`. @rfc 6749 §4.1.2, 9700 §4.5 */
export const codeRules: readonly Rule[] = [
  {
    name: "authorizationCodes.find returns what authorizationCodes.create stored, with every field",
    async check({ storage, peer, now }) {
      const authorizationId = newId();
      const codes = [
        newCode(now, { authorizationId }),
        newCode(now, { authorizationId, codeChallenge: newDigest() }),
      ];
      for (const code of codes) await storage.authorizationCodes.create(code, now);
      for (const code of codes) {
        assertRecord(await peer.authorizationCodes.find(code, now), code, "authorizationCodes.find");
      }
    },
  },
  {
    name: "authorizationCodes.find returns nothing for a handle that is not exactly a stored one",
    async check({ storage, now }) {
      const { digest, lookalikes } = newDigestWithLookalikes();
      const code = newCode(now, { digest });
      const { authorizationId } = code;
      await storage.authorizationCodes.create(code, now);
      for (const other of lookalikes) {
        const found = await storage.authorizationCodes.find({ authorizationId, digest: other }, now);
        assertNothing(found, "another digest of the same authorization");
      }
    },
  },
  {
    name: "authorizationCodes.consume consumes a code once, and the code can still be found as consumed",
    async check({ storage, peer, now }) {
      const code = newCode(now, { codeChallenge: newDigest() });
      await storage.authorizationCodes.create(code, now);
      assertRecord(await peer.authorizationCodes.find(code, now), code, "before the first call");
      assertSame(await storage.authorizationCodes.consume(code, now), "consumed", "the first call");
      const expected = { ...code, consumed: true };
      assertRecord(await peer.authorizationCodes.find(code, now), expected, "a consumed code");
      assertSame(await peer.authorizationCodes.consume(code, now), "not-consumed", "the second call");
      assertRecord(await peer.authorizationCodes.find(code, code.expiresAt - 1), expected, "until its end");
    },
  },
  {
    name: "authorizationCodes.consume does not consume another code of the same authorization",
    async check({ storage, now }) {
      const code = newCode(now);
      const sibling = newCode(now, { authorizationId: code.authorizationId });
      await storage.authorizationCodes.create(code, now);
      await storage.authorizationCodes.create(sibling, now);
      assertSame(await storage.authorizationCodes.consume(code, now), "consumed", "the code");
      assertRecord(await storage.authorizationCodes.find(sibling, now), sibling, "its sibling");
      assertSame(await storage.authorizationCodes.consume(sibling, now), "consumed", "its sibling");
    },
  },
  {
    name: "authorizationCodes.consume does not consume a code that does not exist",
    async check({ storage, now }) {
      const code = newCode(now);
      assertSame(await storage.authorizationCodes.consume(code, now), "not-consumed", "an unknown code");
      await storage.authorizationCodes.create(code, now);
      const guess = { authorizationId: code.authorizationId, digest: newDigest() };
      assertSame(await storage.authorizationCodes.consume(guess, now), "not-consumed", "a guessed code");
      assertRecord(await storage.authorizationCodes.find(code, now), code, "the code beside it");
    },
  },
  {
    name: "a code expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const code = newCode(now, { expiresAt: now + 120 });
      const codes = storage.authorizationCodes;
      await codes.create(code, now);
      assertRecord(await codes.find(code, now + 119), code, "one second before its end");
      assertNothing(await codes.find(code, now + 120), "found at its end");
      assertSame(await codes.consume(code, now + 120), "not-consumed", "consumed at its end");
      assertSame(await codes.consume(code, now + 119), "consumed", "one second before its end");
      const late = newCode(now, { expiresAt: now });
      await codes.create(late, now);
      assertSame(await codes.consume(late, now), "not-consumed", "stored after its end");
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newCode(now, { expiresAt: now - 30 });
      await codes.create(past, now - 60);
      assertSame(await codes.consume(past, now - 31), "consumed", "by a clock that is behind");
      assertRecord(await codes.find(past, now - 31), { ...past, consumed: true }, "once it was consumed");
      assertNothing(await codes.find(past, now - 30), "found at its end by that clock");
    },
  },
  ...raceSizes.map((runners) => ({
    name: `authorizationCodes.consume has one winner among ${runners} simultaneous calls`,
    async check(subject: RuleSubject) {
      for (let round = 0; round < 5; round += 1) await raceForCode(subject, runners);
    },
  })),
  {
    name: "authorizationCodes.consume has one winner for each of 8 codes at once",
    async check(subject) {
      await Promise.all(Array.from({ length: 8 }, () => raceForCode(subject, 8)));
    },
  },
];
