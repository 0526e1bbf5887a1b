// @ts-check
/** Redis under pressure: the commands that the adapter sends for one login are recorded, and sent again for many others. */
"use strict";
const { connect } = require("node:net");
const { setTimeout: delay } = require("node:timers/promises");
const { createClient } = require("redis");
const { redisStorage } = require("../../dist/redis");
const { partsOf, textOf } = require("./copies");
const { storeLogin } = require("./logins");

/**
 * @typedef {import("./logins").Login} Login
 * @typedef {import("./copies").Part} Part
 * @typedef {{ sendCommand(args: string[]): Promise<any> }} Client
 */

/** A command as Redis reads it. All logins have names of the same length, so the lengths hold for each of them. @param {readonly string[]} args */
function toWire(args) {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${parts.join("")}`;
}

/** The commands that store logins like this one. @param {Client} client @param {Login} login */
async function commandsLike(client, login) {
  /** @type {string[]} */
  const commands = [];
  const recording = {
    sendCommand(/** @type {string[]} */ args) {
      if (args[0] !== "INFO") commands.push(toWire(args));
      return client.sendCommand(args);
    },
  };
  await storeLogin(redisStorage({ client: recording }), login);
  return partsOf(commands.join(""), login);
}

const lastAnswer = "everything was executed";

/** Sends text to Redis without waiting for each answer. @param {string} url */
async function openPipe(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let tail = "";
  /** @type {string | undefined} */
  let refusal;
  socket.on("data", (chunk) => {
    const text = tail + chunk.toString("latin1");
    refusal ??= /\r\n-(.*)/.exec(text)?.[1];
    tail = text.slice(-100);
    if (text.includes(`\n${lastAnswer}\r\n`)) socket.emit("end of answers");
  });
  await new Promise((resolve) => void socket.once("connect", resolve));
  /** @param {string} text */
  async function sendNow(text) {
    const ended = new Promise((resolve) => void socket.once("end of answers", resolve));
    tail = "";
    socket.write(text);
    socket.write(toWire(["ECHO", lastAnswer]));
    await ended;
    if (refusal !== undefined) throw new Error(`Redis refused a copied command: ${refusal}`);
  }
  /** @type {Promise<void>} */
  let last = Promise.resolve();
  return {
    /** One after the other, as all answers end alike. @param {string} text */
    send: (text) => (last = last.then(() => sendNow(text))),
    close: () => void socket.destroy(),
  };
}

/** @param {Client} client @param {string} name */
async function info(client, name) {
  const found = new RegExp(`^${name}:(.*?)\r?$`, "m").exec(String(await client.sendCommand(["INFO", "all"])));
  return Number(found?.[1]);
}

/** @param {Client} client */
async function dump(client) {
  /** @type {Record<string, unknown>} */
  const content = {};
  for (const key of (await client.sendCommand(["KEYS", "*"])).toSorted()) {
    const type = await client.sendCommand(["TYPE", key]);
    const read = {
      string: ["GET", key],
      zset: ["ZRANGE", key, "0", "-1", "WITHSCORES"],
      hash: ["HGETALL", key],
    }[/** @type {"string" | "zset" | "hash"} */ (type)];
    content[key] = [await client.sendCommand(read), await client.sendCommand(["EXPIRETIME", key])];
  }
  return content;
}

/** @param {Client} client */
async function untilRewritten(client) {
  while ((await info(client, "aof_rewrite_in_progress")) + (await info(client, "aof_rewrite_scheduled")) > 0)
    await delay(100);
}

/** Redis may also have begun a rewrite by itself. @param {Client} client */
async function rewrite(client) {
  await untilRewritten(client);
  await client.sendCommand(["BGREWRITEAOF"]);
  await untilRewritten(client);
}

/** What a key holds. @param {string} key */
const kindOf = (key) =>
  key.replace(/\{[^}]+\}/, "{id}").replace(/(:consents|:refresh|:code|:access):.*/, "$1");

const sampled = 20_000;
/** So that no command waits for long behind the others. */
const askedAtOnce = 200;

/** Keys at random, with their sizes. @param {Client} client */
async function sampleOf(client) {
  /** @type {{ key: string; bytes: number }[]} */
  const sample = [];
  async function worker() {
    while (sample.length < sampled) {
      const key = String(await client.sendCommand(["RANDOMKEY"]));
      sample.push({ key, bytes: Number(await client.sendCommand(["MEMORY", "USAGE", key])) });
    }
  }
  await Promise.all(Array.from({ length: askedAtOnce }, worker));
  return sample;
}

/** The kinds of keys, from a random sample of all keys. @param {Client} client @returns {Promise<readonly import("./engines").Space[]>} */
async function space(client) {
  const [keys, used] = [await client.sendCommand(["DBSIZE"]), await info(client, "used_memory")];
  if (keys === 0) return [{ name: "empty", count: 0, bytes: used }];
  const sample = await sampleOf(client);
  const each = keys / sample.length;
  /** @type {Map<string, import("./engines").Space>} */
  const kinds = new Map();
  for (const { key, bytes } of sample) {
    const indexed = key.includes(":authorizations:")
      ? key.split(",").length > 1
        ? " of a client"
        : " of a person"
      : "";
    const name = indexed === "" ? kindOf(key) : `authmount:authorizations${indexed}`;
    const kind = kinds.get(name) ?? { name, count: 0, bytes: 0 };
    kinds.set(name, {
      name,
      count: kind.count + each,
      bytes: kind.bytes + bytes * each,
    });
  }
  const counted = [...kinds.values()].reduce((sum, kind) => sum + kind.bytes, 0);
  return [
    ...kinds.values(),
    { name: "the tables of keys and what else the server counts", count: keys, bytes: used - counted },
  ];
}

/** What the server says since `settle`. @param {Client} client */
async function remarks(client) {
  const slow = await client.sendCommand(["SLOWLOG", "GET", "-1"]);
  const named = slow
    .slice(0, 5)
    .map((/** @type {any} */ [, , microseconds, [command]]) => `${command} ${microseconds / 1000} ms`);
  const ratio = await info(client, "mem_fragmentation_ratio");
  return `Commands of 10 ms and more (SLOWLOG): ${slow.length}${slow.length > 0 ? `, the last ones ${named.join(", ")}` : ""}. Memory of the process over that of the data: ${ratio}.`;
}

const watchedMilliseconds = 10_000;

/** @param {Client} client @returns {readonly import("./engines").Upkeep[]} */
const upkeep = (client) => [
  {
    title: "expiry at one moment",
    // more than a tenth of all keys, below which Redis hardly looks for them; and not before all of them are copied
    ending: { share: 0.25, inSeconds: (count) => 3 + Math.ceil(count / 2_000) },
    async run(moment) {
      await delay(Math.max(0, moment * 1000 - Date.now()));
      const before = await info(client, "expired_keys");
      let expired = 0;
      // it ends when little is left: then Redis removes the rest as slowly as it finds it
      for (const end = Date.now() + watchedMilliseconds; Date.now() < end;) {
        await delay(250);
        const now = (await info(client, "expired_keys")) - before;
        if (now - expired < expired / 100) break;
        expired = now;
      }
      return `${expired.toLocaleString("en")} keys removed`;
    },
  },
  {
    title: "`BGREWRITEAOF`",
    run: () => rewrite(client),
  },
];

/** @param {string} url @returns {Promise<import("./engines").Store>} */
async function openRedis(url) {
  const connection = createClient({ url });
  // the database may stop first
  connection.on("error", () => undefined);
  await connection.connect();
  const client = { sendCommand: (/** @type {string[]} */ args) => connection.sendCommand(args) };
  const pipe = await openPipe(url);
  /** @type {Map<import("./logins").Shape, readonly Part[]>} */
  const commands = new Map();
  return {
    storage: redisStorage({ client }),
    dump: () => dump(client),
    clear: async () => void (await client.sendCommand(["FLUSHALL"])),
    async learn(login) {
      commands.set(login.shape, await commandsLike(client, login));
      await client.sendCommand(["FLUSHALL"]);
    },
    async copy(logins) {
      await pipe.send(logins.map((login) => textOf(commands.get(login.shape) ?? [], login)).join(""));
    },
    async settle() {
      await rewrite(client);
      await client.sendCommand(["SLOWLOG", "RESET"]);
    },
    space: () => space(client),
    written: () => info(client, "aof_current_size"),
    remarks: () => remarks(client),
    upkeep: upkeep(client),
    async close() {
      pipe.close();
      connection.destroy();
    },
  };
}

module.exports = { openRedis };
