/** A bounded map whose entries end at an absolute time and cannot be changed in place. It never drops a living entry: a full one refuses. */
import { LRUCache } from "lru-cache";
import type { EpochSeconds } from "../protocol/epoch-seconds";

export interface ExpiringMap<T> {
  get(key: string, now: EpochSeconds): T | undefined;
  /** @throws Error when the map is full of living entries. */
  set(key: string, value: T, now: EpochSeconds): void;
  /** Changes parts of a living entry, but not when it ends. */
  change(key: string, part: Partial<Omit<T, "expiresAt">>, now: EpochSeconds): void;
  delete(key: string): void;
  values(now: EpochSeconds): readonly T[];
}

const bucketSeconds = 30;

function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

interface Expiring {
  readonly expiresAt: EpochSeconds;
}

/** The keys of a map filed by time, so that dropping what has expired costs as much as it drops. */
interface ExpiryIndex {
  file(key: string, expiresAt: EpochSeconds): void;
  /** Drops every expired entry of the map. */
  dropExpired(now: EpochSeconds): void;
}

function expiryIndex(entries: Map<string, Expiring>): ExpiryIndex {
  const keysByBucket = new Map<number, string[]>();
  let size = 0;

  function add(key: string, expiresAt: EpochSeconds): void {
    const keys = keysByBucket.get(bucketOf(expiresAt));
    if (keys) keys.push(key);
    else keysByBucket.set(bucketOf(expiresAt), [key]);
    size += 1;
  }

  /** Keeps the entries that are there alone, once many keys are filed for nothing. */
  function tidy(): void {
    if (size <= 2 * entries.size + 1_000) return;
    keysByBucket.clear();
    size = 0;
    for (const [key, { expiresAt }] of entries) add(key, expiresAt);
  }

  function dropFrom(bucket: number, now: EpochSeconds): void {
    const keys = keysByBucket.get(bucket) ?? [];
    keysByBucket.delete(bucket);
    size -= keys.length;
    for (const key of keys) {
      const expiresAt = entries.get(key)?.expiresAt;
      if (expiresAt === undefined) continue;
      if (expiresAt <= now) entries.delete(key);
      else if (bucketOf(expiresAt) === bucket) add(key, expiresAt);
    }
  }

  return {
    file(key, expiresAt) {
      add(key, expiresAt);
      tidy();
    },
    dropExpired(now) {
      const begun = [...keysByBucket.keys()].filter((bucket) => bucket <= bucketOf(now));
      for (const bucket of begun) dropFrom(bucket, now);
    },
  };
}

const maxLists = 1_000;

/** Makes copies that nobody can change, lists and all; equal lists become one, as a million tokens have the same few scopes. */
function frozenCopies<T extends object>(): (value: T, part?: object) => T {
  const lists = new LRUCache<string, readonly unknown[]>({ max: maxLists });
  function frozenList(list: readonly unknown[]): readonly unknown[] {
    if (Object.isFrozen(list)) return list;
    const text = JSON.stringify(list);
    const known = lists.get(text);
    if (known) return known;
    const frozen = Object.freeze([...list]);
    lists.set(text, frozen);
    return frozen;
  }
  return (value, part) => {
    // not a spread: V8 makes a slow and large object of one that a literal begins with
    const copy = Object.assign({}, value, part) as Record<string, unknown>;
    for (const name of Object.keys(copy)) {
      if (Array.isArray(copy[name])) copy[name] = frozenList(copy[name]);
    }
    return Object.freeze(copy) as T;
  };
}

export function expiringMap<T extends Expiring>(maxEntries: number): ExpiringMap<T> {
  const entries = new Map<string, T>();
  const index = expiryIndex(entries);
  const frozenCopy = frozenCopies<T>();
  let sweptAt = 0;

  function sweep(now: EpochSeconds): void {
    sweptAt = now;
    index.dropExpired(now);
  }

  function makeRoom(now: EpochSeconds): void {
    if (entries.size < maxEntries) return;
    if (now > sweptAt) sweep(now);
    if (entries.size >= maxEntries) throw new Error("memoryStorage is full: raise maxEntries.");
  }

  function get(key: string, now: EpochSeconds): T | undefined {
    const value = entries.get(key);
    return value && now < value.expiresAt ? value : undefined;
  }

  return {
    get,
    set(key, value, now) {
      if (now >= sweptAt + bucketSeconds) sweep(now);
      const before = entries.get(key);
      if (!before) makeRoom(now);
      entries.set(key, frozenCopy(value));
      if (before && bucketOf(before.expiresAt) === bucketOf(value.expiresAt)) return;
      index.file(key, value.expiresAt);
    },
    change(key, part, now) {
      const before = get(key, now);
      if (before) entries.set(key, frozenCopy(before, part));
    },
    delete: (key) => void entries.delete(key),
    values: (now) => [...entries.values()].filter(({ expiresAt }) => now < expiresAt),
  };
}
