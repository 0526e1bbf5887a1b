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
  const methods: readonly unknown[] = [table.save, table.delete, table.list];
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

/** The rules of `clients`. A table that cannot be written keeps those of `save`, `delete` and `list`. @rfc 6749 §2, §2.2 */
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
