/** What is used once: codes, refresh tokens, client assertions. Of any number of calls exactly one wins. RFC 6749 §4.1.2, §6, 7523 §3, 9700 §4.5, §4.14.2. */
import type { RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../../storage/port";
import { life } from "./kind-rules";
import {
  newAssertion,
  newCode,
  newDigest,
  newDigestWithLookalikes,
  newId,
  newRefreshToken,
  newUse,
} from "./records";
import {
  assertNothing,
  assertRecord,
  assertSame,
  race,
  raceSizes,
  type Rule,
  type Rules,
  type RuleSubject,
} from "./rule";

/** Something that can be used once, and what was answered so far. */
export interface Single {
  readonly store: (storage: Storage, now: EpochSeconds) => Promise<void>;
  /** Uses it; true for the call that wins. */
  readonly use: (storage: Storage, now: EpochSeconds) => Promise<boolean>;
  /** Fails unless the store has what the answers so far promise. */
  readonly assertState: (storage: Storage, now: EpochSeconds) => Promise<void>;
}

/** A call that uses something once. */
export interface SingleUse {
  readonly call: string;
  /** One of what is used, as "a code". */
  readonly one: string;
  readonly begin: (now: EpochSeconds, changes?: { authorizationId?: string; expiresAt?: number }) => Single;
}

/** True for the answer of the winner. Fails unless the answer is that, or that of a loser. */
export function isWon(outcome: string, [won, lost]: readonly [won: string, lost: string]): boolean {
  if (outcome !== won) assertSame(outcome, lost, "the answer to a loser");
  return outcome === won;
}

const consume: SingleUse = {
  call: "authorizationCodes.consume",
  one: "a code",
  begin(now, changes) {
    const code = newCode(now, { codeChallenge: newDigest(), ...changes });
    const is = { stored: false, consumed: false };
    return {
      async store({ authorizationCodes }, at) {
        await authorizationCodes.create(code, at);
        is.stored = true;
      },
      async use({ authorizationCodes }, at) {
        const won = isWon(await authorizationCodes.consume(code, at), ["consumed", "not-consumed"]);
        is.consumed ||= won;
        return won;
      },
      async assertState({ authorizationCodes }, at) {
        const found = await authorizationCodes.find(code, at);
        if (!is.stored) return assertNothing(found, "a code that was never stored");
        assertRecord(found, { ...code, consumed: is.consumed }, "the code");
      },
    };
  },
};

interface Step {
  readonly at: EpochSeconds;
  readonly to: RefreshToken;
  readonly use: RefreshTokenUse | undefined;
  outcome?: unknown;
}

/** A refresh token, which each call rotates to another new token, with the `use` of that call, if there is one. */
function rotationOf(from: RefreshToken, useOf: (call: number) => RefreshTokenUse | undefined): Single {
  const { authorizationId, expiresAt } = from;
  const steps: Step[] = [];
  let storedAfter: number | undefined;
  return {
    async store({ refreshTokens }, at) {
      await refreshTokens.create(from, at);
      storedAfter = steps.length;
    },
    async use({ refreshTokens }, at) {
      const [digest, boundKey] = [newDigest(), newDigest()];
      const to = { authorizationId, expiresAt: expiresAt + 60, digest, boundKey, used: false };
      const step: Step = { at, to, use: useOf(steps.length) };
      const { use } = step;
      steps.push(step);
      const outcome = await refreshTokens.rotate({ from, to, ...(use && { use }) }, at);
      step.outcome = outcome;
      // a loser that learns how the winner used the token must find the winner's token: both came in one step
      const won = typeof outcome === "object" && steps.find((other) => other.use?.salt === outcome.salt);
      if (won) assertRecord(await refreshTokens.find(won.to, at), won.to, "the winner's token, for a loser");
      return outcome === "rotated";
    },
    async assertState({ refreshTokens }, now) {
      const winner = steps.find(({ outcome }) => outcome === "rotated");
      for (const [place, step] of steps.entries()) {
        const found = await refreshTokens.find(step.to, now);
        if (step === winner) {
          assertRecord(found, step.to, "the winner's token");
          continue;
        }
        // it would be a second branch of the family, which nobody notices
        assertNothing(found, "a token was stored though nothing was rotated");
        const mayKnow = storedAfter !== undefined && storedAfter <= place && step.at < expiresAt;
        const expected = (mayKnow && winner?.use) || "not-rotated";
        assertRecord({ answer: step.outcome }, { answer: expected }, "the answer to a loser");
      }
      const found = await refreshTokens.find(from, now);
      if (storedAfter === undefined) return assertNothing(found, "a token that was never stored");
      const use = winner?.use;
      assertRecord(found, { ...from, used: winner !== undefined, ...(use && { use }) }, "the token itself");
    },
  };
}

const rotate: SingleUse = {
  call: "refreshTokens.rotate",
  one: "a refresh token",
  begin: (now, changes) => rotationOf(newRefreshToken(now, changes), () => undefined),
};

/** A late caller learns how the token was used, and nothing else. */
const rotateWithUse: SingleUse = {
  call: "refreshTokens.rotate with a `use`",
  one: "a refresh token",
  begin: (now, changes) => rotationOf(newRefreshToken(now, changes), () => newUse(now)),
};

const useAssertion: SingleUse = {
  call: "clientAssertions.use",
  one: "an assertion",
  begin(now, { expiresAt = now + 300 } = {}) {
    const assertion = newAssertion(now, { expiresAt });
    let isUsed = false;
    const use: Single["use"] = async ({ clientAssertions }, at) => {
      const won = isWon(await clientAssertions.use(assertion, at), ["used", "used-before"]);
      isUsed ||= won;
      return won;
    };
    return {
      store: async () => undefined,
      use,
      async assertState(storage, at) {
        if (isUsed) assertSame(await use(storage, at), false, "a used assertion can be used");
      },
    };
  },
};

/** Those whose records are stored before they are used. */
export const storedUses: readonly [SingleUse, SingleUse] = [consume, rotate];

/** It can be used once, and stays used. */
export function onceRule({ call, one, begin }: SingleUse): Rules {
  return {
    async [`${call} uses ${one} once, and it stays used in every process until it expires, also 100 days later`](
      subject,
    ) {
      const { storage, peer, now } = subject;
      const single = begin(now, { expiresAt: now + life });
      await single.store(storage, now);
      // the peer has seen it unused, and must not go on to do so
      await single.assertState(peer, now);
      assertSame(await single.use(storage, now), true, "the first call wins");
      for (const at of [now, now + 61, now + life - 1])
        for (const store of [peer, storage]) {
          await single.assertState(store, at);
          assertSame(await single.use(store, at), false, "a later call wins");
          await single.assertState(store, at);
        }
    },
  };
}

/** Nothing else is used. */
export function onlyRule({ call, one, begin }: SingleUse): Rules {
  return {
    async [`${call} uses nothing but ${one} that is stored, and not another one beside it`](subject) {
      const { storage, peer, now } = subject;
      const authorizationId = newId();
      const newOne = (): Single => begin(now, { authorizationId });
      const [single, sibling, guess] = [newOne(), newOne(), newOne()];
      assertSame(await single.use(storage, now), false, "before it was stored");
      await single.assertState(peer, now);
      for (const stored of [single, sibling]) await stored.store(storage, now);
      assertSame(await guess.use(storage, now), false, "a guess");
      for (const each of [single, sibling, guess]) await each.assertState(peer, now);
      assertSame(await single.use(storage, now), true, "the one");
      for (const each of [single, sibling]) await each.assertState(storage, now);
      assertSame(await sibling.use(storage, now), true, "its sibling");
      for (const each of [single, sibling, guess]) await each.assertState(peer, now);
    },
  };
}

/** It cannot be used after its end. */
export function endedRule({ call, one, begin }: SingleUse): Rules {
  return {
    async [`${call} refuses ${one} that has expired, by the time that is passed in`]({ storage, now }) {
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      for (const { storedAt, expiresAt } of [
        { storedAt: now, expiresAt: now + 120 },
        { storedAt: now - 60, expiresAt: now - 30 },
      ]) {
        const single = begin(now, { expiresAt });
        await single.store(storage, storedAt);
        assertSame(await single.use(storage, expiresAt), false, "at its end");
        await single.assertState(storage, expiresAt - 1);
        assertSame(await single.use(storage, expiresAt - 1), true, "one second before its end");
        assertSame(await single.use(storage, expiresAt), false, "at its end, once it was used");
        await single.assertState(storage, expiresAt - 1);
      }
      const late = begin(now, { expiresAt: now });
      await late.store(storage, now);
      assertSame(await late.use(storage, now), false, "stored after its end");
    },
  };
}

/** Uses one many times at once. Two winners would mean that a thief gets tokens beside the client. */
async function raceFor(
  subject: RuleSubject,
  { single, runners }: { single: Single; runners: number },
): Promise<void> {
  const { storage, peer, now } = subject;
  await single.store(storage, now);
  const outcomes = await race(subject, { runners, run: (store) => single.use(store, now) });
  assertSame(outcomes.filter(Boolean).length, 1, `the number of winners among ${runners} calls`);
  await single.assertState(peer, now);
}

/** Five races, one after the other. */
async function races(
  subject: RuleSubject,
  { runners, begin }: { runners: number; begin: (round: number) => Single },
): Promise<void> {
  for (let round = 0; round < 5; round += 1) await raceFor(subject, { single: begin(round), runners });
}

/** Of simultaneous calls exactly one wins. */
export function raceRules({ call, begin }: SingleUse): Rules {
  const bySize = raceSizes.map((runners): [string, Rule] => [
    `${call} has one winner among ${runners} simultaneous calls`,
    (subject) => races(subject, { runners, begin: () => begin(subject.now) }),
  ]);
  return {
    ...Object.fromEntries(bySize),
    async [`${call} has one winner for each of 8 records at once`](subject) {
      const singles = Array.from({ length: 8 }, () => begin(subject.now));
      await Promise.all(singles.map((single) => raceFor(subject, { single, runners: 8 })));
    },
  };
}

const rotationRules: Rules = {
  async "refreshTokens.rotate gives later calls what the winner stored, when only some of the calls have a `use`"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    for (const uses of [
      [undefined, newUse(now)],
      [newUse(now), undefined],
    ]) {
      const single = rotationOf(newRefreshToken(now), (call) => uses[call]);
      await single.store(storage, now);
      for (const store of [storage, peer]) await single.use(store, now);
      await single.assertState(storage, now);
    }
    const mixed = (round: number) => (call: number) =>
      call % 4 < 2 === (round % 2 === 0) ? newUse(now) : undefined;
    const begin = (round: number): Single => rotationOf(newRefreshToken(now), mixed(round));
    await races(subject, { runners: 8, begin });
  },
  async "refreshTokens.rotate rotates a successor in its turn, and leaves the tokens before it used"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const tokens = Array.from({ length: 4 }, () => newRefreshToken(now));
    const authorizationId = newId();
    const family = tokens.map((token) => ({ ...token, authorizationId }));
    for (const [place, to] of family.entries()) {
      const from = family[place - 1];
      if (!from) await storage.refreshTokens.create(to, now);
      else assertSame(await peer.refreshTokens.rotate({ from, to }, now), "rotated", "refreshTokens.rotate");
      for (const [other, token] of family.slice(0, place + 1).entries())
        assertRecord(
          await storage.refreshTokens.find(token, now),
          { ...token, used: other < place },
          "the family",
        );
    }
  },
};

