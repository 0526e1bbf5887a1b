/** The contract of clients that have registered themselves. RFC 7591 §3. */
import type { Client } from "../../protocol/client";
import type { Storage } from "../port";
import { lookalikes } from "./client-rules";
import { newClients, newDigest, newId, newRegistration } from "./records";
import { assertNothing, assertRecord, assertSame, type Rule, type RuleSubject } from "./rule";

/** A limit that no test reaches. */
const plenty = 1_000_000;

/** A client of each kind, with every field that a registration can have. */
function clientsOfEachKind(): readonly Client[] {
  const [secret, browser] = newClients();
  const { client: native } = newRegistration(0);
  const base = { name: "Agent", confidential: true, redirectUris: [], subscriptions: {} } as const;
  const x = newDigest();
  return [
    { ...secret, selfDescription: { by: "registration", digest: newDigest() } },
    browser,
    native,
    { ...base, clientId: newId(), jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x, kid: "", ext: [] }] } },
    { ...base, clientId: newId(), jwksUri: "https://agent.example/keys", allowTokenEndpointAudience: false },
  ];
}

/** Ids of which a careless query takes one for another. */
function closeIds(): readonly string[] {
  const id = newId();
  const long = `${id}${"x".repeat(254 - id.length)}`;
  return [`Aa-${id}`, `aA-${id}`, `%-${id}`, `_-${id}`, `'${id}"`, `'${id}''`, `${long}y`, `${long}z`];
}

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
export const registrationRules: readonly Rule[] = [
  {
    name: "clientRegistrations.find returns what clientRegistrations.create stored, with every field, extended or not",
    async check({ storage, peer, now }) {
      for (const client of clientsOfEachKind()) {
        const { clientId } = client;
        const registration = { client, expiresAt: now + 600 };
        const created = await storage.clientRegistrations.create(registration, { limit: plenty, now });
        assertSame(created, "created", "clientRegistrations.create");
        assertRecord(await peer.clientRegistrations.find(clientId, now), client, "clientRegistrations.find");
        const extended = await peer.clientRegistrations.extend({ clientId, expiresAt: now + 900 }, now);
        assertSame(extended, true, "clientRegistrations.extend");
        assertRecord(await storage.clientRegistrations.find(clientId, now), client, "once it was extended");
      }
    },
  },
  {
    name: "clientRegistrations.find and extend know exactly the ids that are stored, and not those of clients",
    async check({ storage, clients, now }) {
      const registrations = closeIds().map((clientId) => newRegistration(now, { clientId }));
      for (const one of registrations) await storage.clientRegistrations.create(one, { limit: plenty, now });
      for (const { client } of registrations) {
        const found = await storage.clientRegistrations.find(client.clientId, now);
        assertRecord(found, client, `clientRegistrations.find("${client.clientId}")`);
        assertNothing(await storage.clients.find(client.clientId), "clients.find of a registration");
      }
      const stored = new Set(registrations.map(({ client }) => client.clientId));
      const others = [...stored].flatMap(lookalikes).filter((id) => !stored.has(id));
      for (const clientId of [...others, clients[0].clientId])
        await assertUnknown(storage, { clientId, now });
    },
  },
  {
    name: "a registration expires at its expiresAt, by the time that is passed in, and cannot be extended any more",
    async check(subject) {
      const { storage, peer, now } = subject;
      const client = await registerFor120(subject);
      const { clientId } = client;
      assertRecord(
        await peer.clientRegistrations.find(clientId, now + 119),
        client,
        "one second before its end",
      );
      await assertUnknown(peer, { clientId, now: now + 120 });
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newRegistration(now, { expiresAt: now - 30 });
      await storage.clientRegistrations.create(past, { limit: plenty, now: now - 60 });
      const found = await peer.clientRegistrations.find(past.client.clientId, now - 31);
      assertRecord(found, past.client, "by a clock that is behind");
      await assertUnknown(storage, { clientId: past.client.clientId, now: now - 30 });
      const late = newRegistration(now, { expiresAt: now });
      await storage.clientRegistrations.create(late, { limit: plenty, now });
      await assertUnknown(storage, { clientId: late.client.clientId, now });
    },
  },
  {
    name: "clientRegistrations.extend moves the end of one registration to a later time, and never to an earlier one",
    async check(subject) {
      const { storage, peer, now } = subject;
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
  },
];
