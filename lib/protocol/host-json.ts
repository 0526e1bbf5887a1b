/** JSON objects that the host returns, as copies that nobody can change. RFC 8259 §3, §4. */

/** True for an object as a literal or `JSON.parse` makes it: no list, and of no class. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** False for what JSON would leave out or change without a word, such as `undefined`, NaN, a promise or a Map. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "object") return value === null || Array.isArray(value) || isPlain(value);
  return typeof value === "string" || typeof value === "boolean";
}

/** A key that is there and `undefined`, if there is one: a misspelt constant, which must not count as left out. */
export function undefinedKey(record: object): string | undefined {
  return Object.entries(record).find(([, value]) => value === undefined)?.[0];
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
