/** The host's client table, with every answer checked, and remembered for a moment. RFC 6749 §2. */
import { type Client, isClientId } from "../protocol/client";
import { checkClient, checkRedirectSchemes, ownClient } from "./client-record";
import { lagMemory, type Lag } from "../storage/lag-memory";
import type { ClientStore } from "../storage/port";

/** A table whose records are known from the start. */
export interface ListedClients extends ClientStore {
  readonly records: readonly Client[];
}

/** Checks what is known from the start, so that a host mistake does not wait for the first request. @throws TypeError */
export function checkListedClients(clients: ClientStore, redirectSchemes: readonly string[]): void {
  const { records } = clients as Partial<ListedClients>;
  if (!Array.isArray(records)) return;
  for (const record of records as readonly Client[]) checkRedirectSchemes(record, redirectSchemes);
}

/** How clients are looked up. */
export interface ClientLookupOptions extends Lag {
  /** The schemes without a dot that native clients may have. */
  readonly redirectSchemes: readonly string[];
}

/** An https or http origin that is no longer than one can be: others have no script that asks. RFC 6454 §6.2. */
function isOrigin(text: string): boolean {
  return text.length <= 300 && /^https?:\/\/[^\s/?#]+$/.test(text);
}

/** Clients as the library asks for them. */
export interface ClientLookup extends ClientStore {
  /** True when a client has this id, so that no end user may have it as their subject. */
  isTaken(id: string): Promise<boolean>;
}

/**
 * Asks only for ids that can be registered, and takes only the very client that was asked for: a table that ignores case
 * must not turn one client into another.
 */
export function clientLookup(clients: ClientStore, options: ClientLookupOptions): ClientLookup {
  async function ask(clientId: string): Promise<Client | undefined> {
    const found = await clients.find(clientId);
    if (!found) return undefined;
    const client = ownClient(checkRedirectSchemes(checkClient(found), options.redirectSchemes));
    return client.clientId === clientId ? client : undefined;
  }
  // what is not found is asked anew: a client that was registered this moment may come at once
  const known = lagMemory<Client | undefined>(options, (client) => client !== undefined);
  const origins = lagMemory<boolean>(options, (isRegistered) => isRegistered);
  const taken = lagMemory<boolean>(options, () => true);
  return {
    find: (clientId) =>
      isClientId(clientId) ? known(clientId, () => ask(clientId)) : Promise.resolve(undefined),
    isBrowserOrigin: async (origin) =>
      isOrigin(origin) && origins(origin, () => clients.isBrowserOrigin(origin)),
    isTaken: (id) =>
      isClientId(id) ? taken(id, async () => (await ask(id)) !== undefined) : Promise.resolve(false),
  };
}
