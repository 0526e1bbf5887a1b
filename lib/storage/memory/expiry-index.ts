/** The keys of a map filed by the time of their end. */
import type { EpochSeconds } from "../../protocol/time";

/** What ends by itself. */
export interface Expiring {
  readonly expiresAt: EpochSeconds;
}

const bucketSeconds = 30;

export function bucketOf(expiresAt: EpochSeconds): number {
  return Math.floor(expiresAt / bucketSeconds);
}

/** The keys of a map filed by time, so that dropping what has expired costs as much as it drops. */
export interface ExpiryIndex {
  readonly file: (key: string, expiresAt: EpochSeconds) => void;
  /** Drops every entry of the map that has expired at `now`. */
  readonly dropExpired: (now: EpochSeconds) => void;
}

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
    // once many keys are filed for nothing, only the entries that are there are kept
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
