/** Separate copies of what is kept or handed on. RFC 6749 §10 (what a stranger can make a server keep). */

/**
 * The same text in separate memory. In V8, a slice of a string is a view of the whole string. A slice that is kept, for example
 * as the key of a cache, would keep the whole body or URL that it came from in memory.
 */
export function ownText(text: string): string {
  // concatenation copies; the extra character is then cut off
  return ` ${text}`.slice(1);
}

/** A copy with copied lists, because the holder of the original may change it. Deeper objects are shared. */
export function ownRecord<T extends object>(record: T): T {
  // not a spread: for a literal that begins with one, V8 creates a slow and large object
  const copy = Object.assign({}, record);
  for (const name in copy) {
    const value: unknown = copy[name];
    if (Array.isArray(value)) copy[name] = value.slice() as T[typeof name];
  }
  return copy;
}
