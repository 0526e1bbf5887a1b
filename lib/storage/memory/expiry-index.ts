/** An index of the keys of a map by the time at which their entries end. */
import type { EpochSeconds } from "../../protocol/time";

/** A record that ends by itself. */
export interface Expiring {
  /** The record has expired once `now >= expiresAt`. */
  readonly expiresAt: EpochSeconds;
}

const bucketSeconds = 30;

/** The number of the bucket that holds keys with this end. A bucket covers a span of time, so that there are few of them. */
export function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

/** The keys of a map filed by time, so that dropping expired entries costs no more than the number of entries dropped. */
export interface ExpiryIndex {
  /** Files a key. A key may be filed more than once: the entry in the map decides. */
  readonly file: (key: string, expiresAt: EpochSeconds) => void;
  /** Drops every entry of the map that has expired at `now`. */
  readonly dropExpired: (now: EpochSeconds) => void;
}

/** An index for these entries. `drop` removes an entry from the map. */
export function expiryIndex(
  entries: ReadonlyMap<string, { readonly value: Expiring }>,
  drop: (key: string) => void,
): ExpiryIndex {
  const keysByBucket = new Map<number, string[]>();
  let size = 0;

  function file(key: string, expiresAt: EpochSeconds): void {
    const keys = keysByBucket.get(bucketOf(expiresAt));
    if (keys) keys.push(key);
    else keysByBucket.set(bucketOf(expiresAt), [key]);
    size += 1;
    // keys of deleted and replaced entries stay filed; once there are many, only the entries that exist are filed again
    if (size > 2 * entries.size + 1_000) fileAnew();
  }

  function fileAnew(): void {
    keysByBucket.clear();
    size = 0;
    for (const [key, { value }] of entries) file(key, value.expiresAt);
  }

  function dropFrom(bucket: number, now: EpochSeconds): void {
    const keys = keysByBucket.get(bucket) ?? [];
    keysByBucket.delete(bucket);
    size -= keys.length;
    for (const key of keys) {
      const expiresAt = entries.get(key)?.value.expiresAt;
      if (expiresAt === undefined) continue;
      if (expiresAt <= now) drop(key);
      else if (bucketOf(expiresAt) === bucket) file(key, expiresAt);
    }
  }

  return {
    file,
    dropExpired(now) {
      const begun = [...keysByBucket.keys()].filter((bucket) => bucket <= bucketOf(now));
      for (const bucket of begun) dropFrom(bucket, now);
    },
  };
}
