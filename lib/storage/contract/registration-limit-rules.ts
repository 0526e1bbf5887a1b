/** The contract of the limit of registrations: a flood of new ones ends none that is used. RFC 7591 §5. */
import type { ClientRegistration } from "../client-ports";
import { newRegistration } from "./records";
import { assertSame, race, type Rule, type RuleSubject } from "./rule";

const mostExtended = 1_000;

/** How many extended registrations live at `now`. A single one that was never extended is left beside them. */
async function countExtended({ storage, now }: RuleSubject): Promise<number> {
  for (let limit = 1; limit <= mostExtended; limit += 1) {
    const outcome = await storage.clientRegistrations.create(newRegistration(now), { limit, now });
    if (outcome === "created") return limit - 1;
  }
  assertSame("full", "created", `clientRegistrations.create, which has room for ${mostExtended}`);
  return 0;
}

/** A new registration. Those with a higher place end later. */
function newAt({ now }: RuleSubject, place: number): ClientRegistration {
  return newRegistration(now, { expiresAt: now + 700 + place });
}

/** Registers them one after the other. */
async function registerAll(
  { storage, now }: RuleSubject,
  { registrations, limit }: { registrations: readonly ClientRegistration[]; limit: number },
): Promise<void> {
  for (const one of registrations) {
    const outcome = await storage.clientRegistrations.create(one, { limit, now });
    assertSame(outcome, "created", "clientRegistrations.create");
  }
}

/** Extends this one, but leaves its end where it is: by that alone it must not go any more. */
async function extend(
  { peer, now }: RuleSubject,
  { client: { clientId } }: ClientRegistration,
): Promise<void> {
  const outcome = await peer.clientRegistrations.extend({ clientId, expiresAt: now + 60 }, now);
  assertSame(outcome, true, "clientRegistrations.extend");
}

/** Which of them are found, as a text of one digit each. */
async function foundOf(
  { peer }: RuleSubject,
  { registrations, now }: { registrations: readonly ClientRegistration[]; now: number },
): Promise<string> {
  const found = registrations.map(({ client }) => peer.clientRegistrations.find(client.clientId, now));
  return (await Promise.all(found)).map((client) => (client ? "1" : "0")).join("");
}

