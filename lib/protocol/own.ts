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
    // not what somebody has added to all objects
    if (Array.isArray(value) && Object.hasOwn(copy, name)) copy[name] = value.slice() as T[typeof name];
  }
  return copy;
}

function parentOf(object: object): object | undefined {
  return (Object.getPrototypeOf(object) as object | undefined) ?? undefined;
}

/** The names of an object's properties and of all that it inherits, but not those of `Object.prototype`. */
function namesOf(object: object): ReadonlySet<string> {
  const names = new Set<string>();
  let holder: object | undefined = object;
  // that of another realm, perhaps, so it is recognised by what it holds
  while (holder !== undefined && !Object.hasOwn(holder, "hasOwnProperty")) {
    for (const name of Object.getOwnPropertyNames(holder)) names.add(name);
    holder = parentOf(holder);
  }
  return names;
}

/**
 * A copy of what the host has answered, with copied lists. What the answer inherits, or has by a getter of its class, is there too: a
 * limit must not count as left out because of how the host makes its objects. The methods of its class are left out.
 */
export function ownAnswer<T extends object>(answer: T): T {
  // whatever a host in JavaScript returns
  const object = Object(answer) as T;
  if (Object.getPrototypeOf(object) === Object.prototype) return ownRecord(object);
  const values = [...namesOf(object)].map((name) => [name, Reflect.get(object, name) as unknown] as const);
  const parts = values.filter(([name, value]) => typeof value !== "function" || Object.hasOwn(object, name));
  return ownRecord(Object.fromEntries(parts) as T);
}
