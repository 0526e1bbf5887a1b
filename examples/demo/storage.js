// @ts-check
/**
 * Where the demo keeps what its server stores, and the keys of the server. If this Node.js contains SQLite, that is a folder, and a restart
 * loses nothing; otherwise it is the memory of this process. The people's sessions are always in memory, as in the other examples. The clients
 * are saved anew at each start, with new secrets: whatever staff did to them ends there.
 */
const { randomBytes } = require("node:crypto");
const { existsSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { isBuiltin } = require("node:module");
const path = require("node:path");
const { generateSigningKey, memoryStorage } = require("authmount");
const { sqliteStorage } = require("authmount/sqlite");

const newKeys = () => ({
  secrets: [randomBytes(32).toString("base64url")],
  // the second one signs ID tokens
  signingKeys: [generateSigningKey(), generateSigningKey("RS256")],
});

/** Made at the first start, and kept in a file that only its owner can read. @param {string} file */
function keptKeys(file) {
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(newKeys()), { mode: 0o600 });
  /** @type {ReturnType<typeof newKeys>} */
  const keys = JSON.parse(readFileSync(file, "utf8"));
  return keys;
}

/**
 * The storage, the keys, and the folder of both if there is one. Nothing may be asked of the storage before `ready`.
 *
 * @param {readonly import("authmount").Client[]} clients
 */
function openStorage(clients) {
  if (!isBuiltin("node:sqlite"))
    return { storage: memoryStorage({ clients }), keys: newKeys(), ready: Promise.resolve() };
  const folder = path.resolve("authmount-demo");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const storage = sqliteStorage({ file: path.join(folder, "demo.sqlite") });
  async function prepare() {
    await storage.migrate();
    for (const client of clients) await storage.clients.save(client);
    setInterval(() => void storage.deleteExpired().catch(console.error), 60_000).unref();
  }
  return { storage, keys: keptKeys(path.join(folder, "keys.json")), folder, ready: prepare() };
}

module.exports = { openStorage };
