// @ts-check
/**
 * Measures what floods of bad requests cost, and what an honest client notices of them:
 *
 *     node floods.js [--seconds=5] [--connections=16] [--per-second=20] [--only=secret]
 *
 * Every request of a flood has another value, so nothing about it can be remembered. The cost is the server's processor time for each
 * request, over that of a bare Express 401 for a request of the same kind. Meanwhile honest clients, each second one never seen before, ask
 * for tokens at a fixed rate. It prints Markdown.
 */
"use strict";
const { randomBytes } = require("node:crypto");
const { Agent, request } = require("node:http");
const { createServer } = require("node:net");
const { setTimeout: delay } = require("node:timers/promises");
const { parseArgs } = require("node:util");
const { startServer } = require("./child");
const { table } = require("./report");
const terms = require("./terms");

/**
 * @typedef {{ readonly method?: string; readonly path: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }} Sent
 * @typedef {{ readonly name: string; readonly bare: string; readonly make: (number: number) => Sent }} Flood `bare` names the flood that it is compared with.
 * @typedef {{ readonly seconds: number; readonly connections: number; readonly perSecond: number }} How
 * @typedef {{ ok: number; refused: number; readonly latencies: number[] }} Honest
 */

const pair = "/auth/password/api/orders";
const formType = { "content-type": "application/x-www-form-urlencoded" };
const jsonType = { "content-type": "application/json" };
const value = () => randomBytes(32).toString("base64url");

/** @param {string} path @param {Record<string, string>} fields @returns {Sent} */
const form = (path, fields) => ({
  method: "POST",
  path,
  headers: formType,
  body: new URLSearchParams(fields).toString(),
});

/** @param {Record<string, string>} fields */
const token = (fields) => form(`${pair}/token`, fields);

/** @param {object} header @param {object} claims a JWT with a signature of the right size that is wrong */
function forgedJwt(header, claims) {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return `${parts.join(".")}.${randomBytes(64).toString("base64url")}`;
}

/** @param {string} clientId */
function assertion(clientId) {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: `https://host.example${pair}`,
    jti: value(),
    iat: now,
    exp: now + 60,
  };
  return {
    grant_type: "client_credentials",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: forgedJwt({ alg: "ES256" }, claims),
  };
}

/** @param {Record<string, string>} fields @returns {Sent} */
function authorize(fields) {
  const asked = {
    response_type: "code",
    redirect_uri: terms.redirectUri,
    scope: terms.scope,
    code_challenge: terms.challenge,
    code_challenge_method: "S256",
    ...fields,
  };
  return { path: `${pair}/authorize?${new URLSearchParams(asked).toString()}` };
}

/** @param {string} text @returns {Sent} */
const bearer = (text) => ({ path: "/orders", headers: { authorization: `Bearer ${text}` } });

/** @param {object} metadata @returns {Sent} */
const register = (metadata) => ({
  method: "POST",
  path: `${pair}/register`,
  headers: jsonType,
  body: JSON.stringify(metadata),
});

/** The form of a client with a secret that is not its own. @param {string} id */
const secret = (id) => ({ grant_type: "client_credentials", client_id: id, client_secret: value() });

/** The flood that needs a server which may fetch from this machine. */
const fetched = "URLs of documents whose server closes the connection";

