import { mariadb, type MariadbServer, startMariadb } from "../../__tests__/servers/mariadb-server";
import { newName, numbers, useStorage } from "../../__tests__/servers/postgres-storage";
import { describeWith, freePort } from "../../__tests__/servers/server-process";
import { codeRecord } from "../../__tests__/records/records";
import { mysqlStorage, type MysqlStorage } from "../../lib/mysql";
import { storageContract } from "../../lib/testing";
import { mysqlHandleNames, openMysqlHandle } from "./mysql-handles";

describeWith(mariadb, {
  name: "MariaDB",
  tests() {
    let server: MariadbServer;
    beforeAll(async () => {
      server = await startMariadb();
    });
    afterAll(() => server.close());

    describe.each(mysqlHandleNames)("mysqlStorage by %s (RFC 6749 §10.5)", (name) => {
      const prefix = newName();
      const ends: (() => Promise<void>)[] = [];
      let stores: { readonly storage: MysqlStorage; readonly peer: MysqlStorage };

      beforeAll(async () => {
        const [own, other] = [
          await openMysqlHandle(name, { uri: server.url }),
          await openMysqlHandle(name, { uri: server.url }),
        ];
        ends.push(own.end, other.end);
        const names = { prefix };
        stores = {
          storage: mysqlStorage({ pool: own.pool, ...names }),
          peer: mysqlStorage({ pool: other.pool, ...names }),
        };
        await Promise.all(numbers(4).flatMap(() => [stores.storage.migrate(), stores.peer.migrate()]));
      });
      afterAll(async () => {
        for (const end of ends) await end();
      });

      it("keeps and deletes one record of each kind, in a schema of its own", async () => {
        const { pool, end } = await openMysqlHandle(name, { uri: server.url });
        const storage = mysqlStorage({ pool, schema: newName() });
        await storage.migrate();
        await useStorage(storage);
        await end();
      });

      it("asks for migrate() where a table is missing, which it tells by the number of the database", async () => {
        const { pool, end } = await openMysqlHandle(name, { uri: server.url });
        const found = mysqlStorage({ pool, prefix: newName() }).authorizationCodes.find(codeRecord(), 1_000);
        await expect(found).rejects.toMatchObject({ code: "mysql-not-migrated" });
        await end();
      });

      storageContract({
        test: it,
        async open({ clients }) {
          for (const client of clients) await stores.storage.clients.save(client);
          return stores;
        },
        async openUnreachable() {
          const { pool, end } = await openMysqlHandle(
            name,
            // not as long as on a server that is only slow
            { uri: `mysql://root@127.0.0.1:${await freePort()}/test`, acquireTimeout: 100 },
          );
          return { storage: mysqlStorage({ pool }), close: end };
        },
      });
    });
  },
});
