/** The host's client table, with every answer checked, and remembered for a moment. RFC 6749 §2. */
import { LRUCache } from "lru-cache";
import { type Client, isClientId } from "../protocol/client";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import { checkClient } from "./check-client";
import type { ClientStore } from "./port";

export interface ClientMemory {
  /** How long, in seconds, an answer may be repeated without asking the table again. */
  readonly lagSeconds: number;
  readonly now: () => EpochSeconds;
}

const maxRemembered = 10_000;

/** Repeats what `ask` has found for as long as the lag allows. What it has not found, or failed at, is asked anew. */
function remembering<T extends object>(
  { lagSeconds, now }: ClientMemory,
  ask: (key: string) => Promise<T | undefined>,
): (key: string) => Promise<T | undefined> {
  const remembered = new LRUCache<string, { readonly found: T; readonly at: EpochSeconds }>({
    max: maxRemembered,
  });
  return async (key) => {
    const at = now();
    const known = remembered.get(key);
    // a clock that was set back makes nothing last longer
    if (known && Math.abs(at - known.at) < lagSeconds) return known.found;
    const found = await ask(key);
    if (found) remembered.set(key, { found, at });
    else remembered.delete(key);
    return found;
  };
}

/**
 * Asks only for ids that can be registered, and takes only the very client that was asked for: a table that ignores case
 * must not turn one client into another.
 */
export function checkedClients(clients: ClientStore, memory: ClientMemory): ClientStore {
  async function ask(clientId: string): Promise<Client | undefined> {
    const found = await clients.find(clientId);
    if (!found) return undefined;
    const client = checkClient(found);
    return client.clientId === clientId ? client : undefined;
  }
  const findClient = remembering(memory, ask);
  const findOrigin = remembering(memory, async (origin) =>
    (await clients.isBrowserOrigin(origin)) ? { origin } : undefined,
  );
  return {
    find: async (clientId) => (isClientId(clientId) ? findClient(clientId) : undefined),
    isBrowserOrigin: async (origin) => (await findOrigin(origin)) !== undefined,
  };
}
