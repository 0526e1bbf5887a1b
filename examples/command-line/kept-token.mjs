// @ts-check
/** The refresh token, in a file that only its owner can read. Where there is a keychain, that is the better place. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

const { ORDERS_CONFIG, XDG_CONFIG_HOME = path.join(homedir(), ".config") } = process.env;
const folder = ORDERS_CONFIG ?? path.join(XDG_CONFIG_HOME, "authmount-orders");
const file = path.join(folder, "token.json");
const ownFile = `${file}.${process.pid}`;

/** @type {(issuer: string, refreshToken: string) => Promise<void>} */
export async function keepRefreshToken(issuer, refreshToken) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(ownFile, JSON.stringify({ issuer, refreshToken }), { mode: 0o600 });
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
  try {
    await rename(file, ownFile);
  } catch {
    return undefined;
  }
  const kept = JSON.parse(await readFile(ownFile, "utf8"));
  await rm(ownFile);
  return kept.issuer === issuer ? kept.refreshToken : undefined;
}
