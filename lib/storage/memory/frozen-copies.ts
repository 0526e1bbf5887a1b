/** Copies of records that nobody can change, so that a store may hand out what it keeps. */
import { boundedCache } from "../bounded-cache";

const maxLists = 1_000;

/** Returns a function that copies records and freezes them, lists included. Equal lists become one object. */
export function frozenCopies<T extends object>(): (value: T, part?: object) => T {
  const lists = boundedCache<readonly unknown[]>(maxLists);
  function frozenList(list: readonly unknown[]): readonly unknown[] {
    if (Object.isFrozen(list)) return list;
    const text = JSON.stringify(list);
    const known = lists.get(text);
    if (known) return known;
    const frozen = Object.freeze([...list]);
    lists.set(text, frozen);
    return frozen;
  }
  return (value, part) => {
    // not a spread: for a literal that begins with one, V8 creates a slow and large object
    const copy = Object.assign({}, value, part) as Record<string, unknown>;
    for (const name in copy) {
      if (Array.isArray(copy[name])) copy[name] = frozenList(copy[name]);
    }
    return Object.freeze(copy) as T;
  };
}
