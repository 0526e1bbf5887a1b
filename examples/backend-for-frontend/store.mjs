// @ts-check
/** What this server keeps for a browser, which has only a cookie with its id. */
import { randomBytes } from "node:crypto";

/**
 * Entries that end by themselves after `seconds`. Beyond `limit` the oldest one ends, so that nobody can fill the memory.
 *
 * @template Value
 * @param {{ seconds: number, limit: number }} bounds
 */
export function newStore({ seconds, limit }) {
  /** All live equally long, so the first one is the oldest. @type {Map<string, { value: Value, endsAt: number }>} */
  const entries = new Map();

  function sweep() {
    for (const [id, { endsAt }] of entries) {
      if (endsAt > Date.now() && entries.size < limit) return;
      entries.delete(id);
    }
  }

  return {
    /** Keeps it and gives its id, which nobody can guess. @param {Value} value */
    begin(value) {
      sweep();
      const id = randomBytes(32).toString("base64url");
      entries.set(id, { value, endsAt: Date.now() + seconds * 1000 });
      return id;
    },
    /** @param {unknown} id */
    find(id) {
      const entry = typeof id === "string" ? entries.get(id) : undefined;
      return entry && entry.endsAt > Date.now() ? entry.value : undefined;
    },
    /** @param {unknown} id */
    end(id) {
      if (typeof id === "string") entries.delete(id);
    },
  };
}
