/** Statements that a database has undone, and asks to run again. RFC 6749 §10.5 (single use). */
import { setTimeout as pause } from "node:timers/promises";

const maxAttempts = 20;
/** The longest pause before the first repetition. It doubles with each further one, up to the second figure. */
const pauseMilliseconds = { first: 5, longest: 250 };

/** Runs again whatever fails with such an error, a limited number of times. Any other failure is thrown at once. */
export async function repeatOn<T>(isUndone: (error: unknown) => boolean, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === maxAttempts || !isUndone(error)) throw error;
      const longest = Math.min(pauseMilliseconds.first * 2 ** (attempt - 1), pauseMilliseconds.longest);
      // random, so that those that have met once do not meet again and again
      await pause(Math.random() * longest);
    }
  }
}
