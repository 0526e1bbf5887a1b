// @ts-check
/** Mistakes as a tired colleague would make them, with the tests that must notice each of them. `run.js` plants them one by one. */
"use strict";
const access = require("./defects/access");
const clients = require("./defects/clients");
const edges = require("./defects/edges");
const exchange = require("./defects/exchange");
const grants = require("./defects/grants");
const insideCalls = require("./defects/inside-calls");
const limits = require("./defects/limits");
const mysql = require("./defects/mysql");
const openid = require("./defects/openid");
const people = require("./defects/people");

/**
 * @typedef {object} Defect
 * @property {string} name says what goes wrong
 * @property {string} file from the root of the repository
 * @property {string} find text that occurs once in the file
 * @property {string} replace what stands there instead. It must be good JavaScript: types are not checked, as Jest does not
 * @property {string} [only] the tests whose names match this, where the others of the file would wait for a connection in vain
 * @property {readonly string[]} tests test files below `__tests__/`, without `.test.ts`; at least one must fail
 */

/** @type {readonly Defect[]} */
const defects = [
  grants,
  clients,
  limits,
  access,
  openid,
  people,
  exchange,
  edges,
  mysql,
  insideCalls,
].flatMap((area) => area.defects);

module.exports = { defects };
