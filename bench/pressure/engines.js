// @ts-check
/** The engines that are put under pressure. */
"use strict";
const { startPostgres, startRedis } = require("../databases");
const { openPostgres } = require("./postgres");
const { openRedis } = require("./redis");

/**
 * @typedef {import("./logins").Login} Login
 * @typedef {{ readonly name: string; readonly count: number; readonly bytes: number; readonly indexes?: number }} Space
 *   What records of one kind take; `indexes` is a part of `bytes`.
 * @typedef {{
 *   readonly title: string; readonly ending?: { readonly share: number; readonly inSeconds: (count: number) => number };
 *   readonly run: (moment: number) => Promise<string | void>;
 * }} Upkeep
 *   Work of the engine whose cost for requests is measured. With `ending`, logins are stored before, as a share of the living ones, which
 *   may all be forgotten in so many seconds, at `moment`. `run` ends when the work is done, and may tell how much it was.
 * @typedef {{
 *   readonly storage: import("../..").Storage;
 *   readonly dump: () => Promise<object>; readonly clear: () => Promise<void>;
 *   readonly learn: (login: Login) => Promise<void>; readonly copy: (logins: readonly Login[]) => Promise<void>;
 *   readonly settle: () => Promise<void>; readonly space: () => Promise<readonly Space[]>;
 *   readonly written: () => Promise<number>; readonly remarks: () => Promise<string>;
 *   readonly upkeep: readonly Upkeep[]; readonly close: () => Promise<void>;
 * }} Store
 *   An open database. `dump`: everything that it holds, to be compared. `learn` is called with one login of each shape while the database
 *   is empty, and leaves it empty; `copy` then stores others without the adapter. An engine whose adapter is fast enough stores them by
 *   `storeLogin`. `settle`: what the engine does after much was stored, so that it does not happen later. `written`: how many bytes its log has had. `remarks`: what else it counts, in a
 *   sentence.
 * @typedef {{ readonly start: () => Promise<import("../databases").Database>; readonly open: (url: string) => Promise<Store> }} Engine
 */

/** The names are those of `BENCH_STORAGE` in servers/authmount-shared.js. @type {Readonly<Record<string, Engine>>} */
const engines = {
  postgres: { start: startPostgres, open: openPostgres },
  redis: { start: startRedis, open: openRedis },
};

module.exports = { engines };
