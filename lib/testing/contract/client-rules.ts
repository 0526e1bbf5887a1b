/** What holds for clients alone: their origins, and the table where it can be written. RFC 6749 §2, §2.2, 7009 §2.1. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { browserOriginsOf, type Client } from "../../protocol/client";
import { clientEndKey } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, ClientStore, Storage } from "../../storage/port";
import { newClients, newDigest, newId } from "./records";
import {
  allPages,
  assertNothing,
  assertRecord,
  assertSame,
  race,
  raceSizes,
  type Rules,
  type RuleSubject,
} from "./rule";

async function checkOrigins(
  { storage, clients }: RuleSubject,
  origins: (own: string) => readonly string[],
  expected: boolean,
): Promise<void> {
  for (const own of browserOriginsOf(clients[1])) {
    for (const origin of origins(own)) {
      assertSame(await storage.clients.isBrowserOrigin(origin), expected, `isBrowserOrigin("${origin}")`);
    }
  }
}

/** The same table, where it can be written. */
function registryOf(clients: ClientStore): ClientRegistry | undefined {
  const table = clients as Partial<ClientRegistry>;
  const methods: readonly unknown[] = [table.save, table.delete, table.list, table.replace];
  return methods.every((method) => typeof method === "function") ? (clients as ClientRegistry) : undefined;
}

/** Both ends of the table, where it can be written. */
function registriesOf({ storage, peer }: RuleSubject): readonly [ClientRegistry, ClientRegistry] | undefined {
  const [own, other] = [registryOf(storage.clients), registryOf(peer.clients)];
  return own && other && [own, other];
}

const idOf = ({ clientId }: Client): string => clientId;

async function markOf(
  { endMarks }: Storage,
  { clientId, now }: { clientId: string; now: EpochSeconds },
): Promise<string | undefined> {
  const [mark] = await endMarks.find([clientEndKey(clientId)], now);
  return mark ?? undefined;
}

const runners = 8;
/** Enough to meet an adapter that has a single trip between its steps. */
const rounds = 32;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/**
 * Deletes a client while servers look it up again and again. Returns the end marks with which they have found it: what they issue to
 * it then carries these.
 */
async function deleteWhileSeen(
  subject: RuleSubject,
  { registry, clientId }: { registry: ClientRegistry; clientId: string },
): Promise<readonly (string | undefined)[]> {
  const { now } = subject;
  const state = { isOver: false };
  const looks = race(subject, {
    runners,
    async run(store, runner) {
      const seen: (string | undefined)[] = [];
      // so that the runners are at different steps
      await turns(runner);
      while (!state.isOver) {
        const mark = await markOf(store, { clientId, now });
        if (await store.clients.find(clientId)) seen.push(mark);
        // a store in this process may answer at once, and would never come to the deletion
        await nextTurn();
      }
      return seen;
    },
  });
  const deletion = turns(runners)
    .then(() => registry.delete(clientId))
    .finally(() => (state.isOver = true));
  const [seen] = await Promise.all([looks, deletion]);
  return seen.flat();
}

/** The same values with the keys of each object in the opposite order. */
function turnedRound<T>(value: T): T {
  if (Array.isArray(value)) return value.map((part: unknown) => turnedRound(part)) as T;
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, turnedRound<unknown>(part)]);
  return Object.fromEntries(parts.toReversed()) as T;
}

/** Another record for a new browser client: it keeps the first of its two origins, and has a new one in place of the second. */
function changed(client: Client): Client {
  const [, { redirectUris }] = newClients();
  return {
    ...client,
    name: newId(),
    redirectUris: [...client.redirectUris, ...redirectUris].slice(0, 3).toSpliced(1, 1),
  };
}

/** Fails unless the table has this record, or none, and knows those of these origins that the record has. */
async function assertStored(
  clients: ClientStore,
  { client, clientId, origins }: { client?: Client; clientId: string; origins: readonly string[] },
): Promise<void> {
  const found = await clients.find(clientId);
  if (client) assertRecord(found, client, "clients.find");
  else assertNothing(found, "clients.find");
  const own = client ? browserOriginsOf(client) : [];
  for (const origin of new Set([...own, ...origins]))
    assertSame(await clients.isBrowserOrigin(origin), own.includes(origin), `isBrowserOrigin("${origin}")`);
}

/** Fails unless a `replace` of what is stored by something else is refused and leaves everything as it is. */
async function assertNotReplaced(
  [own, other]: readonly [ClientRegistry, ClientRegistry],
  { stored, from, to }: { stored?: Client; from: Client | undefined; to: Client },
): Promise<void> {
  assertSame(await own.replace({ from, to }), "not-replaced", "the answer of clients.replace");
  const origins = browserOriginsOf(to);
  await assertStored(other, { ...(stored && { client: stored }), clientId: idOf(to), origins });
}

