/** The contract of a client table that can be written: what was saved last is all that is known of a client. RFC 6749 §2. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { ClientRegistry, ClientStore } from "../port";
import { newClients, newDigest, newId } from "./records";
import { assertRecord, assertSame, type Rule, type RuleSubject } from "./rule";

/** The same table, where it can be written. */
export function registryOf(clients: ClientStore): ClientRegistry | undefined {
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

/** All clients that the list gives, page after page. Fails when a page is too long, or has what an earlier one had. */
async function listAll(registry: ClientRegistry, limit: number): Promise<ReadonlyMap<string, Client>> {
  const listed = new Map<string, Client>();
  let after: string | undefined;
  for (;;) {
    const page = await registry.list({ limit, ...(after !== undefined && { after }) });
    if (page.length === 0) return listed;
    assertSame(page.length <= limit, true, `a page of ${limit} has ${page.length} clients`);
    for (const client of page) {
      after = idOf(client);
      assertSame(listed.has(after), false, `"${after}" is listed twice`);
      listed.set(after, client);
    }
  }
}

/** The rules of `clients.save` and `clients.list`, for a table that can be written; one that cannot be written keeps them. @rfc 6749 §2 */
export const clientSaveRules: readonly Rule[] = [
  {
    name: "clients.save replaces the whole record: nothing stays of what is left out",
    async check(subject) {
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
  },
  {
    name: "clients.isBrowserOrigin is false for an origin once its last client has given it up or is deleted",
    async check(subject) {
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
  },
  {
    name: "clients.list has every client once, in pages that follow each other, and none that was deleted",
    async check(subject) {
      const [own, other] = registriesOf(subject) ?? [];
      if (!own || !other) return;
      const saved = Array.from({ length: 12 }, () => ({ ...subject.clients[1], clientId: newId() }));
      for (const client of saved) await own.save(client);
      for (const limit of [5, 1_000]) {
        const listed = await listAll(other, limit);
        for (const client of saved) assertRecord(listed.get(idOf(client)), client, `in pages of ${limit}`);
      }
      const [first, ...others] = saved;
      if (first) await own.delete(idOf(first));
      const left = await listAll(other, 1_000);
      for (const client of saved) assertSame(left.has(idOf(client)), client !== first, "after a deletion");
      for (const client of others) await own.delete(idOf(client));
    },
  },
];
