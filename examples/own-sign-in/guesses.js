// @ts-check
/** Keeps passwords from being guessed: after ten wrong ones an address has to wait. */
const { ipKeyGenerator } = require("express-rate-limit");

/** @typedef {{ wrong: number, underWay: number, waiting: (() => void)[] }} Guesses */

const limit = 10;
const windowMs = 900_000;

/** Without the port that some proxies add, such as Azure's. For IPv6, the whole network counts as one address. */
const addressOf = (ip = "unknown") =>
  ipKeyGenerator(ip.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, "$1$2"));

/** Counts in this process and by address. In a real app, count by name too, and in a store that your processes share. */
function newGuessLimit() {
  /** @type {Map<string, Guesses>} */
  const addresses = new Map();
  setInterval(() => addresses.clear(), windowMs).unref();

  /**
   * Runs a check, and counts it as wrong if it finds nobody. At most ten checks per address run at once, and the others wait for
   * them, so sending many guesses at once does not help. Right passwords are never counted.
   *
   * @template T
   * @param {string | undefined} ip of the caller
   * @param {() => Promise<T | undefined>} check
   * @returns {Promise<T | "too many" | undefined>}
   */
  async function attempt(ip, check) {
    const address = addressOf(ip);
    const guesses = addresses.get(address) ?? { wrong: 0, underWay: 0, waiting: [] };
    addresses.set(address, guesses);
    while (guesses.wrong + guesses.underWay >= limit) {
      if (guesses.wrong >= limit) return "too many";
      await new Promise((resolve) => guesses.waiting.push(() => resolve(undefined)));
    }
    guesses.underWay += 1;
    try {
      const found = await check();
      if (found === undefined) guesses.wrong += 1;
      return found;
    } finally {
      guesses.underWay -= 1;
      for (const goOn of guesses.waiting.splice(0)) goOn();
    }
  }
  return { attempt };
}

module.exports = { newGuessLimit };
