/** How the next version of a schema is added: one more entry in its list. Data and the processes of the version before stay. */
import { openDatabase as openPostgres } from "../../lib/adapters/postgres/database";
import {
  migrate as migratePostgres,
  schemaVersions as postgresVersions,
} from "../../lib/adapters/postgres/schema";
import { openDatabase as openSqlite } from "../../lib/adapters/sqlite/database";
import { migrate as migrateSqlite, schemaVersions as sqliteVersions } from "../../lib/adapters/sqlite/schema";
import { postgresStorage } from "../../lib/postgres";
import { sqliteStorage } from "../../lib/sqlite";
import {
  ask,
  describeWithPostgres,
  newName,
  openStorage,
  pool,
  useStorage,
} from "../servers/postgres-storage";
import { confidentialRecord } from "../records/records";
import { drivers, newFile } from "../servers/sqlite-files";

const client = confidentialRecord();

describeWithPostgres(() => {
  it("postgresStorage takes a second version, also from several processes at once", async () => {
    const prefix = newName();
    const before = await openStorage({ prefix });
    await before.clients.save(client);

    const versions = [
      ...postgresVersions,
      ({ clients }: { clients: string }) => [
        `ALTER TABLE ${clients} ADD COLUMN IF NOT EXISTS note text COLLATE "C" NOT NULL DEFAULT 'none'`,
      ],
    ];
    const processes = [1, 2, 3, 4].map(() => openPostgres(pool, { prefix }));
    await Promise.all(processes.map((database) => migratePostgres(database, versions)));
    expect(await ask(`SELECT version FROM ${prefix}migrations ORDER BY 1`)).toEqual([
      { version: 1 },
      { version: 2 },
    ]);
    expect(await ask(`SELECT client_id, note FROM ${prefix}clients`)).toEqual([
      { client_id: client.clientId, note: "none" },
    ]);
    expect(await before.clients.find(client.clientId)).toEqual(client);
    await before.migrate();
    await useStorage(before);
  });

  it("postgresStorage makes both versions in an empty database", async () => {
    const prefix = newName();
    const noteTable = `${prefix}notes`;
    const versions = [...postgresVersions, () => [`CREATE TABLE IF NOT EXISTS ${noteTable} (note text)`]];
    await migratePostgres(openPostgres(pool, { prefix }), versions);
    expect(await ask(`SELECT note FROM ${noteTable}`)).toEqual([]);
    await useStorage(postgresStorage({ pool, prefix }));
  });
});

describe.each(drivers)("the next version in SQLite by $name", (driver) => {
  it("keeps the data, and the version before goes on", async () => {
    const handle = driver.open(newFile());
    const before = sqliteStorage({ handle });
    await before.migrate();
    await before.clients.save(client);
    const note = "ALTER TABLE authmount_clients ADD COLUMN note TEXT NOT NULL DEFAULT 'none'";
    await migrateSqlite(openSqlite(handle), [...sqliteVersions, [note]]);
    await migrateSqlite(openSqlite(handle), [...sqliteVersions, [note]]);
    expect(handle.prepare("SELECT client_id, note FROM authmount_clients").all()).toEqual([
      { client_id: client.clientId, note: "none" },
    ]);
    expect(await before.clients.find(client.clientId)).toEqual(client);
    await before.migrate();
    await before.clients.save({ ...client, name: "New" });
    handle.close();
  });
});
