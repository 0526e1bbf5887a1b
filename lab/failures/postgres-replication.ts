/** A PostgreSQL server and its standby. */
import type { Pool, PoolConfig } from "pg";
import { type PostgresPool, postgresStorage } from "../../lib/postgres";
import type { TestHost } from "../../__tests__/hosts/host";
import type { CutProxy } from "../../__tests__/servers/cut-proxy";
import {
  postgres,
  type PostgresServer,
  standbyOf,
  startPostgres,
} from "../../__tests__/servers/postgres-server";
import {
  hostOver,
  type Pair,
  type Replicated,
  type Replication,
  type ReplicationMode,
  startPair,
  untilSo,
  withPair,
} from "./replication";

export interface ReplicatedPostgres extends Replicated, Pair<PostgresServer> {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** A host that connects to the address. Its pool ends with the servers. */
  readonly openHost: (settings?: HostSettings) => Promise<TestHost>;
}

interface HostSettings {
  /** What its pool has of its own, such as another port. */
  readonly config?: PoolConfig;
  /** What storage is given instead of the pool. */
  readonly around?: (pool: Pool) => PostgresPool;
  /** Told of every storage call before it is sent. */
  readonly beforeCall?: (name: string) => void;
}

const modeSettings: Readonly<Record<ReplicationMode, readonly string[]>> = {
  synchronous: ["synchronous_standby_names=ANY 1 (standby)", "synchronous_commit=on"],
  asynchronous: ["synchronous_commit=on"],
};

async function startStandby(primary: PostgresServer, link: CutProxy): Promise<PostgresServer> {
  const source = `host=127.0.0.1 port=${link.port} user=postgres application_name=standby`;
  const settings = [`primary_conninfo=${source}`, "wal_retrieve_retry_interval=50ms"];
  const standby = await startPostgres(settings, standbyOf(primary));
  await untilRows(primary, { statement: "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'" });
  return standby;
}

/** Asks until there are so many such rows. */
export function untilRows(
  server: PostgresServer,
  { statement, count = 1 }: { readonly statement: string; readonly count?: number },
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const pool = server.pool({ max: 1 });
  return untilSo(async () => (await pool.query<Record<string, unknown>>(statement)).rows, count);
}

/** Starts both, until the standby follows. */
async function startReplicatedPostgres(mode: ReplicationMode): Promise<ReplicatedPostgres> {
  const first = await startPostgres(["wal_keep_size=512MB", ...modeSettings[mode]]);
  const pair = await startPair(first, (link) => startStandby(first, link));
  const { primary, standby, address } = pair;
  const admin = primary.pool({ max: 1 });
  const url = `postgres://postgres@127.0.0.1:${address.port}/postgres`;

  async function openStorage(config: PoolConfig = {}, around = (pool: Pool): PostgresPool => pool) {
    const storage = postgresStorage({ pool: around(primary.pool({ port: address.port, ...config })) });
    await storage.migrate();
    return storage;
  }

  return {
    ...pair,
    store: { postgresUrl: url, close: pair.close },
    async untilWaiting(count) {
      const statement = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      const rows = await untilSo(async () => (await admin.query<{ pid: number }>(statement)).rows, count);
      return rows.map(({ pid }) => Number(pid));
    },
    terminate: (pid) => admin.query(`SELECT pg_terminate_backend(${pid})`),
    untilReplicated: () =>
      untilRows(primary, {
        statement: "SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= (SELECT pg_current_wal_flush_lsn())",
      }),
    async pauseReplay() {
      await standby.pool().query("SELECT pg_wal_replay_pause()");
      const statement = "SELECT 1 WHERE pg_get_wal_replay_pause_state() = 'paused'";
      await untilRows(standby, { statement });
    },
    async promote() {
      await standby.pool({ max: 1 }).query("SELECT pg_promote()");
      address.leadTo(standby.port);
    },
    openStorage,
    async spent() {
      const { rows } = await standby
        .pool()
        .query<{ digest: string }>("SELECT digest FROM authmount_spent_tokens");
      return rows.map(({ digest }) => digest);
    },
    openHost: async ({ config, around, beforeCall } = {}) =>
      hostOver(await openStorage(config, around), beforeCall),
  };
}

/** PostgreSQL. */
export const replicatedPostgres: Replication = { ...postgres, start: startReplicatedPostgres };

/** Starts both for this test, and stops them whatever comes of it. */
export function withReplication(
  mode: ReplicationMode,
  test: (replicated: ReplicatedPostgres) => Promise<void>,
): Promise<void> {
  return withPair(startReplicatedPostgres(mode), test);
}
