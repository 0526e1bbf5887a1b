/** A cache that holds so many entries and forgets the one that was used longest ago. RFC 7662 §4 (caching). */
import { LRUCache } from "lru-cache";

/** A cache of at most `maxEntries`. It grows as it fills: the option `max` would allocate all of its memory when the server starts. */
export function boundedCache<T extends {}>(maxEntries: number): LRUCache<string, T> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
