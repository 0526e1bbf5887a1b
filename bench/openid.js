// @ts-check
/**
 * Measures what sign-ins and high assurance cost, of authmount and of oidc-provider in memory, one process each: userinfo (W6), the code
 * exchange with an ID token (W3), userinfo with a token that is bound to a key (DPoP, W7), and the code exchange after a pushed request (W8).
 *
 *     node openid.js [--rounds=5] [--seconds=2] [--warm-up=3] [--only=W7]
 *
 * Both sign ID tokens with ES256, have opaque access tokens, which the userinfo endpoint of the other one needs, and tell the same claims. Each
 * sample of oidc-provider lies between two of ours, and is divided by their mean.
 */
"use strict";
process.env["BENCH_OPENID"] = "1";
const { createHash, generateKeyPairSync, randomUUID, sign } = require("node:crypto");
const { parseArgs } = require("node:util");
const { newSecrets } = require("./authmount-host");
const { call, obtainCode, obtainTokens } = require("./call");
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

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
/** @param {object} part */
const encoded = (part) => Buffer.from(JSON.stringify(part)).toString("base64url");
const proofHeader = encoded({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } });

/** A proof of the key for one request. @param {{ method: string; url: string; accessToken?: string }} request */
function proofOf({ method, url, accessToken }) {
  const ath = accessToken && { ath: createHash("sha256").update(accessToken).digest("base64url") };
  const iat = Math.floor(Date.now() / 1000);
  const signed = `${proofHeader}.${encoded({ jti: randomUUID(), htm: method, htu: url, iat, ...ath })}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Where the server thinks that it is: ours goes by its `baseUrl`, the other one by the `Host` header. @param {RunningServer} server */
const originOf = ({ title, url }) => (title.startsWith("authmount") ? "https://host.example" : url);

/** More than a server can answer in a second. */
const proofsPerSecond = 12_000;

/** Userinfo with a bound token, and a new proof each time. @param {RunningServer} server @param {number} seconds */
async function boundPlan(server, seconds) {
  const { exchange, protected: userinfo } = server.routes;
  if (!exchange || !userinfo) throw new Error(`${server.title} lacks a route`);
  const at = originOf(server);
  const DPoP = proofOf({ method: "POST", url: at + exchange.path });
  const bound = { ...exchange, headers: { ...exchange.headers, DPoP } };
  const { body } = await call(server, bound, encodeURIComponent(await obtainCode(server)));
  const { access_token: accessToken, token_type: type } = body;
  if (type !== "DPoP") throw new Error(`${server.title}: ${JSON.stringify(body)}`);
  const request = { method: "GET", url: at + userinfo.path, accessToken };
  const headers = { authorization: `DPoP ${accessToken}`, DPoP: "{value}" };
  const values = Array.from({ length: proofsPerSecond * seconds }, () => proofOf(request));
  return [{ ...userinfo, headers, takes: true, values }];
}

/** @param {RunningServer} server */
function pushedPlan({ title, routes: { push, authorizePushed, exchange } }) {
  if (!push || !authorizePushed || !exchange) throw new Error(`${title} lacks a route`);
  return [
    { ...push, yields: '"request_uri":"([^"]+)"', to: 2 },
    { ...authorizePushed, takes: true, yields: "[?&]code=([^&]+)", to: 3 },
    { ...exchange, takes: true },
  ];
}

/** @param {string} id @param {{ server: RunningServer; seconds: number }} sample */
async function planOf(id, { server, seconds }) {
  if (id === "W6") return [await checked(server)];
  if (id === "W7") return boundPlan(server, seconds);
  if (id === "W8") return pushedPlan(server);
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
      only: { type: "string" },
    },
  });
  const env = { BENCH_OPENID: "1", BENCH_SECRETS: JSON.stringify(newSecrets()) };
  const ours = await startServer("servers/authmount-shared", "opaque", env);
  const peer = await startServer("peers/oidc-provider", "opaque", env);
  const rows = [
    ["workload", "authmount per second", "oidc-provider per second", "oidc-provider : authmount"],
  ];
  try {
    for (const id of ["W6", "W3", "W7", "W8"].filter((each) => (values.only ?? each) === each)) {
      const sample = async (/** @type {RunningServer} */ server, seconds = Number(values.seconds)) => {
        const load = { url: server.url, seconds, connections: 16 };
        const {
          requests,
          seconds: took,
          refused,
          broken,
        } = await generate(await planOf(id, { server, seconds }), load);
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
