/** Test hosts over storage that tells what it was asked. */
import { type Client, type ClientStore, memoryStorage, type Storage } from "../../lib";
import { origin, type Pair, pairPath } from "./apis";
import { clients } from "./clients";
import { type TestHost, testHost, type TestHostOptions } from "./host";
import { intercept, watchWrites } from "../storage/slow-storage";

/** A host, and what was written for it. */
export interface WatchedHost {
  readonly host: TestHost;
  /** The writing calls that storage has had, in their order. */
  readonly writes: string[];
}

/** A host whose storage keeps the names of the calls that write. */
export function watchedHost({ clients: records, ...options }: TestHostOptions = {}): WatchedHost {
  const { storage, writes } = watchWrites(memoryStorage({ clients: records ?? Object.values(clients) }));
  return { host: testHost({ ...options, storage }), writes };
}

/** Storage that keeps the names of all calls it gets. */
export function countedStorage(): { readonly storage: Storage; readonly calls: string[] } {
  const calls: string[] = [];
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
    calls.push(name);
    return call();
  });
  return { storage, calls };
}

/** Storage that works until a test names a call that fails. */
export interface FailingStorage {
  readonly storage: Storage;
  /** This call throws, while it is named. */
  failing: string | undefined;
}

/** Storage in which a call throws `cause`. */
export function failingStorage(cause: Error): FailingStorage {
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (called, call) => {
    if (called === watch.failing) throw cause;
    return call();
  });
  const watch: FailingStorage = { storage, failing: undefined };
  return watch;
}

/** What the host is told when a call of storage fails at a pair: of the client `web`, once it has been found. */
export function failureEvent(
  pair: Pair,
  { call, cause, at }: { call: string; cause: Error; at: number },
): object {
  const issuer = `${origin}${pairPath(pair)}`;
  return { kind: "server-error", at, issuer, ...(call !== "clients.find" && { clientId: "web" }), cause };
}

/** Clients that a test may change while the server runs. */
export function changingClients(records: Map<string, Client>): ClientStore {
  return { find: async (clientId) => records.get(clientId), isBrowserOrigin: async () => false };
}
