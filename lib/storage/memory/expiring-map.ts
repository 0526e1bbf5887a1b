/** A bounded map whose entries end at an absolute time and cannot be changed in place. It never drops a living entry: a full one refuses. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { lateError } from "../../protocol/oauth-error";
import { bucketOf, type Expiring, expiryIndex } from "./expiry-index";
import { frozenCopies } from "./frozen-copies";
import { keyGroups } from "./key-groups";

export interface ExpiringMapOptions<T> {
  readonly maxEntries: number;
  /** The entries that are asked for together. What it goes by never changes. Left out: none are. */
  readonly groupOf?: (value: T) => string;
  /** Whose share of the room a new entry takes. Left out or `undefined`: nobody's. */
  readonly ownerOf?: (value: T, now: EpochSeconds) => string | undefined;
}

export interface ExpiringMap<T> {
  get(key: string, now: EpochSeconds): T | undefined;
  /** @throws Error when the map is full of living entries, or the owner holds more of them than there is room left. */
  set(key: string, value: T, now: EpochSeconds): void;
  /** Changes parts of a living entry, but neither its group nor when it ends. */
  change(key: string, part: Partial<Omit<T, "expiresAt">>, now: EpochSeconds): void;
  delete(key: string): void;
  /** The living entries of one group, found without a look at the others. */
  inGroup(group: string, now: EpochSeconds): readonly T[];
}

/** How many entries an owner holds. */
interface Share {
  readonly owner: string;
  entries: number;
}

/** What is kept of an entry. */
interface Kept<T> {
  readonly value: T;
  readonly share: Share | undefined;
}

/** The entries, with what is counted and filed for them: both go with the entry. */
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

/** Drops what has expired, now and then, by a clock that may be wrong. */
function sweeper(dropExpired: (now: EpochSeconds) => void): (now: EpochSeconds) => void {
  let sweptAt = -Infinity;
  return (now) => {
    if (Math.abs(now - sweptAt) < clockDriftSeconds) return;
    // only what had ended by the sweep before: a clock that was set ahead costs nothing when it is set back soon
    dropExpired(Math.min(sweptAt, now));
    sweptAt = now;
  };
}

/** Refuses a new entry where there is no room for it, or none left for others. */
function roomMaker(
  { entries, maxEntries }: { entries: ReadonlyMap<string, unknown>; maxEntries: number },
  dropExpired: (now: EpochSeconds) => void,
): (share: Share | undefined, now: EpochSeconds) => void {
  let roomMadeAt = -Infinity;

  function shortage(share: Share | undefined): string | undefined {
    const free = maxEntries - entries.size;
    if (free <= 0) return "memoryStorage is full: raise maxEntries.";
    if (!share || share.entries <= free) return undefined;
    return `memoryStorage: "${share.owner}" holds more records of one kind than there is room left for all others. Limit its rate, or raise maxEntries.`;
  }

  return (share, now) => {
    if (shortage(share) === undefined) return;
    if (now !== roomMadeAt) dropExpired(now);
    roomMadeAt = now;
    const problem = shortage(share);
    if (problem !== undefined) throw lateError(problem);
  };
}

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
