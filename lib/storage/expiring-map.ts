/** A bounded map whose entries end at an absolute time and cannot be changed in place. It never drops a living entry: a full one refuses. */
import { LRUCache } from "lru-cache";
import type { EpochSeconds } from "../protocol/epoch-seconds";

export interface ExpiringMap<T> {
  get(key: string, now: EpochSeconds): T | undefined;
  /** @throws Error when the map is full of living entries. */
  set(key: string, value: T, now: EpochSeconds): void;
  delete(key: string): void;
  values(now: EpochSeconds): readonly T[];
}

const bucketSeconds = 30;

function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

/** Keys filed by time, so that finding what has expired costs as much as it finds. */
interface ExpiryIndex {
  file(key: string, expiresAt: EpochSeconds): void;
  /** The keys of every bucket that has begun; they leave the index. */
  take(now: EpochSeconds): readonly { readonly bucket: number; readonly keys: readonly string[] }[];
  /** Keeps these entries alone, once many keys are filed for nothing. */
  tidy(entries: ReadonlyMap<string, { readonly expiresAt: EpochSeconds }>): void;
}

function expiryIndex(): ExpiryIndex {
  const keysByBucket = new Map<number, string[]>();
  let size = 0;
  function file(key: string, expiresAt: EpochSeconds): void {
    const keys = keysByBucket.get(bucketOf(expiresAt));
    if (keys) keys.push(key);
    else keysByBucket.set(bucketOf(expiresAt), [key]);
    size += 1;
  }
  return {
    file,
    take(now) {
      const begun = [...keysByBucket].filter(([bucket]) => bucket <= bucketOf(now));
      return begun.map(([bucket, keys]) => {
        keysByBucket.delete(bucket);
        size -= keys.length;
        return { bucket, keys };
      });
    },
    tidy(entries) {
      if (size <= 2 * entries.size + 1_000) return;
      keysByBucket.clear();
      size = 0;
      for (const [key, { expiresAt }] of entries) file(key, expiresAt);
    },
  };
}

const maxLists = 1_000;

/** Makes copies that nobody can change, lists and all; equal lists become one, as a million tokens have the same few scopes. */
function frozenCopies<T extends object>(): (value: T) => T {
  const lists = new LRUCache<string, readonly unknown[]>({ max: maxLists });
  function frozenList(list: readonly unknown[]): readonly unknown[] {
    if (Object.isFrozen(list)) return list;
    const text = JSON.stringify(list);
    const frozen = lists.get(text) ?? Object.freeze([...list]);
    lists.set(text, frozen);
    return frozen;
  }
  return (value) => {
    const copy = { ...value } as Record<string, unknown>;
    for (const name of Object.keys(copy)) {
      if (Array.isArray(copy[name])) copy[name] = frozenList(copy[name]);
    }
    return Object.freeze(copy) as T;
  };
}

export function expiringMap<T extends { readonly expiresAt: EpochSeconds }>(
  maxEntries: number,
): ExpiringMap<T> {
  const entries = new Map<string, T>();
  const index = expiryIndex();
  const frozenCopy = frozenCopies<T>();
  let sweptAt = 0;

  function dropExpired(now: EpochSeconds): void {
    sweptAt = now;
    for (const { bucket, keys } of index.take(now)) {
      for (const key of keys) {
        const expiresAt = entries.get(key)?.expiresAt;
        if (expiresAt === undefined) continue;
        if (expiresAt <= now) entries.delete(key);
        else if (bucketOf(expiresAt) === bucket) index.file(key, expiresAt);
      }
    }
  }

  function makeRoom(key: string, now: EpochSeconds): void {
    if (now >= sweptAt + bucketSeconds) dropExpired(now);
    if (entries.has(key) || entries.size < maxEntries) return;
    if (now > sweptAt) dropExpired(now);
    if (entries.size >= maxEntries) throw new Error("memoryStorage is full: raise maxEntries.");
  }

  return {
    get(key, now) {
      const value = entries.get(key);
      return value && now < value.expiresAt ? value : undefined;
    },
    set(key, value, now) {
      makeRoom(key, now);
      const before = entries.get(key);
      entries.set(key, frozenCopy(value));
      if (before && bucketOf(before.expiresAt) === bucketOf(value.expiresAt)) return;
      index.file(key, value.expiresAt);
      index.tidy(entries);
    },
    delete: (key) => void entries.delete(key),
    values: (now) => [...entries.values()].filter(({ expiresAt }) => now < expiresAt),
  };
}
