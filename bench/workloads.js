// @ts-check
/** The workloads: what is sent, and which floor it is compared with. */
"use strict";
const { obtainAccessTokens, obtainTokens } = require("./call");
const { forge } = require("./forge");
const terms = require("./terms");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./load/generate").Step} Step
 * @typedef {{
 *   readonly id: string;
 *   readonly title: string;
 *   readonly floor: "F1" | "F2" | "F1+F2";
 *   readonly isFor: (routes: import("./types").Routes) => boolean;
 *   readonly plan: (server: RunningServer) => Promise<readonly Step[]>;
 *   readonly isRefused?: boolean;
 * }} Workload
 */

const refreshTokens = 64;
const accessTokens = 10_000;
/** The smoke run uses fewer. */
const fewAccessTokens = 200;
const code = "[?&]code=([^&]+)";
const refreshToken = '"refresh_token":"([^"]+)"';

const form = { "content-type": "application/x-www-form-urlencoded" };
/** @type {Step} */
const f1 = { method: "GET", path: "/f1" };
/** @type {Step} */
const f2 = {
  method: "POST",
  path: "/f2",
  headers: form,
  body: `grant_type=client_credentials&scope=${terms.scope}&client_id=${terms.clientId}&client_secret=${"s".repeat(43)}`,
};

/** @typedef {Readonly<Record<"F1" | "F2" | "F3" | "F1+F2", readonly Step[]>>} Floors */

/** @type {Floors} */
const floors = {
  F1: [f1],
  F2: [f2],
  F3: [{ ...f2, path: "/f3" }],
  "F1+F2": [
    { ...f1, yields: '"message":"([^"]+)"', to: 2 },
    { ...f2, body: `${f2.body}&code={value}`, takes: true },
  ],
};

/**
 * Makes the step of a route that exists.
 *
 * @param {import("./types").RequestTemplate | undefined} template
 * @param {Partial<Step>} [more]
 * @returns {Step}
 */
function step(template, more = {}) {
  if (!template) throw new Error("the server has no such route");
  return { ...template, ...more };
}

/** Good tokens of a server, requested once. @type {WeakMap<RunningServer, Promise<readonly string[]>>} */
const tokensOf = new WeakMap();

/** @param {RunningServer} server @returns {Promise<readonly string[]>} */
function goodTokens(server) {
  const count = process.argv.includes("--smoke") ? fewAccessTokens : accessTokens;
  const tokens = tokensOf.get(server) ?? obtainAccessTokens(server, count);
  tokensOf.set(server, tokens);
  return tokens;
}

/** @type {readonly Workload[]} */
const workloads = [
  {
    id: "W1",
    title: "client credentials",
    floor: "F2",
    isFor: ({ clientCredentials }) => clientCredentials !== undefined,
    plan: async ({ routes }) => [step(routes.clientCredentials)],
  },
  {
    id: "W2",
    title: "refresh, each with the newest token",
    floor: "F2",
    isFor: ({ refresh }) => refresh !== undefined,
    async plan(server) {
      const tokens = await Promise.all(Array.from({ length: refreshTokens }, () => obtainTokens(server)));
      const values = tokens.map((each) => each.refresh_token);
      return [step(server.routes.refresh, { takes: true, values, yields: refreshToken, to: 1 })];
    },
  },
  {
    id: "W3",
    title: "authorize and code exchange with PKCE",
    floor: "F1+F2",
    isFor: ({ exchange }) => exchange !== undefined,
    plan: async ({ routes }) => [
      step(routes.authorize, { yields: code, to: 2 }),
      step(routes.exchange, { takes: true }),
    ],
  },
  {
    id: "W3b",
    title: "the same, always by one person",
    floor: "F1+F2",
    isFor: ({ authorizeOne, exchange }) => authorizeOne !== undefined && exchange !== undefined,
    plan: async ({ routes }) => [
      step(routes.authorizeOne, { yields: code, to: 2 }),
      step(routes.exchange, { takes: true }),
    ],
  },
  {
    id: "W4",
    title: "protected route, one token",
    floor: "F1",
    isFor: ({ protected: route }) => route !== undefined,
    plan: async (server) => [
      step(server.routes.protected, { values: (await goodTokens(server)).slice(0, 1) }),
    ],
  },
  {
    id: "W4b",
    title: "protected route, 10,000 tokens in turn",
    floor: "F1",
    isFor: ({ protected: route }) => route !== undefined,
    plan: async (server) => [step(server.routes.protected, { values: await goodTokens(server) })],
  },
  {
    id: "W4c",
    title: "protected route, forged tokens",
    floor: "F1",
    isFor: ({ protected: route }) => route !== undefined,
    plan: async (server) => [step(server.routes.protected, { values: forge(await goodTokens(server)) })],
    isRefused: true,
  },
  {
    id: "W5",
    title: "silent refresh (`prompt=none`)",
    floor: "F1",
    isFor: ({ silent }) => silent !== undefined,
    plan: async ({ routes }) => [step(routes.silent)],
  },
];

module.exports = { floors, workloads };
