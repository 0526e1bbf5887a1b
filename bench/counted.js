// @ts-check
/** Connections to the databases, on which round trips are counted in the same way for every server. */
"use strict";
const { Redis } = require("ioredis");
const { createPool } = require("mysql2/promise");
const { Pool } = require("pg");
const { createClient } = require("redis");

const sent = { roundTrips: 0 };
let answered = 0;

/**
 * Counts what is sent now as a round trip if it could not be sent before the previous answer. The count is right for one request
 * at a time. Returns what must be called when the answer is there.
 */
function beginTrip() {
  const trip = answered + 1;
  sent.roundTrips = Math.max(sent.roundTrips, trip);
  return () => void (answered = Math.max(answered, trip));
}

/**
 * @template T
 * @param {() => Promise<T>} call
 */
async function count(call) {
  const end = beginTrip();
  try {
    return await call();
  } finally {
    end();
  }
}

/**
 * A `pg` pool with its default settings. It has nothing but what is counted here: a server that sends anything else fails.
 *
 * @param {string} url
 */
function openPool(url) {
  const pool = new Pool({ connectionString: url });
  // the database may stop first
  pool.on("error", () => undefined);
  return {
    /** @param {string | import("pg").QueryConfig} statement @param {unknown[]} [values] */
    query: (statement, values) => count(() => pool.query(statement, values)),
    async connect() {
      const client = await pool.connect();
      return {
        /** @param {string} text @param {unknown[]} [values] */
        query: (text, values) => count(() => client.query(text, values)),
        release: () => client.release(),
      };
    },
  };
}

/** A pool of `mysql2` with its default settings. @param {string} url */
function openMysqlPool(url) {
  const pool = createPool(url);
  return {
    /** @param {string} text @param {any[]} [values] */
    execute: (text, values) => count(() => pool.execute(text, values)),
  };
}

/** A client of the `redis` package. @param {string} url */
async function openRedis(url) {
  const connection = createClient({ url, disableOfflineQueue: true });
  connection.on("error", () => undefined);
  await connection.connect();
  return {
    sendCommand: (/** @type {string[]} */ command) => count(() => connection.sendCommand(command)),
  };
}

/** A client of the `ioredis` package, which sends every command through its `sendCommand`, also those of a transaction. @param {string} url */
function openIoredis(url) {
  const connection = new Redis(url);
  connection.on("error", () => undefined);
  const send = connection.sendCommand.bind(connection);
  connection.sendCommand = (command, stream) => {
    const end = beginTrip();
    command.promise.then(end, end);
    return send(command, stream);
  };
  return connection;
}

/** What a server answers when it is asked for its round trips. */
const ask = { "round-trips": async () => sent };

module.exports = { ask, openIoredis, openMysqlPool, openPool, openRedis };
