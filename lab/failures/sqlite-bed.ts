/** A host over a SQLite file, which a test locks, fills, closes or opens again. */
import type { Storage } from "../../lib";
import { type SqliteStorage, sqliteStorage } from "../../lib/sqlite";
import { storageMethods } from "../../lib/storage/port";
import { clients } from "../../__tests__/hosts/clients";
import { calmly, hookedHandle, type StatementHook } from "../../__tests__/servers/hooked-handle";
import type { TestHost } from "../../__tests__/hosts/host";
import { newHost } from "./outage-bed";
import { intercept } from "../../__tests__/storage/slow-storage";
import { newFile, type OpenedHandle, type SqliteDriver } from "../../__tests__/servers/sqlite-files";

/** The host and its file. */
export interface SqliteBed {
  readonly file: string;
  /** What `host` uses; another one after `openAgain`. */
  handle: OpenedHandle;
  storage: SqliteStorage;
  /** Another connection to the file. */
  readonly other: OpenedHandle;
  readonly host: TestHost;
  /** Told of every storage call before it is made. */
  beforeCall: (name: string) => void;
  /** Runs every statement of the handle. */
  hook: StatementHook;
  /** The host goes on with a new handle. */
  openAgain(): void;
  close(): void;
}

/** The calls go to the storage that `current` gives at that moment. */
function delegating(current: () => Storage): Storage {
  const ports = Object.entries(storageMethods).map(([port, methods]) => {
    const calls = Object.keys(methods).map((method) => [
      method,
      (...args: unknown[]) => {
        const target = Reflect.get(current(), port) as Record<string, (...args: unknown[]) => unknown>;
        return target[method]?.(...args);
      },
    ]);
    return [port, Object.fromEntries(calls)];
  });
  return Object.fromEntries(ports) as Storage;
}

/** A new file with the clients of the test host, each of which nobody is asked about. */
export async function newSqliteBed(driver: SqliteDriver): Promise<SqliteBed> {
  const file = newFile();

  function open(): Pick<SqliteBed, "handle" | "storage"> {
    const handle = driver.open(file);
    const hooked = hookedHandle(handle, (sql, call) => bed.hook(sql, call));
    return { handle, storage: sqliteStorage({ handle: hooked }) };
  }

  const bed: SqliteBed = {
    file,
    ...open(),
    other: driver.open(file),
    host: newHost(
      intercept(
        delegating(() => bed.storage),
        (name, call) => {
          bed.beforeCall(name);
          return call();
        },
      ),
    ),
    beforeCall: () => undefined,
    hook: calmly,
    openAgain: () => void Object.assign(bed, { ...open(), hook: calmly, beforeCall: () => undefined }),
    close() {
      for (const handle of [bed.handle, bed.other]) handle.close();
    },
  };
  await bed.storage.migrate();
  for (const client of Object.values(clients)) await bed.storage.clients.save({ ...client, trusted: true });
  return bed;
}