/** So many callers replace one record, each by another one. Returns that of the winner, and fails unless there is just one and it is stored. */
async function winnerOf(
  subject: RuleSubject,
  { from, client, callers }: { from: Client | undefined; client: Client; callers: number },
): Promise<Client> {
  const tried = Array.from({ length: callers }, () => changed(client));
  const answers = await race(subject, {
    runners: callers,
    run: ({ clients }, runner) => (clients as ClientRegistry).replace({ from, to: tried[runner] ?? client }),
  });
  for (const answer of answers)
    if (answer !== "replaced") assertSame(answer, "not-replaced", "the answer to a loser");
  const winners = tried.filter((_, runner) => answers[runner] === "replaced");
  assertSame(winners.length, 1, `the winners among ${callers}`);
  const [winner = client] = winners;
  const [loser = client] = tried.filter((one) => one !== winner);
  const origins = browserOriginsOf(loser).slice(1);
  for (const { clients } of [subject.storage, subject.peer])
    await assertStored(clients, { client: winner, clientId: idOf(client), origins });
  return winner;
}

/** The rules of `clients`. A table that cannot be written keeps those of `save`, `replace`, `delete` and `list`. @rfc 6749 §2, §2.2 */
export const clientRules: Rules = {
  "clients.isBrowserOrigin is true for each origin of a browser client": (subject) =>
    checkOrigins(subject, (own) => [own], true),
  "clients.isBrowserOrigin is false for an origin that only resembles one": (subject) =>
    checkOrigins(
      subject,
      (own) => [
        `${own}/`,
        `${own}.evil.example`,
        own.slice(0, -1),
        own.replace("https:", "http:"),
        `${own}0`,
        "null",
        "*",
        "%",
      ],
      false,
    ),
  async "clients.isBrowserOrigin is false for an origin of a client that is not a browser client"(subject) {
    const { storage, clients } = subject;
    const { origin } = new URL(clients[0].redirectUris[0] ?? "");
    assertSame(await storage.clients.isBrowserOrigin(origin), false, origin);
  },
  async "clients.save replaces the whole record: nothing stays of what is left out"(subject) {
    const [own, other] = registriesOf(subject) ?? [];
    if (!own || !other) return;
    const before: Client = { ...subject.clients[0], clientId: newId() };
    const { clientId, name, redirectUris } = before;
    await own.save(before);
    assertRecord(await other.find(clientId), before, "before");
    // with another secret, for one API, and trusted no more
    const after = {
      clientId,
      name,
      confidential: true,
      redirectUris,
      subscriptions: { orders: {} },
    } as const;
    for (const secretDigests of [[`sha256:${newDigest()}`], [`sha256:${newDigest()}`]]) {
      await other.save({ ...after, secretDigests });
      assertRecord(await own.find(clientId), { ...after, secretDigests }, "clients.find");
    }
    await own.delete(clientId);
  },
  async "clients.replace stores the record if the stored one has the values of `from`, in whatever order their keys are"(
    subject,
  ) {
    const [own, other] = registriesOf(subject) ?? [];
    if (!own || !other) return;
    const first: Client = { ...subject.clients[0], clientId: newId() };
    await own.save(first);
    const second = { ...first, name: newId() };
    assertSame(await other.replace({ from: first, to: second }), "replaced", "as it was saved");
    assertRecord(await own.find(idOf(first)), second, "clients.find");
    assertSame(await own.replace({ from: turnedRound(second), to: first }), "replaced", "in another order");
    assertRecord(await other.find(idOf(first)), first, "clients.find");
    const found = await other.find(idOf(first));
    assertSame(await own.replace({ from: found, to: second }), "replaced", "as it was found");
    assertRecord(await other.find(idOf(first)), second, "clients.find");
    await own.delete(idOf(first));
  },
  async "clients.replace changes neither record nor origins where the stored record is another one"(subject) {
    const both = registriesOf(subject);
    if (!both) return;
    const [, client] = newClients();
    const others: readonly Client[] = [
      { ...client, name: `${client.name}.` },
      { ...client, redirectUris: client.redirectUris.toReversed() },
      { ...client, redirectUris: client.redirectUris.slice(1) },
      { ...client, clientUri: "https://web.example/" },
      { ...client, subscriptions: { ...client.subscriptions, reports: {} } },
    ];
    await both[0].save(client);
    for (const from of others) await assertNotReplaced(both, { stored: client, from, to: changed(client) });
    await both[0].delete(idOf(client));
  },
  async "clients.replace stores nothing where there is no client, and does not bring back one that was deleted"(
    subject,
  ) {
    const both = registriesOf(subject);
    if (!both) return;
    const [, client] = newClients();
    await assertNotReplaced(both, { from: client, to: changed(client) });
    await both[1].save(client);
    await both[0].delete(idOf(client));
    await assertNotReplaced(both, { from: client, to: changed(client) });
    const [own, other] = both;
    for (let round = 0; round < rounds; round += 1) {
      const to = changed(client);
      await own.save(client);
      // whichever comes first, nothing is left
      await Promise.all([own.replace({ from: client, to }), other.delete(idOf(client))]);
      await assertStored(own, { clientId: idOf(client), origins: browserOriginsOf(to) });
    }
  },
  async "clients.replace without `from` stores a client where there is none, and changes none that is there"(
    subject,
  ) {
    const both = registriesOf(subject);
    if (!both) return;
    const [, client] = newClients();
    for (let round = 0; round < 2; round += 1) {
      assertSame(await both[0].replace({ from: undefined, to: client }), "replaced", "where there was none");
      await assertStored(both[1], { client, clientId: idOf(client), origins: [] });
      await assertNotReplaced(both, { stored: client, from: undefined, to: changed(client) });
      await both[1].delete(idOf(client));
    }
  },
  async "clients.replace has one winner, and only the winner's record and origins are there"(subject) {
    if (!registriesOf(subject)) return;
    for (const callers of raceSizes) {
      const [, client] = newClients();
      let from: Client | undefined;
      for (let round = 0; round < 6; round += 1) from = await winnerOf(subject, { from, client, callers });
      await registryOf(subject.storage.clients)?.delete(idOf(client));
    }
  },
  async "clients.isBrowserOrigin follows a record that was replaced"(subject) {
    const [own, other] = registriesOf(subject) ?? [];
    if (!own || !other) return;
    const [, two] = newClients();
    const [clientId, origins] = [idOf(two), browserOriginsOf(two)];
    const one: Client = { ...two, redirectUris: two.redirectUris.slice(0, 1) };
    const none: Client = { ...subject.clients[0], clientId };
    let from: Client | undefined;
    for (const to of [one, two, none, one]) {
      assertSame(await own.replace({ from, to }), "replaced", "the answer of clients.replace");
      await assertStored(other, { client: to, clientId, origins });
      from = to;
    }
    await own.delete(clientId);
  },
  async "clients.isBrowserOrigin is false for an origin once its last client has given it up or is deleted"(
    subject,
  ) {
    const [own, other] = registriesOf(subject) ?? [];
    if (!own || !other) return;
    const [, one] = newClients();
    const two = { ...one, clientId: newId() };
    const [kept = "", givenUp = ""] = browserOriginsOf(one);
    const redirectUris = [`${kept}/callback`];
    for (const client of [one, two]) await own.save(client);
    await own.save({ ...one, redirectUris });
    assertSame(await other.isBrowserOrigin(givenUp), true, "given up by one of two clients");
    await own.save({ ...two, redirectUris });
    assertSame(await other.isBrowserOrigin(givenUp), false, "given up by both");
    await own.delete(idOf(one));
    assertSame(await other.isBrowserOrigin(kept), true, "one of two clients is deleted");
    await own.delete(idOf(two));
    assertSame(await other.isBrowserOrigin(kept), false, "both are deleted");
  },
  async "clients.list has every client once, in pages that follow each other, and none that was deleted"(
    subject,
  ) {
    const [own, other] = registriesOf(subject) ?? [];
    if (!own || !other) return;
    const saved = Array.from({ length: 12 }, () => ({ ...subject.clients[1], clientId: newId() }));
    for (const client of saved) await own.save(client);
    for (const limit of [5, 1_000]) {
      const listed = await allPages(limit, { list: (page) => other.list(page), idOf });
      for (const client of saved)
        assertRecord(
          listed.find((one) => idOf(one) === idOf(client)),
          client,
          `in pages of ${limit}`,
        );
    }
    const [first, ...others] = saved;
    if (first) await own.delete(idOf(first));
    const left = (await allPages(1_000, { list: (page) => other.list(page), idOf })).map(idOf);
    for (const client of saved) assertSame(left.includes(idOf(client)), client !== first, "after a deletion");
    for (const client of others) await own.delete(idOf(client));
  },
  async "clients.delete leaves an end mark with which nobody has found the client, and none when there was no client"(
    subject,
  ) {
    const { storage, peer, now, clients } = subject;
    const registry = registryOf(storage.clients);
    if (!registry) return;
    for (let round = 0; round < rounds; round += 1) {
      const clientId = newId();
      await registry.save({ ...clients[0], clientId });
      const seen = await deleteWhileSeen(subject, { registry, clientId });
      assertNothing(await peer.clients.find(clientId), "found though it was deleted");
      const mark = await markOf(peer, { clientId, now });
      assertSame(typeof mark, "string", "the type of the end mark");
      assertSame(seen.includes(mark), false, "the client was found with the end mark that stays");
    }
    const clientId = newId();
    await registry.delete(clientId);
    assertNothing(await markOf(peer, { clientId, now }), "an end mark of a client that never existed");
  },
};
