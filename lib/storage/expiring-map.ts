/** A bounded map whose entries end at an absolute time and cannot be changed in place. It never drops a living entry: a full one refuses. */
import type { EpochSeconds } from "../protocol/epoch-seconds";

export interface ExpiringMap<T> {
  get(key: string, now: EpochSeconds): T | undefined;
  /** @throws Error when the map is full of living entries. */
  set(key: string, value: T, now: EpochSeconds): void;
  delete(key: string): void;
  values(now: EpochSeconds): readonly T[];
}

const bucketSeconds = 30;

/** Keys filed by time, so that finding what has expired costs as much as it finds. */
interface ExpiryIndex {
  add(key: string, expiresAt: EpochSeconds): void;
  remove(key: string, expiresAt: EpochSeconds): void;
  /** The keys of every bucket that has begun; `isOver` keys leave the index. */
  takeExpired(now: EpochSeconds, isOver: (key: string) => boolean): void;
}

function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

function expiryIndex(): ExpiryIndex {
  const keysByBucket = new Map<number, Set<string>>();
  return {
    add(key, expiresAt) {
      const keys = keysByBucket.get(bucketOf(expiresAt));
      if (keys) keys.add(key);
      else keysByBucket.set(bucketOf(expiresAt), new Set([key]));
    },
    remove(key, expiresAt) {
      const keys = keysByBucket.get(bucketOf(expiresAt));
      keys?.delete(key);
      if (keys?.size === 0) keysByBucket.delete(bucketOf(expiresAt));
    },
    takeExpired(now, isOver) {
      for (const [bucket, keys] of keysByBucket) {
        if (bucket > bucketOf(now)) continue;
        for (const key of keys) if (isOver(key)) keys.delete(key);
        if (keys.size === 0) keysByBucket.delete(bucket);
      }
    },
  };
}

/** A copy that nobody can change, lists and all. */
function frozenCopy<T extends object>(value: T): T {
  const parts = Object.entries(value).map(([name, part]: [string, unknown]) => [
    name,
    Array.isArray(part) ? Object.freeze([...(part as unknown[])]) : part,
  ]);
  return Object.freeze(Object.fromEntries(parts)) as T;
}

export function expiringMap<T extends { readonly expiresAt: EpochSeconds }>(
  maxEntries: number,
): ExpiringMap<T> {
  const entries = new Map<string, T>();
  const index = expiryIndex();
  let sweptAt = 0;

  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry) index.remove(key, entry.expiresAt);
    entries.delete(key);
  }

  function dropExpired(now: EpochSeconds): void {
    sweptAt = now;
    index.takeExpired(now, (key) => (entries.get(key)?.expiresAt ?? 0) <= now && entries.delete(key));
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
      remove(key);
      entries.set(key, frozenCopy(value));
      index.add(key, value.expiresAt);
    },
    delete: remove,
    values: (now) => [...entries.values()].filter(({ expiresAt }) => now < expiresAt),
  };
}
