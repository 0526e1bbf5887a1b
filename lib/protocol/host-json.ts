/** Objects that the host gives or is given, as copies. RFC 6749 §10; 8259 §3, §4. */

/** True for `Object.prototype`, of another realm too, which is recognised by what it holds. */
function isObjectPrototype(object: object): boolean {
  return (
    object === Object.prototype ||
    (Object.getPrototypeOf(object) === null && Object.hasOwn(object, "hasOwnProperty"))
  );
}

/**
 * True for an object as a literal or `JSON.parse` makes it, in any realm: no list, no class, no hidden properties. A copy of its properties
 * then has everything that reading the object gives.
 */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === null || isObjectPrototype(prototype as object)) &&
    Object.keys(value).length === Object.getOwnPropertyNames(value).length
  );
}

/** False for what JSON would leave out or change without a word, such as `undefined`, NaN, a promise or a Map. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "object") return value === null || Array.isArray(value) || isPlain(value);
  return typeof value === "string" || typeof value === "boolean";
}

/** True for a list of texts. A single text is none, although it can be searched like one. */
export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Freezes a value of JSON, however deep: it is remembered, and handed to many requests. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/**
 * A frozen copy of an object as JSON has it, or `undefined` when it is not a plain object or a part of it is not JSON. A `toJSON`, such as that of dates, is
 * obeyed. What is checked and used is the copy: the host's object may give something else each time it is read.
 */
export function parseHostObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isPlain(value)) return undefined;
  try {
    let isAllJson = true;
    const text = JSON.stringify(value, (_, part: unknown) => {
      isAllJson &&= isJson(part);
      return part;
    });
    const copy: unknown = isAllJson ? JSON.parse(text) : undefined;
    return isPlain(copy) ? frozen(copy) : undefined;
  } catch {
    // a circle, a bigint, or what the host throws
    return undefined;
  }
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