/** @param {string} [stranger] the base of URLs whose server closes every connection @returns {readonly Flood[]} */
function floodsOf(stranger) {
  const issuer = `https://host.example${pair}`;
  const claims = () => ({
    iss: issuer,
    aud: "https://host.example/orders",
    sub: "alice",
    jti: value(),
    exp: 9e9,
    iat: 1,
  });
  return [
    { name: "bare GET", bare: "bare GET", make: () => ({ path: "/bare" }) },
    { name: "bare form", bare: "bare form", make: () => form("/bare", secret(terms.clientId)) },
    {
      name: "bare JSON",
      bare: "bare JSON",
      make: () => ({
        ...register({ redirect_uris: [terms.redirectUri], client_name: value() }),
        path: "/bare-json",
      }),
    },
    { name: "wrong secrets of a known client", bare: "bare form", make: () => token(secret(terms.clientId)) },
    { name: "secrets of made-up clients", bare: "bare form", make: () => token(secret(value())) },
    {
      name: "wrong secrets that a person has chosen (scrypt)",
      bare: "bare form",
      make: () => token(secret("human")),
    },
    {
      name: "made-up codes",
      bare: "bare form",
      make: () =>
        token({
          grant_type: "authorization_code",
          client_id: "public",
          code: value(),
          code_verifier: value(),
        }),
    },
    {
      name: "made-up refresh tokens",
      bare: "bare form",
      make: () => token({ grant_type: "refresh_token", client_id: "public", refresh_token: value() }),
    },
    { name: "made-up bearer tokens", bare: "bare GET", make: () => bearer(value()) },
    {
      name: "forged JWTs",
      bare: "bare GET",
      make: () => bearer(forgedJwt({ alg: "ES256", typ: "at+jwt" }, claims())),
    },
    { name: "forged assertions of a known client", bare: "bare form", make: () => token(assertion("keyed")) },
    { name: "assertions of made-up clients", bare: "bare form", make: () => token(assertion(value())) },
    {
      name: stranger === undefined ? "URLs of documents that may not be fetched" : fetched,
      bare: "bare GET",
      make: () => authorize({ client_id: `${stranger ?? "http://127.0.0.1:1"}/${value()}/client.json` }),
    },
    { name: "made-up clients at authorize", bare: "bare GET", make: () => authorize({ client_id: value() }) },
    {
      name: "registrations that are malformed",
      bare: "bare JSON",
      make: () => register({ redirect_uris: ["javascript:1"], client_name: value() }),
    },
    {
      name: "registrations that the host denies",
      bare: "bare JSON",
      make: () => register({ redirect_uris: [terms.redirectUri], client_name: value() }),
    },
    {
      name: "introspection with a wrong secret",
      bare: "bare form",
      make: () => form(`${pair}/introspect`, { ...secret(terms.clientId), token: value() }),
    },
  ];
}

/** @param {string} url @param {Sent} sent @param {Agent} agent @returns {Promise<number>} the status */
function send(url, { method = "GET", path, headers, body }, agent) {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const asked = request(url + path, { method, agent, headers: { ...headers, ...length } }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    asked.once("error", reject).end(body);
  });
}

let nextUnseen = 0;

/** Asks for tokens at the rate until `until`; latency counts from the planned time. @param {import("./child").RunningServer} server @param {{ until: number; perSecond: number }} how @returns {Promise<Honest>} */
async function beHonest({ url, routes: { clientCredentials } }, { until, perSecond }) {
  if (!clientCredentials) throw new Error("the server has no clients");
  const agent = new Agent({ keepAlive: true });
  /** @type {Honest} */
  const honest = { ok: 0, refused: 0, latencies: [] };
  /** @type {Promise<void>[]} */
  const shots = [];
  for (let planned = performance.now(); planned < until; planned += 1_000 / perSecond) {
    await delay(Math.max(0, planned - performance.now()));
    const client = shots.length % 2 === 0 ? terms.clientId : `unseen-${nextUnseen++}`;
    const sent = { ...clientCredentials, body: `${clientCredentials.body}`.replace("{value}", client) };
    const shot = send(url, sent, agent).catch(() => 0);
    shots.push(
      shot.then((status) => {
        honest.latencies.push(performance.now() - planned);
        if (status === 200) honest.ok += 1;
        else honest.refused += 1;
      }),
    );
  }
  await Promise.all(shots);
  agent.destroy();
  return honest;
}

