/** The host's client table, with every answer checked, and remembered for a moment. RFC 6749 §2. */
import { LRUCache } from "lru-cache";
import { type Client, isClientId } from "../protocol/client";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import { checkClient, checkRedirectSchemes } from "./check-client";
import type { ClientStore } from "./port";

export interface CheckedClientsOptions extends ClientMemory {
  /** The schemes without a dot that native clients may have. */
  readonly redirectSchemes: readonly string[];
}

interface ClientMemory {
  /** How long, in seconds, an answer may be repeated without asking the table again. */
  readonly lagSeconds: number;
  readonly now: () => EpochSeconds;
}

const maxRemembered = 10_000;

/** Repeats what `ask` has answered for as long as the lag allows. What is not worth it, or has failed, is asked anew. */
function remembering<T>(
  { lagSeconds, now }: ClientMemory,
  { ask, isWorthIt }: { ask: (key: string) => Promise<T>; isWorthIt: (answer: T) => boolean },
): (key: string) => Promise<T> {
  const remembered = new LRUCache<string, { readonly answer: T; readonly at: EpochSeconds }>({
    max: maxRemembered,
  });
  return async (key) => {
    const at = now();
    const known = remembered.get(key);
    // a clock that was set back makes nothing last longer
    if (known && Math.abs(at - known.at) < lagSeconds) return known.answer;
    const answer = await ask(key);
    if (isWorthIt(answer)) remembered.set(key, { answer, at });
    else remembered.delete(key);
    return answer;
  };
}

/** Clients as the library asks for them. */
export interface CheckedClients extends ClientStore {
  /** True when a client has this id, so that no end user may have it as their subject. */
  isTaken(id: string): Promise<boolean>;
}

/**
 * Asks only for ids that can be registered, and takes only the very client that was asked for: a table that ignores case
 * must not turn one client into another.
 */
export function checkedClients(clients: ClientStore, options: CheckedClientsOptions): CheckedClients {
  async function ask(clientId: string): Promise<Client | undefined> {
    const found = await clients.find(clientId);
    if (!found) return undefined;
    const client = checkRedirectSchemes(checkClient(found), options.redirectSchemes);
    return client.clientId === clientId ? client : undefined;
  }
  // a client that was registered this moment may come at once
  const findClient = remembering(options, { ask, isWorthIt: (client) => client !== undefined });
  const isBrowserOrigin = remembering(options, {
    ask: (origin) => clients.isBrowserOrigin(origin),
    isWorthIt: (isOrigin) => isOrigin,
  });
  const isTaken = remembering(options, {
    ask: async (id) => (await ask(id)) !== undefined,
    isWorthIt: () => true,
  });
  return {
    find: (clientId) => (isClientId(clientId) ? findClient(clientId) : Promise.resolve(undefined)),
    isBrowserOrigin,
    isTaken: (id) => (isClientId(id) ? isTaken(id) : Promise.resolve(false)),
  };
}
