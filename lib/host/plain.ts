/** Objects that the host writes: plain ones, so that nothing they inherit can be overlooked. RFC 6749 §10. */
import { isPlain } from "../protocol/host-json";
import { hostMistake } from "../protocol/mistake";

/** What an object must be. The end of a sentence that names it. */
export const plainRule =
  "must be a plain object, such as { ...object } with all that a class or a prototype gives written out";

/** What a value must be, by its type in a schema. */
export const typeForms: Readonly<Record<string, string>> = {
  string: "a string",
  array: "a list",
  boolean: "true or false",
  object: "an object",
  integer: "a whole number",
};

/** What is wrong with an object. */
export interface KeyProblem {
  readonly code: "not-plain" | "unknown-key" | "undefined-key";
  /** Without the full stop. */
  readonly text: string;
}

/**
 * What is wrong with an object that may have these keys, or `undefined` when nothing is. A key that is misspelt, inherited or `undefined`
 * must not look like a key that is left out. `name` is what the object is called.
 */
export function keyProblem(
  given: unknown,
  { name: object, known }: { readonly name: string; readonly known: readonly string[] },
): KeyProblem | undefined {
  if (!isPlain(given)) return { code: "not-plain", text: `${object} ${plainRule}` };
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name))
      return { code: "unknown-key", text: `${name} is not known here. Known: ${known.join(", ")}` };
    if (value === undefined)
      return { code: "undefined-key", text: `${name} is undefined. Leave the key out, or write a value` };
  }
  return undefined;
}

/**
 * Lets a plain object pass that has known keys only, all of them defined.
 *
 * @throws TypeError that says what is wrong. `by` is the function that was called.
 */
export function checkKeys(given: unknown, { by, known }: { by: string; known: readonly string[] }): void {
  const problem = keyProblem(given, { name: "what it is called with", known });
  if (problem) throw hostMistake(problem.code, `${by}: ${problem.text}.`);
}

/** The objects inside an object: by their names, or by `"*"` for those of any name. An empty one has none. */
export interface Parts {
  readonly [name: string]: Parts;
}

/** A copy, and the paths of the objects in it that are not plain. */
export interface PlainCopy {
  readonly copy: unknown;
  readonly notPlain: readonly string[];
}

/** Copies an object with these parts and with their lists. What has the wrong shape is given back as it is, for the check of the shape. */
export function copyPlain(given: unknown, parts: Parts): PlainCopy {
  const notPlain: string[] = [];
  function copyOf(value: unknown, inside: { parts: Parts | undefined; path: string }): unknown {
    if (Array.isArray(value)) return value.slice();
    if (!inside.parts || typeof value !== "object" || value === null) return value;
    if (!isPlain(value)) {
      notPlain.push(inside.path);
      return value;
    }
    const copies = Object.entries(value).map(([name, part]) => {
      const path = inside.path === "" ? name : `${inside.path}.${name}`;
      return [name, copyOf(part, { parts: inside.parts?.[name] ?? inside.parts?.["*"], path })] as const;
    });
    return Object.fromEntries(copies);
  }
  return { copy: copyOf(given, { parts, path: "" }), notPlain };
}

/** How many letters must change, be added or be left out. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of a.split("").entries()) {
    const next = [i + 1];
    for (const [j, other] of b.split("").entries()) {
      const changed = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** True where one word may be the other, misspelt. */
export function isNear(written: string, word: string): boolean {
  return Math.abs(written.length - word.length) <= 2 && distance(written, word) <= 2;
}

/** How many letters are wrong; the beginning of a word counts as one. */
function farFrom(written: string, word: string): number {
  return word.startsWith(written) ? 1 : distance(written, word);
}

/** ` Did you mean "check"?`, or nothing when no known word is near. */
export function suggestion(written: string, known: readonly string[]): string {
  if (written.length > 80) return "";
  const [nearest] = known
    .map((word) => ({ word, far: farFrom(written.toLowerCase(), word.toLowerCase()) }))
    .filter(({ far }) => written !== "" && far <= 2)
    .toSorted((a, b) => a.far - b.far);
  return nearest ? ` Did you mean "${nearest.word}"?` : "";
}
