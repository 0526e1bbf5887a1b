/** How a mistake is planted in the right adapter. */
import type { Consent, ConsentKey, EpochSeconds, Storage } from "../../../../lib";
import { consentId, type Database, live, tableStorage, type TableStorage } from "./table-storage";

/** What a mistake is made of: the right adapter of one process, and the tables behind it. */
export interface Process {
  readonly storage: TableStorage;
  readonly database: Database;
}

/** An adapter with one mistake, and what must notice it. */
export interface WrongAdapter {
  readonly mistake: string;
  /** Parts of titles of the contract: every rule with such a title must fail. */
  readonly caughtBy: readonly string[];
  /** The adapter of one process. */
  readonly make: (database: Database) => Storage;
}

/** The parts of a storage, by name. */
export type Ports = keyof Storage;

interface Mistake<Port extends Ports> {
  readonly mistake: string;
  readonly caughtBy: readonly string[];
  readonly change: (process: Process) => Partial<TableStorage[Port]>;
}

/** The right adapter with some methods of one port changed. */
export function wrong<Port extends Ports>(
  port: Port,
  { mistake, caughtBy, change }: Mistake<Port>,
): WrongAdapter {
  return {
    mistake: `${port}: ${mistake}`,
    caughtBy,
    make(database) {
      const storage = tableStorage(database);
      return { ...storage, [port]: { ...storage[port], ...change({ storage, database }) } };
    },
  };
}

/** Mistakes in one port, by the rules that must catch them (parts of titles, with " | " between them) and what is wrong. */
export function planted<Port extends Ports>(
  port: Port,
  table: Readonly<Record<string, Readonly<Record<string, Mistake<Port>["change"]>>>>,
): readonly WrongAdapter[] {
  return Object.entries(table).flatMap(([caughtBy, mistakes]) =>
    Object.entries(mistakes).map(([mistake, change]) =>
      wrong(port, { mistake, caughtBy: caughtBy.split(" | "), change }),
    ),
  );
}

/** The ports that find one record. */
type FindingPorts = Exclude<Ports, "clientAssertions" | "atOnce">;

type AnyFind = (...args: readonly unknown[]) => Promise<object | undefined>;

/** A `find` whose answer is altered. */
export function finding(
  port: FindingPorts,
  {
    mistake,
    caughtBy,
    alter,
  }: { mistake: string; caughtBy: readonly string[]; alter: (record: object) => object },
): WrongAdapter {
  return wrong(port, {
    mistake,
    caughtBy,
    change({ storage }) {
      const find = storage[port].find as AnyFind;
      const altered: AnyFind = async (...args) => {
        const found = await find(...args);
        return found && alter(found);
      };
      return { find: altered } as Partial<TableStorage[typeof port]>;
    },
  });
}

function idOf(key: unknown): string {
  if (typeof key === "string") return key;
  const { digest, ...rest } = key as ConsentKey & { readonly digest?: string };
  return digest ?? consentId(rest);
}

const copyOf = (found: object): object => structuredClone(found);

/** Remembers what `find` has found in this process. */
export function cachingFind(
  port: FindingPorts,
  {
    mistake = "find repeats what this process has found before",
    caughtBy,
    give = copyOf,
  }: { mistake?: string; caughtBy: readonly string[]; give?: (found: object) => object },
): WrongAdapter {
  return wrong(port, {
    mistake,
    caughtBy,
    change({ storage }) {
      const find = storage[port].find as AnyFind;
      const known = new Map<string, object>();
      const cached: AnyFind = async (key, now) => {
        const found = known.get(idOf(key)) ?? (await find(key, now));
        if (found) known.set(idOf(key), found);
        return found && live(give(found) as Consent, now as EpochSeconds);
      };
      return { find: cached } as Partial<TableStorage[typeof port]>;
    },
  });
}

/** Runs what is given one after the other, within this process. */
export function newLock(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run);
    last = next.catch(() => undefined);
    return next;
  };
}

/** The time by a clock of the adapter, which it is not to ask. */
export const ownNow = (): EpochSeconds => Math.floor(Date.now() / 1000);
