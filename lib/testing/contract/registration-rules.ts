/** What holds for clients that have registered themselves: how long they live, and how many there may be. RFC 7591 §3, §5. */
import type { Client } from "../../protocol/client";
import type { ClientRegistration } from "../../storage/client-ports";
import type { Storage } from "../../storage/port";
import { closeRegistrations, plenty, registrationsOfEachKind } from "./kinds";
import { lookalikeIds, newRegistration } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rules, type RuleSubject } from "./rule";

/** Registers a client that ends at `now + 120`, as a new registration. */
async function registerFor120({ storage, now }: RuleSubject): Promise<Client> {
  const registration = newRegistration(now, { expiresAt: now + 120 });
  const created = await storage.clientRegistrations.create(registration, { limit: plenty, now });
  assertSame(created, "created", "clientRegistrations.create");
  return registration.client;
}

async function assertUnknown(
  { clientRegistrations }: Storage,
  { clientId, now }: { clientId: string; now: number },
) {
  const found = await clientRegistrations.find(clientId, now);
  assertNothing(found, `clientRegistrations.find("${clientId}") found something`);
  const extended = await clientRegistrations.extend({ clientId, expiresAt: now + 600 }, now);
  assertSame(extended, false, `clientRegistrations.extend of "${clientId}"`);
}

/** The rules of single registrations. @rfc 7591 §3 */
const lifeRules: Rules = {
  async "clientRegistrations.extend knows exactly the ids that are stored, and neither port the clients of the other"(
    subject,
  ) {
    const { storage, clients, now } = subject;
    const registrations = closeRegistrations(now);
    for (const one of registrations) await storage.clientRegistrations.create(one, { limit: plenty, now });
    const stored = new Set(registrations.map(({ client }) => client.clientId));
    for (const id of stored) assertNothing(await storage.clients.find(id), "clients.find of a registration");
    const others = [...stored].flatMap(lookalikeIds).filter((id) => !stored.has(id));
    for (const clientId of [...others, clients[0].clientId]) await assertUnknown(storage, { clientId, now });
  },
  async "clientRegistrations.extend does not bring back what has expired, by the time that is passed in"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const { clientId } = await registerFor120(subject);
    assertSame(
      (await peer.clientRegistrations.find(clientId, now + 119))?.clientId,
      clientId,
      "before its end",
    );
    await assertUnknown(peer, { clientId, now: now + 120 });
    // the caller's clock may be behind that of the store, so the store's own time must not decide
    for (const { storedAt, expiresAt } of [
      { storedAt: now - 60, expiresAt: now - 30 },
      { storedAt: now, expiresAt: now },
    ]) {
      const past = newRegistration(now, { expiresAt });
      await storage.clientRegistrations.create(past, { limit: plenty, now: storedAt });
      await assertUnknown(storage, { clientId: past.client.clientId, now: expiresAt });
    }
  },
  async "clientRegistrations.extend moves the end of one registration to a later time, never to an earlier one, and changes nothing else"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    for (const registration of registrationsOfEachKind(now)) {
      const { clientId } = registration.client;
      await storage.clientRegistrations.create(registration, { limit: plenty, now });
      const extended = await peer.clientRegistrations.extend({ clientId, expiresAt: now + 900 }, now);
      assertSame(extended, true, "clientRegistrations.extend");
      const found = await storage.clientRegistrations.find(clientId, now);
      assertRecord(found, registration.client, "once it was extended");
    }
    const [{ clientId }, other] = [await registerFor120(subject), await registerFor120(subject)];
    const ends = [now + 300, now + 60, now + 299];
    for (const expiresAt of ends) {
      const extended = await peer.clientRegistrations.extend({ clientId, expiresAt }, now + 1);
      assertSame(extended, true, "clientRegistrations.extend");
    }
    const found = await storage.clientRegistrations.find(clientId, now + 299);
    assertSame(found?.clientId, clientId, "one second before the latest end");
    await assertUnknown(storage, { clientId, now: now + 300 });
    await assertUnknown(storage, { clientId: other.clientId, now: now + 120 });
  },
};

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

/** So many new registrations. Those with a higher place end later. */
function newRow({ now }: RuleSubject, count: number): readonly ClientRegistration[] {
  return Array.from({ length: count }, (_, place) => newRegistration(now, { expiresAt: now + 700 + place }));
}

/** Registers them one after the other. */
async function registerAll(
  { storage, now }: RuleSubject,
  {
    registrations,
    expected = "created",
    ...bound
  }: { registrations: readonly ClientRegistration[]; limit: number; reserved?: number; expected?: string },
): Promise<void> {
  for (const one of registrations) {
    const outcome = await storage.clientRegistrations.create(one, { ...bound, now });
    assertSame(outcome, expected, "clientRegistrations.create");
  }
}

