/** A PostgreSQL server and its standby, and the address at which hosts find the one that is the primary. */
import type { Pool, PoolConfig } from "pg";
import { type PostgresPool, postgresStorage } from "../../lib/postgres";
import { clients } from "../../__tests__/hosts/clients";
import { type CutProxy, startCutProxy } from "../../__tests__/servers/cut-proxy";
import type { TestHost } from "../../__tests__/hosts/host";
import { newHost } from "./outage-bed";
import { type PostgresServer, standbyOf, startPostgres } from "../../__tests__/servers/postgres-server";
import { intercept } from "../../__tests__/storage/slow-storage";

/** `synchronous`: a commit is acknowledged once the standby has it on disk too. */
export type ReplicationMode = "synchronous" | "asynchronous";

export interface ReplicatedPostgres {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** Where hosts connect. It leads to the primary, and after a failover to the standby. */
  readonly address: CutProxy;
  /** Between the two servers: while it is frozen, the standby hears nothing. */
  readonly link: CutProxy;
  /** Waits until so many commits of the primary wait for the standby; gives the ids of their processes. */
  readonly untilWaiting: (count: number) => Promise<readonly number[]>;
  /** Waits until the standby has all that the primary has written. */
  readonly untilReplicated: () => Promise<void>;
  /** The primary loses its power: it is killed and nobody hears of it again. */
  readonly losePrimary: () => Promise<void>;
  /** The standby becomes the primary, and then the address leads to it. */
  readonly promote: () => Promise<void>;
  /** A host that connects to the address. Its pool ends with the servers. */
  readonly openHost: (settings?: HostSettings) => Promise<TestHost>;
  readonly close: () => Promise<void>;
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

function startStandby(primary: PostgresServer, link: CutProxy): Promise<PostgresServer> {
  const source = `host=127.0.0.1 port=${link.port} user=postgres application_name=standby`;
  const settings = [`primary_conninfo=${source}`, "wal_retrieve_retry_interval=50ms"];
  return startPostgres(settings, standbyOf(primary));
}

const patienceMilliseconds = 300_000;

/** Asks until there are so many such rows: they are about what the servers do by themselves. */
export async function untilRows(
  server: PostgresServer,
  { statement, count = 1 }: { readonly statement: string; readonly count?: number },
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const pool = server.pool({ max: 1 });
  const deadline = Date.now() + patienceMilliseconds;
  while (Date.now() < deadline) {
    const { rows } = await pool.query<Record<string, unknown>>(statement);
    if (rows.length >= count) return rows;
  }
  throw new Error(`the servers do not come to this: ${statement}`);
}

async function untilWaiting(server: PostgresServer, count: number): Promise<readonly number[]> {
  const statement = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  return (await untilRows(server, { statement, count })).map(({ pid }) => Number(pid));
}

async function openHost(
  { primary, address }: { primary: PostgresServer; address: CutProxy },
  { config, around = (pool) => pool, beforeCall = () => undefined }: HostSettings,
): Promise<TestHost> {
  const storage = postgresStorage({ pool: around(primary.pool({ port: address.port, ...config })) });
  await storage.migrate();
  for (const client of Object.values(clients)) await storage.clients.save({ ...client, trusted: true });
  return newHost(
    intercept(storage, (name, call) => {
      beforeCall(name);
      return call();
    }),
  );
}

/** Starts both, until the standby follows. */
export async function startReplicatedPostgres(mode: ReplicationMode): Promise<ReplicatedPostgres> {
  const primary = await startPostgres(["wal_keep_size=512MB", ...modeSettings[mode]]);
  const link = await startCutProxy(primary.port);
  const address = await startCutProxy(primary.port);
  let standby: PostgresServer | undefined;
  async function close(): Promise<void> {
    // what waits for an answer fails now
    await primary.stop("SIGKILL");
    await standby?.stop("SIGKILL");
    await Promise.all([primary.close(), standby?.close()]);
    await Promise.all([address.close(), link.close()]);
  }
  try {
    standby = await startStandby(primary, link);
    await untilRows(primary, { statement: "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'" });
  } catch (error) {
    await close();
    throw error;
  }
  const follower = standby;
  return {
    primary,
    standby,
    address,
    link,
    untilWaiting: (count) => untilWaiting(primary, count),
    async untilReplicated() {
      const statement =
        "SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= (SELECT pg_current_wal_flush_lsn())";
      await untilRows(primary, { statement });
    },
    async losePrimary() {
      // the signal is sent at once
      const dead = primary.stop("SIGKILL");
      link.cutAll();
      address.cutAll();
      await dead;
    },
    async promote() {
      const pool = follower.pool({ max: 1 });
      await pool.query("SELECT pg_promote()");
      address.leadTo(follower.port);
    },
    openHost: (settings = {}) => openHost({ primary, address }, settings),
    close,
  };
}

/** Starts both for this test, and stops them whatever comes of it. */
export async function withReplication(
  mode: ReplicationMode,
  test: (replicated: ReplicatedPostgres) => Promise<void>,
): Promise<void> {
  const replicated = await startReplicatedPostgres(mode);
  try {
    await test(replicated);
  } finally {
    await replicated.close();
  }
}
