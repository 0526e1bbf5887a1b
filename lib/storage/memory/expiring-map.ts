/** A bounded map whose entries end at a given time and cannot be changed in place. When full, it refuses new entries. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { lateError } from "../../protocol/oauth-error";
import { bucketOf, type Expiring, expiryIndex } from "./expiry-index";
import { frozenCopies } from "./frozen-copies";
import { keyGroups } from "./key-groups";

/** The bound of a map, and what its entries are grouped and counted by. */
export interface ExpiringMapOptions<T> {
  /** How many entries the map holds at most, expired ones included until they are dropped. */
  readonly maxEntries: number;
  /** The group under which `inGroup` finds an entry; it must never change. Left out: there are no groups. */
  readonly groupOf?: (value: T) => string;
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
  /** Changes parts of a living entry, but neither its group nor its end. Nothing happens when there is none. */
  change(key: string, part: Partial<Omit<T, "expiresAt">>, now: EpochSeconds): void;
  /** Drops the entry, if there is one. */
  delete(key: string): void;
  /** The living entries of one group, found without looking at the others. */
  inGroup(group: string, now: EpochSeconds): readonly T[];
}

/** How many entries an owner holds. */
interface Share {
  readonly owner: string;
  entries: number;
}

/** An entry and the share that it counts for. */
interface Kept<T> {
  readonly value: T;
  readonly share: Share | undefined;
}

/** The entries with their groups and shares, which are updated together with them. */
function keptEntries<T>(groupOf: ExpiringMapOptions<T>["groupOf"]) {
  const entries = new Map<string, Kept<T>>();
  const groups = keyGroups();
  const shares = new Map<string, Share>();
  return {
    entries,
    shareOf: (owner: string): Share => shares.get(owner) ?? { owner, entries: 0 },
    keysOf: (group: string): readonly string[] => groups.keysOf(group),
    add: (key: string, kept: Kept<T>): void => {
      const { value, share } = kept;
      entries.set(key, kept);
      if (groupOf) groups.add(groupOf(value), key);
      if (share && (share.entries += 1) === 1) shares.set(share.owner, share);
    },
    drop: (key: string): void => {
      const kept = entries.get(key);
      if (!kept) return;
      const { value, share } = kept;
      entries.delete(key);
      if (groupOf) groups.remove(groupOf(value), key);
      if (share && (share.entries -= 1) === 0) shares.delete(share.owner);
    },
  };
}

/** Drops expired entries now and then. The clock may be wrong at times. */
function sweeper(dropExpired: (now: EpochSeconds) => void): (now: EpochSeconds) => void {
  let sweptAt = -Infinity;
  return (now) => {
    if (Math.abs(now - sweptAt) < clockDriftSeconds) return;
    // only what had already ended by the sweep before: a clock that was set ahead does no harm if it is soon set back
    dropExpired(Math.min(sweptAt, now));
    sweptAt = now;
  };
}

/** Refuses a new entry when there is no room for it, or when its owner would leave too little room for others. */
function roomMaker(
  { entries, maxEntries }: { entries: ReadonlyMap<string, unknown>; maxEntries: number },
  dropExpired: (now: EpochSeconds) => void,
): (share: Share | undefined, now: EpochSeconds) => void {
  let roomMadeAt = -Infinity;

  /** Each owner may hold at most as much as is free. So one alone gets half of the room, two get a third each, and so on. */
  function shortage(share: Share | undefined): string | undefined {
    const free = maxEntries - entries.size;
    if (free <= 0) return "memoryStorage is full: raise maxEntries.";
    if (!share || share.entries <= free) return undefined;
    return `memoryStorage: "${share.owner}" holds more records of one kind than there is room left for all others. Limit its rate, or raise maxEntries.`;
  }

  return (share, now) => {
    if (shortage(share) === undefined) return;
    // at most once a second: a flood must not make each refused call search for expired entries
    if (now !== roomMadeAt) dropExpired(now);
    roomMadeAt = now;
    const problem = shortage(share);
    if (problem !== undefined) throw lateError(problem);
  };
}

/** An empty map. */
export function expiringMap<T extends Expiring>(options: ExpiringMapOptions<T>): ExpiringMap<T> {
  const { maxEntries, groupOf, ownerOf } = options;
  const { entries, shareOf, keysOf, add, drop } = keptEntries(groupOf);
  const { file, dropExpired } = expiryIndex(entries, drop);
  const frozenCopy = frozenCopies<T>();
  const sweep = sweeper(dropExpired);
  const makeRoom = roomMaker({ entries, maxEntries }, dropExpired);

  function get(key: string, now: EpochSeconds): T | undefined {
    const value = entries.get(key)?.value;
    return value && now < value.expiresAt ? value : undefined;
  }

  function newShare(value: T, now: EpochSeconds): Share | undefined {
    const owner = ownerOf?.(value, now);
    const share = owner === undefined ? undefined : shareOf(owner);
    makeRoom(share, now);
    return share;
  }

  return {
    get,
    set(key, value, now) {
      sweep(now);
      const before = entries.get(key);
      const share = before ? before.share : newShare(value, now);
      if (before) drop(key);
      add(key, { value: frozenCopy(value), share });
      if (before && bucketOf(before.value.expiresAt) === bucketOf(value.expiresAt)) return;
      file(key, value.expiresAt);
    },
    change(key, part, now) {
      const before = get(key, now);
      if (before) entries.set(key, { value: frozenCopy(before, part), share: entries.get(key)?.share });
    },
    delete: drop,
    inGroup: (group, now) => keysOf(group).flatMap((key) => get(key, now) ?? []),
  };
}
