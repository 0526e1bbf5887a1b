// @ts-check
/** The refresh token and its keys, in a file that only its owner can read. If the system has a keychain, that is the better place. */
import { randomUUID } from "node:crypto";
import { constants, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

const { ORDERS_CONFIG, XDG_CONFIG_HOME = path.join(homedir(), ".config") } = process.env;
const folder = ORDERS_CONFIG ?? path.join(XDG_CONFIG_HOME, "authmount-orders");
const file = path.join(folder, "token.json");
const newName = () => `${file}.${randomUUID()}`;

/** @typedef {import("node:crypto").webcrypto.JsonWebKey} Jwk */
/** @typedef {{ issuer: string, refreshToken: string, keys: { privateKey: Jwk, publicKey: Jwk } }} Kept */

/** @param {string} problem */
const refusal = (problem) => new Error(`${problem}. Delete ${file} and sign in again.`);

// Windows has no such modes; there the folder belongs to its owner anyway
/** True if others may do what the mode bits stand for. @type {(stats: import("node:fs").Stats, bits: number) => boolean} */
const othersMay = ({ uid, mode }, bits) =>
  process.getuid !== undefined && (uid !== process.getuid() || (mode & bits) !== 0);

/** Anybody who can write to the folder could replace our file. */
async function checkFolder() {
  if (othersMay(await stat(folder), 0o022))
    throw new Error(`No token is kept in ${folder}: others can write there.`);
}

// checks the opened file, because the name could lead to a different file a moment later
/** What is in this file, unless it is a link or others can read it. @type {(name: string) => Promise<Kept>} */
async function readPrivately(name) {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) => {
    throw error.code === "ELOOP" ? refusal("The file with the token is a symbolic link") : error;
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || othersMay(stats, 0o077)) throw refusal("The token may be known to others");
    const text = await handle.readFile("utf8");
    try {
      return JSON.parse(text);
    } catch {
      // the message of the original error would quote the token
      throw refusal("The file with the token is broken");
    }
  } finally {
    await handle.close();
  }
}

/** @param {Kept} kept */
export async function keepToken(kept) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await checkFolder();
  const ownFile = newName();
  // wx always makes a new file: it follows no link and uses no file that somebody else has made
  await writeFile(ownFile, JSON.stringify(kept), { flag: "wx", mode: 0o600 });
  await rename(ownFile, file);
}

// moves the file away first: of two runs only one gets the token, because using it twice revokes the authorization
/** @returns {Promise<Kept | undefined>} */
async function takeToken() {
  const ownFile = newName();
  try {
    await checkFolder();
    // if the file is refused, it stays where it is
    await readPrivately(file);
    await rename(file, ownFile);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
    throw error;
  }
  const kept = await readPrivately(ownFile);
  await rm(ownFile);
  return kept;
}

// if `use` fails, the token may still be valid
/** Uses the token up, if it is of this issuer. @type {<T>(issuer: string, use: (kept: Kept) => Promise<T>) => Promise<T | undefined>} */
export async function useToken(issuer, use) {
  const kept = await takeToken();
  if (kept?.issuer !== issuer) return undefined;
  try {
    return await use(kept);
  } catch (error) {
    await keepToken(kept);
    throw error;
  }
}
