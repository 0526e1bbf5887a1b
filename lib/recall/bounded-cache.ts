/** A cache with a limit, which forgets the entry that was used longest ago. RFC 7662 §4 (caching). */
import { LRUCache } from "lru-cache";

/**
 * A cache of at most `maxEntries`, or fewer when some are large. It grows as it fills: the option `max` would allocate all of its
 * memory when the server starts.
 *
 * @param sizeOf how many entries an entry counts for, at least 1.
 */
export function boundedCache<T extends {}>(
  maxEntries: number,
  sizeOf: (entry: T) => number = () => 1,
): LRUCache<string, T> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: sizeOf });
}
