/** A MariaDB server and its replica. */
import { mysqlStorage } from "../../lib/mysql";
import type { CutProxy } from "../../__tests__/servers/cut-proxy";
import { mariadb, type MariadbServer, replicaOf, startMariadb } from "../../__tests__/servers/mariadb-server";
import {
  type Pair,
  type Replicated,
  type Replication,
  type ReplicationMode,
  startPair,
  untilSo,
} from "./replication";

type Row = Readonly<Record<string, unknown>>;

export interface ReplicatedMariadb extends Replicated, Pair<MariadbServer> {
  readonly primary: MariadbServer;
  readonly standby: MariadbServer;
}

/** What docs/storage-mysql.md says. */
const modeSettings: Readonly<Record<ReplicationMode, readonly string[]>> = {
  synchronous: [
    "--rpl-semi-sync-master-enabled=ON",
    "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
    "--rpl-semi-sync-master-timeout=4294967295",
  ],
  asynchronous: [],
};

/** What an operator does on this server, with the rows that it gives. */
function admin(server: MariadbServer): (statement: string) => Promise<readonly Row[]> {
  const pool = server.pool({ connectionLimit: 1 });
  return async (statement) => (await pool.query(statement))[0] as readonly Row[];
}

async function startReplica(primary: MariadbServer, link: CutProxy): Promise<MariadbServer> {
  const settings = ["--server-id=2", "--log-bin=binlog", "--log-slave-updates", "--read-only=ON"];
  const replica = await startMariadb([...settings, "--rpl-semi-sync-slave-enabled=ON"], replicaOf(primary));
  const [onPrimary, onReplica] = [admin(primary), admin(replica)];
  const source = `MASTER_HOST = '127.0.0.1', MASTER_PORT = ${link.port}, MASTER_USER = 'root'`;
  await onReplica(`CHANGE MASTER TO ${source}, MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`);
  await onReplica("START SLAVE");
  const follower = "SELECT 1 FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'";
  await untilSo(() => onPrimary(follower));
  // nobody who is root is kept from writing to a replica
  for (const statement of ["CREATE USER app", "GRANT ALL ON test.* TO app"]) await onPrimary(statement);
  return replica;
}

/** One commit waits for the replica, and behind it those that go into the log together with it. */
const waitingCommits = `SELECT ID AS id FROM information_schema.PROCESSLIST
  WHERE STATE LIKE 'Waiting for semi-sync ACK%' OR STATE = 'Commit' ORDER BY STATE DESC`;

/** Starts both, until the replica follows. */
export async function startReplicatedMariadb(mode: ReplicationMode): Promise<ReplicatedMariadb> {
  // the default of MySQL: what changes no row is not in the log, and waits for nobody
  const own = ["--server-id=1", "--log-bin=binlog", "--sync-binlog=1", "--binlog-format=ROW"];
  const first = await startMariadb([...own, ...modeSettings[mode]]);
  const pair = await startPair(first, (link) => startReplica(first, link));
  const { primary, standby, address } = pair;
  const [onPrimary, onStandby] = [admin(primary), admin(standby)];
  return {
    ...pair,
    store: { mysqlUrl: `mysql://app@127.0.0.1:${address.port}/test`, close: pair.close },
    untilWaiting: async (count) =>
      (await untilSo(() => onPrimary(waitingCommits), count)).map(({ id }) => Number(id)),
    // it may have ended by itself meanwhile
    terminate: (id) => onPrimary(`KILL ${id}`).catch(() => undefined),
    async untilReplicated() {
      const [position] = await onPrimary("SELECT @@gtid_binlog_pos AS written");
      await onStandby(`SELECT MASTER_GTID_WAIT('${String(position?.["written"])}')`);
    },
    pauseReplay: () => onStandby("STOP SLAVE SQL_THREAD"),
    async promote() {
      // all that it has received is applied first: when both its threads have stopped, it forgets the rest
      await onStandby("START SLAVE SQL_THREAD");
      const [status] = await onStandby("SHOW SLAVE STATUS");
      await onStandby(`SELECT MASTER_GTID_WAIT('${String(status?.["Gtid_IO_Pos"])}')`);
      for (const statement of ["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"])
        await onStandby(statement);
      address.leadTo(standby.port);
    },
    async openStorage({ port = address.port } = {}) {
      const storage = mysqlStorage({ pool: primary.pool({ port, user: "app" }) });
      await storage.migrate();
      return storage;
    },
    async spent() {
      const rows = await onStandby("SELECT digest FROM authmount_spent_tokens");
      return rows.map(({ digest }) => String(digest));
    },
  };
}

/** MariaDB. */
export const replicatedMariadb: Replication = { ...mariadb, start: startReplicatedMariadb };
