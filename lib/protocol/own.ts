/** What is kept or handed on is a copy of its own. RFC 6749 §10 (what a stranger can make a server keep). */

/**
 * The same text, in memory of its own. V8 makes a part of a text a view of the whole, so one that is kept, as the key of a
 * cache say, would keep the whole body or URL that it came in.
 */
export function ownText(text: string): string {
  // joining copies, and what is cut off is one character
  return ` ${text}`.slice(1);
}

/** A copy with lists of its own: who has the other one may change it. Deeper objects stay the same. */
export function ownRecord<T extends object>(record: T): T {
  // not a spread: V8 makes a slow and large object of one that a literal begins with
  const copy = Object.assign({}, record);
  for (const name in copy) {
    const value: unknown = copy[name];
    if (Array.isArray(value)) copy[name] = value.slice() as T[typeof name];
  }
  return copy;
}
