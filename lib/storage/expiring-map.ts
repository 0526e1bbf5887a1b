/** A bounded map whose entries end at an absolute time. It never drops a living entry: a full one refuses. */
import type { EpochSeconds } from "../protocol/epoch-seconds";

export interface ExpiringMap<T> {
  get(key: string, now: EpochSeconds): T | undefined;
  /** @throws Error when the map is full of living entries. */
  set(key: string, value: T, now: EpochSeconds): void;
  delete(key: string): void;
  values(now: EpochSeconds): readonly T[];
}

const bucketSeconds = 30;

/**
 * Entries are also filed by the end of their bucket of time, so that removing what has expired costs as much as it removes.
 * An entry that is replaced by a later one leaves its key in the earlier bucket, where it is skipped.
 */
export function expiringMap<T extends { readonly expiresAt: EpochSeconds }>(
  maxEntries: number,
): ExpiringMap<T> {
  const entries = new Map<string, T>();
  const keysByBucket = new Map<number, string[]>();
  let sweptUntil = 0;

  function dropExpired(now: EpochSeconds): void {
    if (now < sweptUntil + bucketSeconds) return;
    sweptUntil = now;
    for (const [bucketEnd, keys] of keysByBucket) {
      if (bucketEnd > now) continue;
      keysByBucket.delete(bucketEnd);
      for (const key of keys) if ((entries.get(key)?.expiresAt ?? Infinity) <= now) entries.delete(key);
    }
  }

  function file(key: string, expiresAt: EpochSeconds): void {
    const bucketEnd = (Math.floor(expiresAt / bucketSeconds) + 1) * bucketSeconds;
    const keys = keysByBucket.get(bucketEnd);
    if (keys) keys.push(key);
    else keysByBucket.set(bucketEnd, [key]);
  }

  return {
    get(key, now) {
      const value = entries.get(key);
      return value && now < value.expiresAt ? value : undefined;
    },
    set(key, value, now) {
      dropExpired(now);
      const previous = entries.get(key);
      if (!previous && entries.size >= maxEntries)
        throw new Error("memoryStorage is full: raise maxEntries.");
      entries.set(key, value);
      if (previous?.expiresAt !== value.expiresAt) file(key, value.expiresAt);
    },
    delete(key) {
      entries.delete(key);
    },
    values: (now) => [...entries.values()].filter(({ expiresAt }) => now < expiresAt),
  };
}
