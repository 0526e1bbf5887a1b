import type { Client, Storage } from "../../lib";
import { type SqliteStorage, sqliteStorage } from "../../lib/sqlite";
import { type OpenStorage, storageContract } from "../../lib/testing";
import { drivers, newFile, type OpenedHandle } from "../servers/sqlite-files";

describe.each(drivers)("storage contract: SQLite by $name (RFC 6749 §4.1.2, §10.5)", (driver) => {
  let handles: readonly OpenedHandle[];
  let stores: { readonly storage: SqliteStorage; readonly peer: Storage };

  beforeAll(async () => {
    const file = newFile();
    const [own, other] = [driver.open(file), driver.open(file)];
    handles = [own, other];
    stores = { storage: sqliteStorage({ handle: own }), peer: sqliteStorage({ handle: other }) };
    await stores.storage.migrate();
  });
  afterAll(() => {
    for (const handle of handles) handle.close();
  });

  async function openWith(clients: readonly Client[]): Promise<OpenStorage> {
    const { storage } = stores;
    for (const client of clients) await storage.clients.save(client);
    return {
      ...stores,
      async close() {
        for (const { clientId } of clients) await storage.clients.delete(clientId);
      },
    };
  }

  storageContract({
    test: it,
    open: ({ clients }) => openWith(clients),
    async openUnreachable() {
      const handle = driver.open(newFile());
      handle.close();
      return { storage: sqliteStorage({ handle }) };
    },
  });
});
