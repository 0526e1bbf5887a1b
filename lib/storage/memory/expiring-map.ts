/** A bounded map whose entries end at a given time and cannot be changed in place. When full, it refuses new entries. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { lateError } from "../../protocol/oauth-error";
import { frozenCopies } from "./frozen-copies";
import { keyGroups } from "./key-groups";
import { type OwnerShares, ownerShares, type Share } from "./owner-shares";

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
  /** Changes parts of an entry, expired or not, but not its end. Nothing happens when there is none. */
  change(key: string, part: Partial<Omit<T, "expiresAt">>): void;
  /** Notes that a living entry was used at `now`. Nothing happens when there is none. The value stays as it is. */
  use(key: string, now: EpochSeconds): void;
  /** When the entry was last used. */
  usedAt(key: string): EpochSeconds | undefined;
  /** Drops the entry, if there is one. */
  delete(key: string): void;
  /** How many entries one group has, expired ones included. */
  groupSize(group: string): number;
  /** The key of the entry of one group that was stored first, expired ones included. */
  firstInGroup(group: string): string | undefined;
  /** The living entries of one group, found without looking at the others; at `-Infinity`, expired ones too. */
  inGroup(group: string, now: EpochSeconds): readonly T[];
}

/** An entry and the share that it counts for. */
interface Kept<T> {
  readonly value: T;
  readonly share: Share | undefined;
  readonly usedAt?: EpochSeconds;
}

/** The entries with their groups and shares, which are updated together with them. */
function keptEntries<T>(groupsOf: ExpiringMapOptions<T>["groupsOf"] = () => []) {
  const entries = new Map<string, Kept<T>>();
  const groups = keyGroups();
  const shares = ownerShares();
  return {
    entries,
    groups,
    shares,
    add: (key: string, kept: Kept<T>): void => {
      const { value, share } = kept;
      entries.set(key, kept);
      for (const group of groupsOf(value)) groups.add(group, key);
      if (share) shares.add(share);
    },
    replace: (key: string, { before, after }: { before: Kept<T>; after: Kept<T> }): void => {
      entries.set(key, after);
      const now = groupsOf(after.value);
      for (const group of groupsOf(before.value)) if (!now.includes(group)) groups.remove(group, key);
      for (const group of now) groups.add(group, key);
    },
    /** Nothing happens when there is no such entry. */
    drop: (key: string): void => {
      const kept = entries.get(key);
      if (!kept) return;
      const { value, share } = kept;
      entries.delete(key);
      for (const group of groupsOf(value)) groups.remove(group, key);
      if (share) shares.drop(share);
    },
  };
}

const bucketSeconds = 30;

/** The number of the bucket that holds keys with this end. A bucket covers a span of time, so that there are few of them. */
function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

