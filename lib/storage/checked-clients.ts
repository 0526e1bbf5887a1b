/** The host's client table, with every answer checked. RFC 6749 §2. */
import { isClientId } from "../protocol/client";
import { checkClient } from "./check-client";
import type { ClientStore } from "./port";

/**
 * Asks only for ids that can be registered, and takes only the very client that was asked for: a table that ignores case
 * must not turn one client into another.
 */
export function checkedClients(clients: ClientStore): ClientStore {
  return {
    async find(clientId) {
      if (!isClientId(clientId)) return undefined;
      const found = await clients.find(clientId);
      if (!found) return undefined;
      const client = checkClient(found);
      return client.clientId === clientId ? client : undefined;
    },
    isBrowserOrigin: (origin) => clients.isBrowserOrigin(origin),
  };
}
