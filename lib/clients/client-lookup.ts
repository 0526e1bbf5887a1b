/** Looks up clients in the host's table. Every answer is checked, and remembered for a moment. RFC 6749 §2. */
import { type Client, isClientId } from "../protocol/client";
import { checkClient, checkRedirectSchemes, ownClient } from "./client-record";
import { lagMemory, type Lag } from "../storage/lag-memory";
import type { ClientStore } from "../storage/port";

/** A client store whose records are known from the start, such as that of `memoryStorage`. */
export interface ListedClients extends ClientStore {
  /** All of its clients. */
  readonly records: readonly Client[];
}

/**
 * Checks the redirect schemes of clients that are known from the start, so that a host's mistake does not wait for the first
 * request. Stores without `records` are checked as clients are found.
 *
 * @throws TypeError that names the client and the option.
 */
export function checkListedClients(clients: ClientStore, redirectSchemes: readonly string[]): void {
  const { records } = clients as Partial<ListedClients>;
  if (!Array.isArray(records)) return;
  for (const record of records as readonly Client[]) checkRedirectSchemes(record, redirectSchemes);
}

/** How clients are looked up. */
export interface ClientLookupOptions extends Lag {
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
}

/** True for an https or http origin of possible length. Scripts that call have no other origin. RFC 6454 §6.2. */
function isOrigin(text: string): boolean {
  return text.length <= 300 && /^https?:\/\/[^\s/?#]+$/.test(text);
}

/** The client store as the library uses it: records are checked copies. */
export interface ClientLookup extends ClientStore {
  /** True when a client has this id: then no end user may have it as subject, or one could pass as the other. */
  isTaken(id: string): Promise<boolean>;
}

/**
 * Asks the store only for ids that could be registered, and accepts only exactly the client that was asked for: a table that
 * ignores case must not turn one client into another. `find` rejects with a `TypeError` when a record is wrong.
 */
export function clientLookup(clients: ClientStore, options: ClientLookupOptions): ClientLookup {
  async function ask(clientId: string): Promise<Client | undefined> {
    const found = await clients.find(clientId);
    if (!found) return undefined;
    const client = ownClient(checkRedirectSchemes(checkClient(found), options.redirectSchemes));
    return client.clientId === clientId ? client : undefined;
  }
  // what is not found is asked for again each time: a client may call as soon as it is registered
  const known = lagMemory<Client | undefined>(options, (client) => (client ? 1 : 0));
  const origins = lagMemory<boolean>(options, (isRegistered) => (isRegistered ? 1 : 0));
  const taken = lagMemory<boolean>(options, () => 1);
  return {
    find: (clientId) =>
      isClientId(clientId) ? known(clientId, () => ask(clientId)) : Promise.resolve(undefined),
    isBrowserOrigin: async (origin) =>
      isOrigin(origin) && origins(origin, () => clients.isBrowserOrigin(origin)),
    isTaken: (id) =>
      isClientId(id) ? taken(id, async () => (await ask(id)) !== undefined) : Promise.resolve(false),
  };
}
