// @ts-check
/** The smallest `rateLimit`: nobody can guess the codes that devices show. docs/recipes.md limits clients as well. */

/** What each address has sent in this minute. @type {Map<string, number>} */
const counts = new Map();
setInterval(() => counts.clear(), 60_000).unref();

/** @type {import("authmount").RateLimit} */
function rateLimit({ endpoint, ip }) {
  // asking for codes, and typing them
  if (endpoint !== "device_authorization" && endpoint !== "device") return { kind: "allowed" };
  const key = `${endpoint} ${ip}`;
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count > 20 ? { kind: "limited", retryAfterSeconds: 60 } : { kind: "allowed" };
}

module.exports = { rateLimit };
