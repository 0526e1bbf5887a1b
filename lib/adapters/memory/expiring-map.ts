/** A bounded map whose entries end at a given time and cannot be changed in place. When full, it refuses new entries. */
import { lateError } from "../../protocol/oauth-error";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";

/** A copy that cannot be changed anywhere. */
export function frozenCopy<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  if (typeof value !== "object" || value === null) return value;
  const copy = { ...value } as Record<string, unknown>;
  for (const name of Object.keys(copy)) copy[name] = frozenCopy(copy[name]);
  return Object.freeze(copy) as T;
}

/** A record that ends by itself. */
interface Expiring {
  /** The record has expired once `now >= expiresAt`. */
  readonly expiresAt: EpochSeconds;
}

/** The bound of a map, and what its entries are grouped and counted by. */
export interface ExpiringMapOptions<T> {
  /** How many entries the map holds at most, expired ones included until they are dropped. */
  readonly maxEntries: number;
  /** The groups under which `inGroup` finds an entry. Left out: there are no groups. */
  readonly groupsOf?: (value: T) => readonly string[];
  /** The owner whose share of the room a new entry takes. Left out or `undefined`: nobody's. */
  readonly ownerOf?: (value: T, now: EpochSeconds) => string | undefined;
}

/** The entries. Values are frozen copies, so the map may give out what it keeps. It never drops a living entry by itself. */
export interface ExpiringMap<T> {
  /** The entry that has not expired at `now`. */
  get(key: string, now: EpochSeconds): T | undefined;
  /**
   * Stores or replaces an entry.
   *
   * @throws Error (`temporarily_unavailable` for the client) when the map is full of living entries, or when the owner holds more
   * of them than there is room left. Dropping a living entry instead could drop a revocation.
   */
  set(key: string, value: T, now: EpochSeconds): void;
  /** Changes parts of an entry, expired or not. Nothing happens when there is none. */
  change(key: string, part: Partial<Omit<T, "expiresAt">>): void;
  /** Drops the entry, if there is one. */
  delete(key: string): void;
  /** The living entries of one group, found without looking at the others; at `-Infinity`, expired ones too. */
  inGroup(group: string, now: EpochSeconds): readonly T[];
}

/** An entry and the owner whose share it takes. */
interface Kept<T> {
  readonly value: T;
  readonly owner: string | undefined;
}

/** Entries by a name. A name without entries is forgotten. */
function namedSets<T>() {
  // most names have a single entry, and a set for each of them would be as large as the record
  const sets = new Map<string, Kept<T> | Set<Kept<T>>>();
  return {
    add(name: string, kept: Kept<T>): void {
      const known = sets.get(name);
      if (known === undefined) sets.set(name, kept);
      else if (known instanceof Set) known.add(kept);
      else sets.set(name, new Set([known, kept]));
    },
    remove(name: string, kept: Kept<T>): void {
      const known = sets.get(name);
      if (known instanceof Set) known.delete(kept);
      if (known === kept || (known instanceof Set && known.size === 0)) sets.delete(name);
    },
    of(name: string): Iterable<Kept<T>> {
      const known = sets.get(name) ?? [];
      return Symbol.iterator in known ? known : [known];
    },
  };
}

const storeFull = (): Error => lateError("memory-full", "memoryStorage is full: raise maxEntries.");

function shareUsedUp(owner: string): Error {
  return lateError(
    "memory-share-used-up",
    `memoryStorage: "${owner}" holds more records of one kind than there is room left for all others. Limit its rate, or raise maxEntries.`,
  );
}

/** The entries with their groups and the shares of their owners, which are updated together with them. */
function keptEntries<T extends Expiring>({ maxEntries, groupsOf }: ExpiringMapOptions<T>) {
  const entries = new Map<string, Kept<T>>();
  const groups = namedSets<T>();
  const owned = new Map<string, number>();

  function add(key: string, kept: Kept<T>): void {
    entries.set(key, kept);
    for (const group of groupsOf?.(kept.value) ?? []) groups.add(group, kept);
  }

  function leaveGroups(kept: Kept<T>): void {
    for (const group of groupsOf?.(kept.value) ?? []) groups.remove(group, kept);
  }

  function count(owner: string | undefined, change: number): void {
    if (owner === undefined) return;
    const share = (owned.get(owner) ?? 0) + change;
    if (share > 0) owned.set(owner, share);
    else owned.delete(owner);
  }

  function drop(key: string): void {
    const kept = entries.get(key);
    if (!kept) return;
    entries.delete(key);
    leaveGroups(kept);
    count(kept.owner, -1);
  }

  function dropExpired(now: EpochSeconds): void {
    for (const [key, { value }] of entries) if (value.expiresAt <= now) drop(key);
  }

  /** Each owner may hold at most as much as is free. So one alone gets half of the room, two get a third each, and so on. */
  function shortage(owner: string | undefined): (() => Error) | undefined {
    const free = maxEntries - entries.size;
    if (free <= 0) return storeFull;
    if (owner === undefined || (owned.get(owner) ?? 0) <= free) return undefined;
    return () => shareUsedUp(owner);
  }

  return { entries, groups, add, leaveGroups, count, drop, dropExpired, shortage };
}

/** Drops expired entries now and then. The clock may be wrong at times. */
function sweeper(dropExpired: (now: EpochSeconds) => void): (now: EpochSeconds) => void {
  let sweptAt = 0;
  return (now) => {
    if (Math.abs(now - sweptAt) < clockDriftSeconds) return;
    // only what had already ended by the sweep before: a clock that was set ahead does no harm if it is soon set back
    dropExpired(Math.min(sweptAt, now));
    sweptAt = now;
  };
}

/** An empty map. */
export function expiringMap<T extends Expiring>(options: ExpiringMapOptions<T>): ExpiringMap<T> {
  const { entries, groups, add, leaveGroups, count, drop, dropExpired, shortage } = keptEntries(options);
  const sweep = sweeper(dropExpired);
  let roomMadeAt: EpochSeconds | undefined;

  /** Refuses an entry for which there is no room, or whose owner would leave too little of it for others. */
  function makeRoom(owner: string | undefined, now: EpochSeconds): void {
    if (!shortage(owner)) return;
    // at most once a second: a flood must not make each refused call search for expired entries
    if (now !== roomMadeAt) dropExpired(now);
    roomMadeAt = now;
    const problem = shortage(owner);
    if (problem) throw problem();
  }

  return {
    get(key, now) {
      const known = entries.get(key);
      return known && now < known.value.expiresAt ? known.value : undefined;
    },
    set(key, value, now) {
      sweep(now);
      const before = entries.get(key);
      const owner = before ? before.owner : options.ownerOf?.(value, now);
      if (before) drop(key);
      else makeRoom(owner, now);
      add(key, { value: frozenCopy(value), owner });
      count(owner, 1);
    },
    change(key, part) {
      const before = entries.get(key);
      if (!before) return;
      leaveGroups(before);
      add(key, { ...before, value: Object.freeze({ ...before.value, ...frozenCopy(part) }) });
    },
    delete: drop,
    inGroup(group, now) {
      const living: T[] = [];
      for (const { value } of groups.of(group)) if (now < value.expiresAt) living.push(value);
      return living;
    },
  };
}
