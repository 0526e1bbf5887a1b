/** A host in a process of its own, over storage that it shares with others; its parent sends it the settings. */
"use strict";

const { existsSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const express = require("express");
const { createAuthServer } = require("authmount");
const { mysqlStorage } = require("authmount/mysql");
const { postgresStorage } = require("authmount/postgres");
const { redisStorage } = require("authmount/redis");
const { sqliteStorage } = require("authmount/sqlite");
const { createPool } = require("mysql2/promise");
const { Pool } = require("pg");
const { createClient } = require("redis");
const { apiEndKey } = require("../../dist/protocol/end-mark");

/** Its parent reads it. */
const complain = (error) => void process.stderr.write(`${error?.stack ?? error}\n`);

/** Storage in tables, if that is what the parent has. */
function openTables({ postgresUrl, mysqlUrl, sqliteFile }) {
  if (sqliteFile !== undefined) return sqliteStorage({ file: sqliteFile });
  if (mysqlUrl !== undefined)
    return mysqlStorage({ pool: createPool({ uri: mysqlUrl, connectionLimit: 10 }) });
  if (postgresUrl === undefined) return undefined;
  const pool = new Pool({ connectionString: postgresUrl, max: 10 });
  pool.on("error", () => undefined);
  return postgresStorage({ pool });
}

async function openStorage({ redisUrl, ...urls }) {
  const tables = openTables(urls);
  if (tables) {
    // all processes do it at the same moment
    await tables.migrate();
    return tables;
  }
  const client = createClient({ url: redisUrl });
  client.on("error", () => undefined);
  await client.connect();
  return redisStorage({ client });
}

/** The route of each end: what it is to end is in the form. */
const endsOf = (auth) => ({
  "auth.consents.revoke": ({ subject, clientId, apiId }) =>
    auth.consents.revoke({ subject, clientId, apiId }),
  "auth.consents.narrow": ({ subject, clientId, apiId }) =>
    auth.consents.narrow({ subject, clientId, apiId, scopes: ["read"] }),
  "auth.authorizations.revoke": async ({ subject }) => {
    const { authorizations } = await auth.authorizations.list(subject);
    for (const { authorizationId } of authorizations)
      await auth.authorizations.revoke({ subject, authorizationId });
  },
  "auth.subjects.revoke": ({ subject }) => auth.subjects.revoke(subject),
  "auth.subjects.revoke with consents": ({ subject }) =>
    auth.subjects.revoke(subject, { consents: "revoke" }),
  "auth.subjects.erase": ({ subject }) => auth.subjects.erase(subject),
  "auth.clients.revoke": ({ clientId }) => auth.clients.revoke(clientId),
  "auth.apis.revoke": ({ apiId }) => auth.apis.revoke(apiId),
});

const audienceOf = (apiId) => `https://api.example/${apiId}`;

/** Routes by which the parent changes what the processes share. */
function addRoutes(app, { auth, storage, client, signOut }) {
  const form = express.urlencoded({ extended: false });
  const ends = endsOf(auth);
  app.post("/people/:subject/allow", form, async (req, res) => {
    const now = Math.floor(Date.now() / 1000);
    const { clientId, apiId, scope } = req.body;
    const { subject } = req.params;
    // what is allowed after an end of the API must outlast it
    const marks = await storage.endMarks.find([apiEndKey(audienceOf(apiId))], now);
    const consent = { subject, clientId, apiId, scopes: scope.split(" "), grantedAt: now };
    const endMarks = marks.filter((mark) => mark !== undefined);
    await storage.consents.save({ ...consent, expiresAt: now + 3_600, endMarks }, now);
    res.json({});
  });
  app.post("/ends/:name", form, async (req, res) => {
    const { name } = req.params;
    // a host ends its own sessions first
    if (name.startsWith("auth.subjects.")) signOut(req.body.subject);
    await ends[name](req.body);
    res.json({});
  });
  app.post("/assertions", form, async (req, res) => {
    const { digest, expiresAt } = req.body;
    const assertion = { digest, expiresAt: Number(expiresAt) };
    const outcome = await storage.clientAssertions.use(assertion, Math.floor(Date.now() / 1000));
    res.json({ outcome });
  });
  const { parkedRequests } = storage;
  app.post("/requests", form, async ({ body: { key, owner, expiresAt } }, res) => {
    const request = { key, owner, state: "open", expiresAt: Number(expiresAt) };
    const bound = { limit: 10_000, now: Math.floor(Date.now() / 1000) };
    res.json({ outcome: await parkedRequests.create(request, bound) });
  });
  app.get("/requests/:key", async ({ params: { key } }, res) => {
    res.json({ request: await parkedRequests.find(key, Math.floor(Date.now() / 1000)) });
  });
  app.post("/requests/:key", form, async ({ params: { key }, body: { as, by } }, res) => {
    const outcome = await parkedRequests.close({ key, as, by }, Math.floor(Date.now() / 1000));
    res.json({ outcome });
  });
  app.post("/clients/:clientId", form, async (req, res) => {
    const { apiIds, trusted } = req.body;
    const subscriptions = Object.fromEntries(apiIds.split(" ").map((apiId) => [apiId, {}]));
    const { clientId } = req.params;
    await storage.clients.save({ ...client, clientId, subscriptions, trusted: trusted === "true" });
    res.json({});
  });
  app.post("/clients/:clientId/delete", async (req, res) => {
    await storage.clients.delete(req.params.clientId);
    res.json({});
  });
}

async function start({ port, client, signedOutFolder, refreshRetrySeconds, ...settings }) {
  const { baseUrl, secrets, signingKeys, revocationLagSeconds, ...urls } = settings;
  const storage = await openStorage(urls);
  await storage.clients.save(client);
  // all processes see at once that a person has signed out of the host
  const markOf = (subject) => path.join(signedOutFolder, subject);
  const scopes = { read: "See them", write: "Change them" };
  const api = { authMethods: ["password"], accessTokenSeconds: 86_400, scopes };
  const auth = createAuthServer({
    baseUrl,
    secrets,
    signingKeys,
    storage,
    authMethods: {
      password: {
        authenticate: ({ loginHint: subject = "alice" }) =>
          existsSync(markOf(subject)) ? { kind: "denied" } : { kind: "authenticated", subject },
      },
    },
    apis: {
      orders: { ...api, audience: audienceOf("orders"), pushedRequests: "optional" },
      reports: {
        ...api,
        audience: audienceOf("reports"),
        accessTokenFormat: "opaque",
      },
    },
    lifetimes: { authorizationCodeSeconds: 600, refreshRetrySeconds },
    revocationLagSeconds,
    onEvent: ({ kind, cause }) => void (kind === "server-error" && complain(cause)),
  });
  const app = express();
  app.use(new URL(baseUrl).pathname, auth.router).use(auth.wellKnown);
  for (const id of ["orders", "reports"]) {
    app.get(`/${id}`, auth.requireBearer({ api: id }), (req, res) => void res.json(req.auth));
  }
  addRoutes(app, { auth, storage, client, signOut: (subject) => writeFileSync(markOf(subject), "") });
  const server = app.listen(port, "127.0.0.1", (error) => {
    if (error) throw error;
    process.send({ serves: true });
  });
  server.keepAliveTimeout = 0;
}

process.on("disconnect", () => process.exit());
process.once("message", (settings) => {
  start(settings).catch((error) => {
    complain(error);
    process.exit(1);
  });
});
