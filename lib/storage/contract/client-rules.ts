/** The contract of the client table. RFC 6749 §2.2. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import { newId } from "./records";
import { assertNothing, assertRecord, assertSame, type Rule, type RuleSubject } from "./rule";

/** Ids that a careless query takes for the registered one: wildcards, other case, inherited property names, SQL. */
export function lookalikes(clientId: string): readonly string[] {
  return [
    clientId.toUpperCase(),
    clientId.toLowerCase(),
    clientId.slice(0, -1),
    `${clientId}x`,
    `${clientId.slice(0, 4)}%`,
    `_${clientId.slice(1)}`,
    "*",
    "%",
    "__proto__",
    "constructor",
    `' OR '1'='1`,
    newId(),
  ].filter((id) => id !== clientId);
}

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

/** The rules of `clients`. @rfc 6749 §2.2 */
export const clientRules: readonly Rule[] = [
  {
    name: "clients.find returns a registered client with every property",
    async check({ storage, peer, clients }) {
      for (const client of clients) {
        assertRecord(await storage.clients.find(client.clientId), client, client.clientId);
        assertRecord(await peer.clients.find(client.clientId), client, client.clientId);
      }
    },
  },
  {
    name: "clients.find returns nothing for an id that is not exactly a registered one",
    async check({ storage, clients }) {
      for (const id of clients.flatMap(({ clientId }: Client) => lookalikes(clientId))) {
        assertNothing(await storage.clients.find(id), `clients.find("${id}") found something`);
      }
    },
  },
  {
    name: "clients.isBrowserOrigin is true for each origin of a browser client",
    check: (subject) => checkOrigins(subject, (own) => [own], true),
  },
  {
    name: "clients.isBrowserOrigin is false for an origin that only resembles one",
    check: (subject) =>
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
  },
  {
    name: "clients.isBrowserOrigin is false for an origin of a client that is not a browser client",
    async check({ storage, clients }) {
      const { origin } = new URL(clients[0].redirectUris[0] ?? "");
      assertSame(await storage.clients.isBrowserOrigin(origin), false, origin);
    },
  },
];