/** The rules of the limit. @rfc 7591 §5 */
export const registrationLimitRules: readonly Rule[] = [
  {
    name: "clientRegistrations.create at its limit removes the oldest registration that was never extended, and no other",
    async check(subject) {
      const { now } = subject;
      const limit = (await countExtended(subject)) + 3;
      const first = newAt(subject, 1);
      const registrations = [newAt(subject, 0), first, ...[2, 3, 4, 5].map((place) => newAt(subject, place))];
      await registerAll(subject, { registrations: registrations.slice(0, 3), limit });
      assertSame(await foundOf(subject, { registrations, now }), "111000", "up to the limit");
      await registerAll(subject, { registrations: registrations.slice(3, 4), limit });
      assertSame(await foundOf(subject, { registrations, now }), "011100", "one more");
      await extend(subject, first);
      await registerAll(subject, { registrations: registrations.slice(4), limit });
      assertSame(await foundOf(subject, { registrations, now }), "010011", "one was extended, and two more");
    },
  },
  {
    name: "clientRegistrations.create with a smaller limit removes as many as are too many",
    async check(subject) {
      const { now } = subject;
      const extended = await countExtended(subject);
      const registrations = [0, 1, 2, 3, 4, 5].map((place) => newAt(subject, place));
      await registerAll(subject, { registrations: registrations.slice(0, 5), limit: extended + 5 });
      await registerAll(subject, { registrations: registrations.slice(5), limit: extended + 2 });
      assertSame(await foundOf(subject, { registrations, now }), "000011", "the two newest stay");
    },
  },
  {
    name: "clientRegistrations.create answers full and changes nothing when as many as the limit were extended",
    async check(subject) {
      const { storage, now } = subject;
      const limit = (await countExtended(subject)) + 2;
      const [one, other] = [newAt(subject, 0), newAt(subject, 1)];
      const [young, refused] = [newAt(subject, 2), newAt(subject, 3)];
      const registrations = [one, other, young, refused];
      await registerAll(subject, { registrations: [one, other], limit });
      await extend(subject, one);
      await extend(subject, other);
      await registerAll(subject, { registrations: [young], limit: limit + 1 });
      const outcome = await storage.clientRegistrations.create(refused, { limit, now });
      assertSame(outcome, "full", "clientRegistrations.create");
      assertSame(await foundOf(subject, { registrations, now }), "1110", "what is stored then");
      await registerAll(subject, { registrations: [refused], limit: limit + 1 });
      assertSame(await foundOf(subject, { registrations, now }), "1101", "with a limit that is one greater");
    },
  },
  {
    name: "clientRegistrations.create answers full when extended ones leave fewer places than are reserved for new ones",
    async check(subject) {
      const { storage, now } = subject;
      const limit = (await countExtended(subject)) + 4;
      const registrations = [0, 1, 2, 3, 4].map((place) => newAt(subject, place));
      const [first, second] = registrations;
      const create = async (place: number): Promise<void> => {
        const one = registrations[place] ?? newAt(subject, place);
        const outcome = await storage.clientRegistrations.create(one, { limit, reserved: 3, now });
        assertSame(outcome, place < 4 ? "created" : "full", `clientRegistrations.create of number ${place}`);
      };
      await create(0);
      if (first) await extend(subject, first);
      for (const place of [1, 2, 3]) await create(place);
      assertSame(await foundOf(subject, { registrations, now }), "11110", "one extended and three new ones");
      if (second) await extend(subject, second);
      await create(4);
      assertSame(await foundOf(subject, { registrations, now }), "11110", "when two were extended");
    },
  },
  {
    name: "clientRegistrations.create leaves no room to registrations that have expired",
    async check(subject) {
      const { storage, now } = subject;
      const at = now + 60;
      const short = newRegistration(now, { expiresAt: at });
      await registerAll(subject, { registrations: [short], limit: 1_000_000 });
      const { clientId } = short.client;
      await storage.clientRegistrations.extend({ clientId, expiresAt: at }, now);
      const limit = await countExtended({ ...subject, now: at - 1 });
      const first = newRegistration(at);
      const outcome = await storage.clientRegistrations.create(first, { limit, now: at });
      assertSame(outcome, "created", "an extended one has ended");
      const before = { ...subject, now: at + 59 };
      const wider = (await countExtended(before)) + 3;
      const ending = newRegistration(at, { expiresAt: at + 60 });
      const [second, third] = [newAt(before, 0), newAt(before, 1)];
      await registerAll(before, { registrations: [ending, second], limit: wider });
      await registerAll({ ...subject, now: at + 60 }, { registrations: [third], limit: wider - 1 });
      const registrations = [ending, second, third];
      assertSame(await foundOf(subject, { registrations, now: at + 60 }), "011", "another one has ended");
    },
  },
  {
    name: "clientRegistrations.create returns to its limit after simultaneous calls, and removes none that was extended",
    async check(subject) {
      const { now } = subject;
      const limit = (await countExtended(subject)) + 4;
      const [used, last] = [newAt(subject, 0), newAt(subject, 20)];
      const others = Array.from({ length: 16 }, (_, index) => newAt(subject, 1 + index));
      await registerAll(subject, { registrations: [used], limit });
      await extend(subject, used);
      await race(subject, {
        runners: others.length,
        run: async (store, runner) =>
          store.clientRegistrations.create(others[runner] ?? last, { limit, now }),
      });
      await registerAll(subject, { registrations: [last], limit });
      assertSame(
        await foundOf(subject, { registrations: [used, last], now }),
        "11",
        "the extended and the last",
      );
      const left = (await foundOf(subject, { registrations: others, now })).replaceAll("0", "");
      assertSame(left.length <= 2, true, `${left.length} of 2 others are left`);
    },
  },
  {
    name: "clientRegistrations.extend and a simultaneous create agree on whether the registration stays",
    async check(subject) {
      const { storage, peer, now } = subject;
      let limit = (await countExtended(subject)) + 1;
      for (let round = 0; round < 8; round += 1) {
        const [one, next] = [newAt(subject, 0), newAt(subject, 1)];
        await registerAll(subject, { registrations: [one], limit });
        const { clientId } = one.client;
        const [, isExtended] = await Promise.all([
          storage.clientRegistrations.create(next, { limit, now }),
          peer.clientRegistrations.extend({ clientId, expiresAt: now + 800 }, now),
        ]);
        const found = await foundOf(subject, { registrations: [one], now });
        assertSame(found, isExtended ? "1" : "0", `extend answered ${isExtended}`);
        if (isExtended) limit += 1;
      }
    },
  },
];
