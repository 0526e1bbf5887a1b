/** Requests that wait for a person or were answered by one: each is answered once, and an owner has only so many that wait. RFC 8628 §3.3, §5.1, 9126 §4. */
import type { EpochSeconds } from "../../protocol/time";
import type { ParkedRequest } from "../../storage/client-ports";
import { plenty } from "./kinds";
import { newDeviceRequest, newId, newParkedRequest, otherIds } from "./records";
import { assertNothing, assertRecord, assertSame, ofOptional, parkedRequestsOf, type Rules } from "./rule";
import { endedRule, isWon, onceRule, onlyRule, raceRules, type SingleUse } from "./single-use-rules";

/** Each call is another answer to a pushed request. All of them must agree on the one that has won. */
const park: SingleUse = {
  call: "parkedRequests.create",
  one: "a request",
  begin(now, changes) {
    const request = newParkedRequest(now, changes);
    const seen: (string | undefined)[] = [];
    let winner: string | undefined;
    return {
      store: async () => undefined,
      async use(storage, at) {
        const parkedRequests = parkedRequestsOf(storage);
        const answer = { ...request, by: newId() };
        const won = isWon(await parkedRequests.create(answer, { now: at }), ["created", "taken"]);
        if (won) winner = answer.by;
        else seen.push((await parkedRequests.find(request.key, at))?.by);
        return won;
      },
      async assertState(storage, at) {
        const found = await parkedRequestsOf(storage).find(request.key, at);
        assertSame(found?.by, winner, "what has answered the request");
        for (const by of seen) assertSame(by, winner, "what has answered it, for a loser");
      },
    };
  },
};

/** A request of a device, which every other call answers with the first of these answers, and the others with the second. */
function closing(call: string, answers: readonly ["approved" | "denied", "approved" | "denied"]): SingleUse {
  return {
    call,
    one: "a request",
    begin(now, { authorizationId: owner = newId(), ...changes } = {}) {
      const request = newDeviceRequest(now, { owner, ...changes });
      let stored: ParkedRequest | undefined;
      let calls = 0;
      return {
        async store(storage, at) {
          const outcome = await parkedRequestsOf(storage).create(request, { limit: plenty, now: at });
          assertSame(outcome, "created", "parkedRequests.create");
          stored = request;
        },
        async use(storage, at) {
          const [as, by] = [answers[calls % 2 === 0 ? 0 : 1], newId()];
          calls += 1;
          const outcome = await parkedRequestsOf(storage).close({ key: request.key, as, by }, at);
          const won = isWon(outcome, ["closed", "not-open"]);
          if (won) stored = { ...request, state: as, by };
          return won;
        },
        async assertState(storage, at) {
          const found = await parkedRequestsOf(storage).find(request.key, at);
          if (!stored) return assertNothing(found, "a request that was never stored");
          assertRecord(found, stored, "the request");
        },
      };
    },
  };
}

const close = closing("parkedRequests.close", ["approved", "denied"]);

/** The rules of pushed requests, which are not stored before they are answered. */
const pushedRules: Rules = {
  async "parkedRequests.create keeps the end of the first answer, by the time that is passed in, and answers after it too"(
    subject,
  ) {
    const [own, other] = [parkedRequestsOf(subject.storage), parkedRequestsOf(subject.peer)];
    const { now } = subject;
    // the caller's clock may be behind that of the store, so the store's own time must not decide
    const request = newParkedRequest(now, { expiresAt: now - 30 });
    assertSame(await own.create(request, { now: now - 60 }), "created", "the first call");
    const later = { ...request, by: newId(), expiresAt: now + 300 };
    assertSame(await other.create(later, { now: now - 31 }), "taken", "one second before its end");
    assertNothing(await own.find(request.key, now - 30), "found at its end");
    const after: string = await own.create(later, { now: now - 30 });
    assertSame(after === "created" || after === "taken", true, `the answer at its end: ${after}`);
  },
};

/** Which requests of an owner are counted. */
const limitRules: Rules = {
  async "parkedRequests.create stores as many open requests of an owner as the limit says, and tells every process when it is full"({
    storage,
    peer,
    now,
  }) {
    const [own, other] = [parkedRequestsOf(storage), parkedRequestsOf(peer)];
    const owner = newId();
    const newOne = (): ParkedRequest => newDeviceRequest(now, { owner });
    for (const parked of [own, other, own])
      assertSame(await parked.create(newOne(), { limit: 3, now }), "created", "the answer up to the limit");
    for (const parked of [own, other]) {
      const refused = newOne();
      assertSame(await parked.create(refused, { limit: 3, now }), "full", "the answer at the limit");
      assertNothing(await parked.find(refused.key, now), "stored though it was full");
      const answered = newParkedRequest(now, { owner });
      assertSame(await parked.create(answered, { limit: 3, now }), "created", "one that is not open");
    }
    assertSame(await other.create(newOne(), { limit: 4, now }), "created", "with a higher limit");
    assertSame(await own.create(newOne(), { limit: 1, now }), "full", "with a lower limit");
  },
  async "parkedRequests.create counts what is open and alive and the owner's own, by the time that is passed in"({
    storage,
    peer,
    now,
  }) {
    const [own, other] = [parkedRequestsOf(storage), parkedRequestsOf(peer)];
    const owner = `Aa${newId()}`;
    const newOne = (changes: object = {}): ParkedRequest => newDeviceRequest(now, { owner, ...changes });
    const create = async (
      request: ParkedRequest,
      [at, expected]: readonly [EpochSeconds, string],
    ): Promise<void> =>
      assertSame(await other.create(request, { limit: 1, now: at }), expected, `at ${at - now} seconds`);
    for (const lookalike of [...otherIds(owner), `${owner}x`, owner.slice(0, -1)]) {
      const another = newOne({ owner: lookalike });
      await create(another, [now, "created"]);
      await create(newOne({ key: another.key }), [now, "taken"]);
    }
    await own.create(newParkedRequest(now, { owner }), { now });
    const late = newOne({ expiresAt: now + 120 });
    await create(newOne({ expiresAt: now - 30 }), [now - 60, "created"]);
    await create(late, [now - 31, "full"]);
    await create(late, [now - 30, "created"]);
    await create(newOne(), [now + 119, "full"]);
    assertSame(await own.close({ key: late.key, as: "denied", by: newId() }, now), "closed", "the answer");
    await create(newOne(), [now, "created"]);
  },
};

/** The rules of requests that wait for a person or were answered by one. @rfc 8628 §3.3, §5.1, 9126 §4 */
export const parkedRules: Rules = ofOptional("parkedRequests", {
  ...onceRule(park),
  ...raceRules(park),
  ...pushedRules,
  ...onceRule(close),
  ...onceRule(closing("parkedRequests.close with a no", ["denied", "approved"])),
  ...onlyRule(close),
  ...endedRule(close),
  ...raceRules(close),
  ...limitRules,
});