/** Extends these, but leaves their ends where they are: by that alone they must not go any more. */
async function extendAll(
  { peer, now }: RuleSubject,
  registrations: readonly ClientRegistration[],
): Promise<void> {
  for (const { client } of registrations) {
    const { clientId } = client;
    const outcome = await peer.clientRegistrations.extend({ clientId, expiresAt: now + 60 }, now);
    assertSame(outcome, true, "clientRegistrations.extend");
  }
}

/** Which of them are found, as a text of one digit each. */
async function foundOf(
  { peer }: RuleSubject,
  { registrations, now }: { registrations: readonly ClientRegistration[]; now: number },
): Promise<string> {
  const found = registrations.map(({ client }) => peer.clientRegistrations.find(client.clientId, now));
  return (await Promise.all(found)).map((client) => (client ? "1" : "0")).join("");
}

/** A step with some of a row of registrations, by their places, and what of the row is found then. */
interface Step {
  readonly create?: readonly number[];
  readonly refuse?: readonly number[];
  readonly extend?: readonly number[];
  /** Beyond those that were extended before. */
  readonly limit?: number;
  readonly reserved?: number;
  readonly found?: string;
}

const scenes: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    "at its limit removes the oldest registration that was never extended, and no other",
    [
      { create: [0, 1, 2], limit: 3, found: "111000" },
      { create: [3], limit: 3, found: "011100" },
      { extend: [1] },
      { create: [4, 5], limit: 3, found: "010011" },
    ],
  ],
  [
    "with a smaller limit removes as many as are too many",
    [
      { create: [0, 1, 2, 3, 4], limit: 5, found: "111110" },
      { create: [5], limit: 2, found: "000011" },
    ],
  ],
  [
    "answers full and changes nothing when as many as the limit were extended",
    [
      { create: [0, 1], limit: 2 },
      { extend: [0, 1] },
      { create: [2], limit: 3 },
      { refuse: [3], limit: 2, found: "111000" },
      { create: [3], limit: 3, found: "110100" },
    ],
  ],
  [
    "answers full when extended ones leave fewer places than are reserved for new ones",
    [
      { create: [0], limit: 4, reserved: 3 },
      { extend: [0] },
      { create: [1, 2, 3], limit: 4, reserved: 3, found: "111100" },
      { extend: [1] },
      { refuse: [4], limit: 4, reserved: 3, found: "111100" },
    ],
  ],
];

const sceneRules = scenes.map(([name, steps]): Rules => ({
  async [`clientRegistrations.create ${name}`](subject) {
    const extended = await countExtended(subject);
    const row = newRow(subject, 6);
    const at = (places: readonly number[] = []): readonly ClientRegistration[] =>
      row.filter((_, place) => places.includes(place));
    for (const { create, refuse, extend, limit = 0, found, ...bound } of steps) {
      const all = { ...bound, limit: extended + limit };
      await registerAll(subject, { ...all, registrations: at(create) });
      await registerAll(subject, { ...all, registrations: at(refuse), expected: "full" });
      await extendAll(subject, at(extend));
      if (found === undefined) continue;
      const { now } = subject;
      assertSame(await foundOf(subject, { registrations: row, now }), found, "which ones are stored");
    }
  },
}));

/** The rules of the limit. @rfc 7591 §5 */
const limitRules: Rules = {
  async "clientRegistrations.create leaves no room to registrations that have expired"(subject) {
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
    const [second, third] = newRow(before, 2) as [ClientRegistration, ClientRegistration];
    await registerAll(before, { registrations: [ending, second], limit: wider });
    await registerAll({ ...subject, now: at + 60 }, { registrations: [third], limit: wider - 1 });
    const registrations = [ending, second, third];
    assertSame(await foundOf(subject, { registrations, now: at + 60 }), "011", "another one has ended");
  },
  async "clientRegistrations.create returns to its limit after simultaneous calls, and removes none that was extended"(
    subject,
  ) {
    const { now } = subject;
    const limit = (await countExtended(subject)) + 4;
    const [used, last, ...others] = newRow(subject, 18) as [ClientRegistration, ClientRegistration];
    await registerAll(subject, { registrations: [used], limit });
    await extendAll(subject, [used]);
    await race(subject, {
      runners: others.length,
      run: async (store, runner) => store.clientRegistrations.create(others[runner] ?? last, { limit, now }),
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
  async "clientRegistrations.extend and a simultaneous create agree on whether the registration stays"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    let limit = (await countExtended(subject)) + 1;
    for (let round = 0; round < 8; round += 1) {
      const [one, next] = newRow(subject, 2) as [ClientRegistration, ClientRegistration];
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
};

/** The rules of `clientRegistrations`. @rfc 7591 §3, §5 */
export const registrationRules: readonly Rules[] = [lifeRules, ...sceneRules, limitRules];