/** The keys of a map filed by time, so that dropping expired entries costs no more than the number of entries dropped. */
function expiryIndex(entries: ReadonlyMap<string, Kept<Expiring>>, drop: (key: string) => void) {
  const keysByBucket = new Map<number, string[]>();
  let size = 0;

  /** Files a key. A key may be filed more than once: the entry in the map decides. */
  function file(key: string, expiresAt: EpochSeconds): void {
    const bucket = bucketOf(expiresAt);
    const keys = keysByBucket.get(bucket);
    if (keys) keys.push(key);
    else keysByBucket.set(bucket, [key]);
    size += 1;
    // keys of deleted and replaced entries stay filed; once there are many, only the entries that exist are filed again
    if (size > 2 * entries.size + 1_000) fileAnew();
  }

  function fileAnew(): void {
    keysByBucket.clear();
    size = 0;
    for (const [key, { value }] of entries) file(key, value.expiresAt);
  }

  /** Drops the entry of a key that was filed in this bucket, or files the key again. */
  function dropOrFile(key: string, { bucket, now }: { bucket: number; now: EpochSeconds }): void {
    const known = entries.get(key);
    if (!known) return;
    const { expiresAt } = known.value;
    if (expiresAt <= now) drop(key);
    else if (bucketOf(expiresAt) === bucket) file(key, expiresAt);
  }

  /** Drops every entry of the map that has expired at `now`. */
  function dropExpired(now: EpochSeconds): void {
    const begun = new Map<number, readonly string[]>();
    for (const [bucket, keys] of keysByBucket) if (bucket <= bucketOf(now)) begun.set(bucket, keys);
    for (const [bucket, keys] of begun) {
      keysByBucket.delete(bucket);
      size -= keys.length;
    }
    for (const [bucket, keys] of begun) for (const key of keys) dropOrFile(key, { bucket, now });
  }

  return { file, dropExpired };
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

/**
 * Returns a function that gives the share of a new entry's owner. It refuses the entry when there is no room for it, or when its
 * owner would leave too little room for others.
 */
function roomMaker(
  {
    entries,
    shares,
    maxEntries,
  }: {
    entries: ReadonlyMap<string, unknown>;
    shares: OwnerShares;
    maxEntries: number;
  },
  dropExpired: (now: EpochSeconds) => void,
): (owner: string | undefined, now: EpochSeconds) => Share | undefined {
  let roomMadeAt: EpochSeconds | undefined;

  /** Each owner may hold at most as much as is free. So one alone gets half of the room, two get a third each, and so on. */
  function shortage(share: Share | undefined): string | undefined {
    const free = maxEntries - entries.size;
    if (free <= 0) return "memoryStorage is full: raise maxEntries.";
    if (!share || share.entries <= free) return undefined;
    return `memoryStorage: "${share.owner}" holds more records of one kind than there is room left for all others. Limit its rate, or raise maxEntries.`;
  }

  return (owner, now) => {
    const share = owner === undefined ? undefined : shares.of(owner);
    if (shortage(share) === undefined) return share;
    // at most once a second: a flood must not make each refused call search for expired entries
    if (now !== roomMadeAt) dropExpired(now);
    roomMadeAt = now;
    const problem = shortage(share);
    if (problem !== undefined) throw lateError(problem);
    return share;
  };
}

/** An empty map. */
export function expiringMap<T extends Expiring>(options: ExpiringMapOptions<T>): ExpiringMap<T> {
  const { maxEntries, groupsOf, ownerOf } = options;
  const { entries, groups, shares, add, replace, drop } = keptEntries(groupsOf);
  const { file, dropExpired } = expiryIndex(entries, drop);
  const frozenCopy = frozenCopies<T>();
  const sweep = sweeper(dropExpired);
  const makeRoom = roomMaker({ entries, shares, maxEntries }, dropExpired);

  function living(key: string, now: EpochSeconds): Kept<T> | undefined {
    const known = entries.get(key);
    return known && now < known.value.expiresAt ? known : undefined;
  }

  const get = (key: string, now: EpochSeconds): T | undefined => living(key, now)?.value;

  return {
    get,
    set(key, value, now) {
      sweep(now);
      const before = entries.get(key);
      const share = before ? before.share : makeRoom(ownerOf?.(value, now), now);
      drop(key);
      add(key, { value: frozenCopy(value), share });
      if (before && bucketOf(before.value.expiresAt) === bucketOf(value.expiresAt)) return;
      file(key, value.expiresAt);
    },
    change(key, part) {
      const before = entries.get(key);
      if (!before) return;
      const value = frozenCopy(part as Partial<T>, before.value);
      const { share, usedAt } = before;
      // most entries have no `usedAt`, and a place for it would make each of them larger
      replace(key, { before, after: usedAt === undefined ? { value, share } : { value, share, usedAt } });
    },
    use(key, now) {
      const before = living(key, now);
      if (before) entries.set(key, { value: before.value, share: before.share, usedAt: now });
    },
    usedAt: (key) => entries.get(key)?.usedAt,
    delete: drop,
    groupSize: (group) => groups.sizeOf(group),
    firstInGroup: (group) => groups.firstOf(group),
    inGroup: (group, now) => groups.keysOf(group).flatMap((key) => get(key, now) ?? []),
  };
}
