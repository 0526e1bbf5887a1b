// @ts-check
/**
 * Measures userinfo (W6), and the code exchange with an ID token (W3), of authmount and of oidc-provider in memory, one process each:
 *
 *     node openid.js [--rounds=5] [--seconds=2] [--warm-up=3]
 *
 * Both sign ID tokens with ES256, have opaque access tokens, which the userinfo endpoint of the other one needs, and tell the same claims. Each
 * sample of oidc-provider lies between two of ours, and is divided by their mean.
 */
"use strict";
process.env["BENCH_OPENID"] = "1";
const { parseArgs } = require("node:util");
const { newSecrets } = require("./authmount-host");
const { call, obtainTokens } = require("./call");
const { startServer } = require("./child");
const { generate } = require("./load/generate");
const { median } = require("./median");
const { environment, spread, table } = require("./report");
const { workloads } = require("./workloads");

/** @typedef {import("./child").RunningServer} RunningServer */

/** Both answer with an ID token, and tell the same of the person. @param {RunningServer} server */
async function checked(server) {
  const tokens = await obtainTokens(server);
  if (typeof tokens.id_token !== "string") throw new Error(`${server.title}: no ID token`);
  const { protected: userinfo } = server.routes;
  if (!userinfo) throw new Error(`${server.title} has no userinfo`);
  const { body } = await call(server, userinfo, tokens.access_token);
  if (body.email !== "alice@example.com" || typeof body.sub !== "string")
    throw new Error(`${server.title}: ${JSON.stringify(body)}`);
  return { ...userinfo, values: [tokens.access_token] };
}

/** @param {string} id @param {RunningServer} server */
async function planOf(id, server) {
  if (id === "W6") return [await checked(server)];
  const workload = workloads.find((each) => each.id === id);
  if (!workload) throw new Error(`${id} is not a workload`);
  return workload.plan(server);
}

async function main() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      "warm-up": { type: "string", default: "3" },
    },
  });
  const env = { BENCH_OPENID: "1", BENCH_SECRETS: JSON.stringify(newSecrets()) };
  const ours = await startServer("servers/authmount-shared", "opaque", env);
  const peer = await startServer("peers/oidc-provider", "opaque", env);
  const rows = [
    ["workload", "authmount per second", "oidc-provider per second", "oidc-provider : authmount"],
  ];
  try {
    for (const id of ["W6", "W3"]) {
      const sample = async (/** @type {RunningServer} */ server, seconds = Number(values.seconds)) => {
        const load = { url: server.url, seconds, connections: 16 };
        const { requests, seconds: took, refused, broken } = await generate(await planOf(id, server), load);
        if (refused + broken > 0)
          throw new Error(`${id} of ${server.title}: ${refused} refused, ${broken} broken`);
        return requests / took;
      };
      for (const server of [ours, peer]) await sample(server, Number(values["warm-up"]));
      const [own, others, ratios] = [[await sample(ours)], [0].slice(1), [0].slice(1)];
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const before = own.at(-1) ?? 0;
        others.push(await sample(peer));
        own.push(await sample(ours));
        ratios.push((2 * (others.at(-1) ?? 0)) / (before + (own.at(-1) ?? 0)));
      }
      const perSecond = [own, others].map((list) => Math.round(median(list)).toLocaleString("en"));
      rows.push([id, ...perSecond, spread(ratios)]);
    }
  } finally {
    for (const server of [ours, peer]) server.stop();
  }
  process.stdout.write(`${environment()}\n\n${table(rows)}\n`);
}

void main();
