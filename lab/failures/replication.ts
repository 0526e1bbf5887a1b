/** A database server and the one that follows it, and the address at which hosts find the one that is the primary. */
import { setTimeout as delay } from "node:timers/promises";
import type { ClientRegistry, CompleteStorage } from "../../lib/storage/port";
import { clients } from "../../__tests__/hosts/clients";
import type { TestHost } from "../../__tests__/hosts/host";
import type { StoreServer } from "../../__tests__/servers/cluster-processes";
import { type CutProxy, startCutProxy } from "../../__tests__/servers/cut-proxy";
import type { ServerProcess } from "../../__tests__/servers/server-process";
import { intercept } from "../../__tests__/storage/slow-storage";
import { newHost } from "./outage-bed";

/** `synchronous`: a commit is acknowledged once the standby has it on disk too. */
export type ReplicationMode = "synchronous" | "asynchronous";

type Server = ServerProcess & { readonly port: number };

/** Both servers. */
export interface Pair<S extends Server> {
  readonly primary: S;
  readonly standby: S;
  /** Where hosts connect. It leads to the primary, and after a failover to the standby. */
  readonly address: CutProxy;
  /** Between the two servers: while it is frozen, the standby hears nothing. */
  readonly link: CutProxy;
  /** The primary loses its power: it is killed and nobody hears of it again. */
  readonly losePrimary: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** What storage is made with: a port, if it is another one than that of the address. */
export interface Place {
  readonly port?: number;
}

/** Storage that tests can register clients in. */
export type Writable = CompleteStorage & { readonly clients: ClientRegistry };

/** What tests do with the two, whatever database they are. */
export interface Replicated extends Pair<Server> {
  /** Where the hosts of other processes find it. */
  readonly store: StoreServer;
  /** Waits until so many commits of the primary wait for the standby; gives the ids of their connections, the first to be served first. */
  readonly untilWaiting: (count: number) => Promise<readonly number[]>;
  /** Ends a connection of the primary. */
  readonly terminate: (id: number) => Promise<unknown>;
  /** Waits until the standby has all that the primary has written. */
  readonly untilReplicated: () => Promise<unknown>;
  /** The standby receives still, and applies nothing until its promotion. */
  readonly pauseReplay: () => Promise<unknown>;
  /** The standby becomes the primary, and then the address leads to it. */
  readonly promote: () => Promise<void>;
  readonly openStorage: (place?: Place) => Promise<Writable>;
  /** The digests that the standby knows as spent. */
  readonly spent: () => Promise<readonly string[]>;
}

/** A database that can be run as two. */
export interface Replication {
  readonly name: string;
  readonly found: boolean;
  readonly start: (mode: ReplicationMode) => Promise<Replicated>;
}

/** Starts both. `startStandby` connects to the primary by the link. */
export async function startPair<S extends Server>(
  primary: S,
  startStandby: (link: CutProxy) => Promise<S>,
): Promise<Pair<S>> {
  const link = await startCutProxy(primary.port);
  const address = await startCutProxy(primary.port);
  let standby: S | undefined;
  async function close(): Promise<void> {
    // what waits for an answer fails now
    await primary.stop("SIGKILL");
    await standby?.stop("SIGKILL");
    await Promise.all([primary.close(), standby?.close()]);
    await Promise.all([address.close(), link.close()]);
  }
  async function losePrimary(): Promise<void> {
    // the signal is sent at once
    const dead = primary.stop("SIGKILL");
    link.cutAll();
    address.cutAll();
    await dead;
  }
  try {
    standby = await startStandby(link);
  } catch (error) {
    await close();
    throw error;
  }
  return { primary, standby, address, link, losePrimary, close };
}

const patienceMilliseconds = 300_000;

type Row = Readonly<Record<string, unknown>>;

/** Asks until there are so many rows: they are about what the servers do by themselves. */
export async function untilSo(ask: () => Promise<readonly Row[]>, count = 1): Promise<readonly Row[]> {
  const deadline = Date.now() + patienceMilliseconds;
  while (Date.now() < deadline) {
    const rows = await ask();
    if (rows.length >= count) return rows;
    await delay(2);
  }
  throw new Error(`the servers do not come to what is waited for: ${String(ask)}`);
}

/** A host over this storage, with the clients. `beforeCall` is told of every storage call before it is sent. */
export async function hostOver(
  storage: Writable,
  beforeCall: (name: string) => void = () => undefined,
): Promise<TestHost> {
  for (const client of Object.values(clients)) await storage.clients.save({ ...client, trusted: true });
  return newHost(
    intercept(storage, (name, call) => {
      beforeCall(name);
      return call();
    }),
  );
}

/** Starts both for this test, and stops them whatever comes of it. */
export async function withPair<P extends { readonly close: () => Promise<void> }>(
  start: Promise<P>,
  test: (pair: P) => Promise<void>,
): Promise<void> {
  const pair = await start;
  try {
    await test(pair);
  } finally {
    await pair.close();
  }
}