/** The rules of assertions, which are not stored before they are used. */
const assertionRules: Rules = {
  async "clientAssertions.use goes by the whole digest, and by nothing else"({ storage, peer, now }) {
    const { digest, lookalikes } = newDigestWithLookalikes();
    for (const one of [digest, ...lookalikes]) {
      const outcome = await storage.clientAssertions.use(newAssertion(now, { digest: one }), now);
      assertSame(outcome, "used", `clientAssertions.use of "${one}"`);
    }
    const later = newAssertion(now, { digest, expiresAt: now + 360 });
    assertSame(await peer.clientAssertions.use(later, now + 1), "used-before", "with another end");
  },
  async "clientAssertions.use remembers an assertion by the time that is passed in, and answers after its end too"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    // the caller's clock may be behind that of the store, so the store's own time must not decide
    const assertion = newAssertion(now, { expiresAt: now - 30 });
    assertSame(await storage.clientAssertions.use(assertion, now - 60), "used", "the first call");
    const again = await peer.clientAssertions.use(assertion, now - 31);
    assertSame(again, "used-before", "one second before its end");
    const after: string = await peer.clientAssertions.use({ ...assertion, expiresAt: now + 300 }, now - 30);
    assertSame(after === "used" || after === "used-before", true, `the answer at its end: ${after}`);
  },
};

/** The rules of what is used once. @rfc 6749 §4.1.2, §6, 7523 §3, 9700 §4.5, §4.14.2 */
export const singleUseRules: readonly Rules[] = [
  ...[consume, rotate, rotateWithUse].flatMap((use) => [
    onceRule(use),
    onlyRule(use),
    endedRule(use),
    raceRules(use),
  ]),
  rotationRules,
  onceRule(useAssertion),
  raceRules(useAssertion),
  assertionRules,
];
