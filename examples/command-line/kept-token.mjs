// @ts-check
/** The refresh token, in a file that only its owner can read. Where there is a keychain, that is the better place. */
import { randomUUID } from "node:crypto";
import { constants, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

const { ORDERS_CONFIG, XDG_CONFIG_HOME = path.join(homedir(), ".config") } = process.env;
const folder = ORDERS_CONFIG ?? path.join(XDG_CONFIG_HOME, "authmount-orders");
const file = path.join(folder, "token.json");
const newName = () => `${file}.${randomUUID()}`;

/** @param {string} problem */
const refusal = (problem) => new Error(`${problem}. Delete ${file} and sign in again.`);

/**
 * Windows has no such modes: there the folder is its owner's by itself.
 *
 * @type {(stats: import("node:fs").Stats, bits: number) => boolean}
 */
const othersMay = ({ uid, mode }, bits) =>
  process.getuid !== undefined && (uid !== process.getuid() || (mode & bits) !== 0);

/** Whoever may write there could put another file in the place of ours. */
async function checkFolder() {
  if (othersMay(await stat(folder), 0o022))
    throw new Error(`No token is kept in ${folder}: others can write there.`);
}

/**
 * What is in the file of this name, unless it is a link or others can read it. Looks at what it has opened: the name could
 * stand for something else a moment later.
 *
 * @type {(name: string) => Promise<{ issuer: string, refreshToken: string }>}
 */
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
      // the message of the error would quote the token
      throw refusal("The file with the token is broken");
    }
  } finally {
    await handle.close();
  }
}

/** @type {(issuer: string, refreshToken: string) => Promise<void>} */
export async function keepRefreshToken(issuer, refreshToken) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await checkFolder();
  const ownFile = newName();
  // wx: makes a new file, so it follows no link and takes no file that somebody else has made
  await writeFile(ownFile, JSON.stringify({ issuer, refreshToken }), { flag: "wx", mode: 0o600 });
  await rename(ownFile, file);
}

/**
 * Takes it out of its place, so that of two runs at the same time one gets it: a refresh token that is used twice
 * ends the authorization. It goes to the issuer that gave it and to nobody else.
 *
 * @param {string} issuer
 * @returns {Promise<string | undefined>}
 */
export async function takeRefreshToken(issuer) {
  const ownFile = newName();
  try {
    await checkFolder();
    // what is refused stays where it is
    await readPrivately(file);
    await rename(file, ownFile);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
    throw error;
  }
  const kept = await readPrivately(ownFile);
  await rm(ownFile);
  return kept.issuer === issuer ? kept.refreshToken : undefined;
}
