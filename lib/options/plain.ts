/** Objects of the host as plain objects: what they inherit, or have by getters of a class, counts as written. RFC 6749 §10. */
import { ownAnswer } from "../protocol/own";

/** Copies an option. What has the wrong shape is given back as it is, so that the check of the shape refuses it. */
export type CopyOption = (given: unknown) => unknown;

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The names that count as written. A method of a class counts only if it is an option: others are the host's own. */
function namesIn(given: object, options: readonly string[]): ReadonlySet<string> {
  const written = options.filter((name) => name in given);
  return new Set([...Object.keys(given), ...Object.keys(ownAnswer(given)), ...written]);
}

function copyList(given: unknown): unknown {
  return Array.isArray(given) ? given.slice() : given;
}

/** Copies objects that may have these options, with copied lists. `parts` says how else some of them are copied. */
export function plainObject(
  options: readonly string[],
  parts: Readonly<Record<string, CopyOption>> = {},
): CopyOption {
  const copyOf = new Map(Object.entries(parts));
  return (given) => {
    if (!isObject(given)) return given;
    const values = [...namesIn(given, options)].map(
      (name) => [name, Reflect.get(given, name) as unknown] as const,
    );
    return Object.fromEntries(values.map(([name, value]) => [name, (copyOf.get(name) ?? copyList)(value)]));
  };
}

/** Copies objects that may have any name, such as the APIs by their ids. */
export function plainRecord(copy: CopyOption): CopyOption {
  const plain = plainObject([]);
  return (given) => {
    const held = plain(given);
    if (!isObject(held)) return given;
    return Object.fromEntries(Object.entries(held).map(([name, value]) => [name, copy(value)]));
  };
}
