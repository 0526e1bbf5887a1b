/** Copies of records that nobody can change, so that a store may give out what it keeps. */
import { boundedCache } from "../bounded-cache";

const maxLists = 1_000;

/** A copy of this part of a record that cannot be changed anywhere. */
function frozenPart(part: unknown): unknown {
  if (Array.isArray(part)) return Object.freeze(part.map(frozenPart));
  if (typeof part !== "object" || part === null) return part;
  return Object.freeze(
    Object.fromEntries(Object.entries(part).map(([name, value]) => [name, frozenPart(value)])),
  );
}

/** Returns a function that copies records and freezes them with everything in them. Equal lists of texts become one object. */
export function frozenCopies<T extends object>(): (value: Partial<T>, base?: T) => T {
  const lists = boundedCache<readonly unknown[]>(maxLists);

  function frozenList(list: readonly unknown[]): unknown {
    if (!list.every((item) => typeof item === "string")) return frozenPart(list);
    if (Object.isFrozen(list)) return list;
    const text = JSON.stringify(list);
    const known = lists.get(text);
    if (known) return known;
    const frozen = Object.freeze([...list]);
    lists.set(text, frozen);
    return frozen;
  }

  // the parts of the base, if there is one, are frozen already
  return (value, base) => {
    // not a spread: for a literal that begins with one, V8 creates a slow and large object
    const copy = Object.assign({}, base, value) as Record<string, unknown>;
    for (const name in value) {
      const part = copy[name];
      copy[name] = Array.isArray(part) ? frozenList(part) : frozenPart(part);
    }
    return Object.freeze(copy) as T;
  };
}
