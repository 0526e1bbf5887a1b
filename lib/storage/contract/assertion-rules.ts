/** The contract of used client assertions: of any number of uses exactly one succeeds. RFC 7523 §3. */
import { newAssertion, newDigestWithLookalikes } from "./records";
import { assertSame, race, raceSizes, type Rule, type RuleSubject } from "./rule";

/** Uses one assertion many times at once. Two winners would mean that a thief could use it beside its client. */
async function raceForAssertion(subject: RuleSubject, runners: number): Promise<void> {
  const { peer, now } = subject;
  const assertion = newAssertion(now);
  const outcomes = await race(subject, {
    runners,
    run: (store) => store.clientAssertions.use(assertion, now),
  });
  const winners = outcomes.filter((outcome) => outcome === "used").length;
  const losers = outcomes.filter((outcome) => outcome === "used-before").length;
  assertSame(winners, 1, `${winners} of ${runners} calls got "used"`);
  assertSame(losers, runners - 1, `not every loser got "used-before"`);
  assertSame(await peer.clientAssertions.use(assertion, now), "used-before", "after the race");
}

/** The rules of `clientAssertions`. @rfc 7523 §3 */
export const assertionRules: readonly Rule[] = [
  {
    name: "clientAssertions.use lets an assertion be used once, and remembers it in every process until its expiresAt",
    async check({ storage, peer, now }) {
      const assertion = newAssertion(now);
      const { expiresAt } = assertion;
      assertSame(await storage.clientAssertions.use(assertion, now), "used", "the first call");
      assertSame(await peer.clientAssertions.use(assertion, now), "used-before", "another process");
      const later = { ...assertion, expiresAt: expiresAt + 60 };
      assertSame(await peer.clientAssertions.use(later, now + 1), "used-before", "with another end");
      assertSame(
        await storage.clientAssertions.use(assertion, expiresAt - 1),
        "used-before",
        "until its end",
      );
    },
  },
  {
    name: "clientAssertions.use takes no other digest for a used one",
    async check({ storage, now }) {
      const { digest, lookalikes } = newDigestWithLookalikes();
      for (const one of [digest, ...lookalikes]) {
        const outcome = await storage.clientAssertions.use(newAssertion(now, { digest: one }), now);
        assertSame(outcome, "used", `clientAssertions.use of "${one}"`);
      }
    },
  },
  {
    name: "clientAssertions.use remembers an assertion by the time that is passed in, and answers after its end too",
    async check({ storage, peer, now }) {
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const assertion = newAssertion(now, { expiresAt: now - 30 });
      assertSame(await storage.clientAssertions.use(assertion, now - 60), "used", "the first call");
      const again = await peer.clientAssertions.use(assertion, now - 31);
      assertSame(again, "used-before", "one second before its end");
      const after: string = await peer.clientAssertions.use({ ...assertion, expiresAt: now + 300 }, now - 30);
      assertSame(after === "used" || after === "used-before", true, `the answer at its end: ${after}`);
    },
  },
  ...raceSizes.map((runners) => ({
    name: `clientAssertions.use has one winner among ${runners} simultaneous calls`,
    async check(subject: RuleSubject) {
      for (let round = 0; round < 5; round += 1) await raceForAssertion(subject, runners);
    },
  })),
  {
    name: "clientAssertions.use has one winner for each of 8 assertions at once",
    async check(subject) {
      await Promise.all(Array.from({ length: 8 }, () => raceForAssertion(subject, 8)));
    },
  },
];
