/** Refuses what a test has misspelt: it must not pass because of a mistake in the test. */

/**
 * Lets an object pass that has known keys only.
 *
 * @throws TypeError when the value is no object, or has a key that is not known or whose value is `undefined`. `by` is the function
 * that was called.
 */
export function checkKeys(given: unknown, { by, known }: { by: string; known: readonly string[] }): void {
  if (typeof given !== "object" || given === null)
    throw new TypeError(`${by}: write an object with some of: ${known.join(", ")}.`);
  // what is copied of it is its own only
  for (const name in given)
    if (!Object.hasOwn(given, name))
      throw new TypeError(`${by}: ${name} is inherited. Write a plain object.`);
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name))
      throw new TypeError(`${by}: ${name} is not known here. Known: ${known.join(", ")}.`);
    if (value === undefined)
      throw new TypeError(`${by}: ${name} is undefined. Leave the key out, or write a value.`);
  }
}