/** @param {import("./child").RunningServer} server @param {Flood} flood @param {{ until: number; connections: number }} how */
async function send401s({ url }, { make }, { until, connections }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  /** @type {Record<string, number>} */
  const statuses = {};
  let count = 0;
  async function worker() {
    while (performance.now() < until) {
      const status = await send(url, make(count), agent);
      count += 1;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  return { count, statuses };
}

/** @param {import("./child").RunningServer} server */
async function heapOf(server) {
  // what has ended lets go of its memory some turns later
  let least = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < 5; reading += 1) {
    const { heapUsed, external } = await server.ask("memory");
    least = Math.min(least, heapUsed + external);
    await delay(100);
  }
  return least;
}

/** @param {import("./child").RunningServer} server @param {Flood} flood @param {How} how */
async function measure(server, flood, { seconds, connections, perSecond }) {
  // the code of this kind is compiled before anything counts
  await send401s(server, flood, { until: performance.now() + Math.min(1_500, seconds * 500), connections });
  const [heap, cpu] = [await heapOf(server), (await server.ask("cpu")).seconds];
  const [begin, until] = [performance.now(), performance.now() + seconds * 1_000];
  const { count, statuses } = await send401s(server, flood, { until, connections });
  const took = (performance.now() - begin) / 1_000;
  const micros = (((await server.ask("cpu")).seconds - cpu) * 1e6) / count;
  const growth = (await heapOf(server)) - heap;
  // apart from the rest: their tokens cost time and memory of their own
  const alsoUntil = performance.now() + seconds * 1_000;
  const [honest] = await Promise.all([
    beHonest(server, { until: alsoUntil, perSecond }),
    send401s(server, flood, { until: alsoUntil, connections }),
  ]);
  return { name: flood.name, perSecond: count / took, statuses, micros, growth: growth / count, honest };
}

/** @param {readonly number[]} values @param {number} share */
const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? Number.NaN;

/** @param {Awaited<ReturnType<typeof measure>>} measured @param {number} bareMicros */
function row({ name, perSecond, statuses, micros, growth, honest }, bareMicros) {
  return [
    name,
    Object.keys(statuses).join(", "),
    Math.round(perSecond).toLocaleString("en"),
    Math.round(micros).toString(),
    (micros / bareMicros).toFixed(2),
    growth.toFixed(1),
    `${honest.ok} of ${honest.ok + honest.refused}`,
    quantile(honest.latencies, 0.5).toFixed(1),
    quantile(honest.latencies, 0.99).toFixed(1),
  ];
}

/** A server that closes every connection at once. @returns {Promise<{ url: string; close: () => void }>} */
function startStranger() {
  const stranger = createServer((socket) => void socket.on("error", () => undefined).destroy());
  return new Promise((resolve) => {
    stranger.listen(0, "127.0.0.1", () => {
      const address = stranger.address();
      const port = typeof address === "object" && address ? address.port : 0;
      resolve({ url: `http://127.0.0.1:${port}`, close: () => void stranger.close() });
    });
  });
}

/** @param {readonly Flood[]} floods @param {How & { readonly env: Readonly<Record<string, string>> }} how */
async function rowsOf(floods, { env, ...how }) {
  const server = await startServer("servers/floods", "jwt", env);
  try {
    /** @type {Map<string, number>} */
    const bare = new Map();
    const rows = [];
    for (const flood of floods) {
      const measured = await measure(server, flood, how);
      bare.set(flood.name, measured.micros);
      rows.push(row(measured, bare.get(flood.bare) ?? Number.NaN));
      process.stderr.write(`${rows.at(-1)?.join(" | ")}\n`);
    }
    return rows;
  } finally {
    server.stop();
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "5" },
      connections: { type: "string", default: "16" },
      "per-second": { type: "string", default: "20" },
      only: { type: "string", default: "" },
    },
  });
  const how = {
    seconds: Number(values.seconds),
    connections: Number(values.connections),
    perSecond: Number(values["per-second"]),
  };
  const isAsked = (/** @type {Flood} */ { name, bare }) => name === bare || name.includes(values.only);
  const rows = await rowsOf(floodsOf().filter(isAsked), { ...how, env: {} });
  const stranger = await startStranger();
  // only outside of production may a server fetch from its own machine; the checks of development cost a little, so it has its own floor
  const floods = floodsOf(stranger.url).filter(
    (flood) => (flood.name === fetched || flood.name === "bare GET") && isAsked(flood),
  );
  const [, ...others] = floods.length > 1 ? await rowsOf(floods, { ...how, env: { NODE_ENV: "test" } }) : [];
  stranger.close();
  const head = [
    "flood",
    "answers",
    "requests/s",
    "µs of CPU each",
    "over a bare 401",
    "bytes kept each",
    "honest clients answered",
    "their p50 ms",
    "their p99 ms",
  ];
  process.stdout.write(`${table([head, ...rows, ...others])}\n`);
}

void main();
