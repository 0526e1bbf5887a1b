// @ts-check
/** The first process: prepares the storage, keeps the workers running, deletes what has expired. It serves no requests. */
const { randomBytes, randomUUID } = require("node:crypto");
const os = require("node:os");
const path = require("node:path");
const { generateClientSecret, generateSigningKey } = require("authmount");
const { openStorage } = require("./storage");

// the cast is needed because the types of node:cluster describe an ES module only
const cluster = /** @type {import("node:cluster").Cluster} */ (
  /** @type {unknown} */ (require("node:cluster"))
);
const { PORT = "3000", WORKERS = Math.max(2, os.availableParallelism()) } = process.env;
const { SECRETS, SESSION_SECRET, SIGNING_KEYS, PASSWORD } = process.env;
const origin = `http://localhost:${PORT}`;

/**
 * Settings that must be the same in every worker. Those that you set outlive a restart; generated ones last as long as this
 * process. A variable that is set to an empty string counts as not set.
 */
const shared = {
  ...process.env,
  SECRETS: SECRETS || randomBytes(32).toString("base64url"),
  SESSION_SECRET: SESSION_SECRET || randomBytes(32).toString("base64url"),
  SIGNING_KEYS: SIGNING_KEYS || JSON.stringify([generateSigningKey()]),
  PASSWORD: PASSWORD || randomUUID(),
};

/** @param {import("authmount/postgres").ClientRegistry} clients */
async function registerShop(clients) {
  const { secret, digest } = generateClientSecret();
  await clients.save({
    clientId: "shop",
    name: "Shop",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [`${origin}/`],
    subscriptions: { orders: {} },
  });
  return secret;
}

async function start() {
  const { storage, migrate, deleteExpired, close } = await openStorage();
  await migrate();
  const secret = await registerShop(storage.clients);

  const cleaning = setInterval(() => {
    deleteExpired().catch((error) => console.error("deleteExpired", error));
  }, 60_000);

  const issuer = `${origin}/oauth/auth/account/api/orders`;
  const help = `Sign in with ${PASSWORD ? "your PASSWORD" : shared.PASSWORD} at ${issuer}/authorize?client_id=shop&response_type=code&scope=read&redirect_uri=${origin}/
then curl -u shop:${secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
then curl -H "Authorization: Bearer THE_TOKEN" ${origin}/orders`;

  let stopping = false;
  let hasServed = false;
  const startWorker = () => void (stopping || cluster.fork(shared));
  cluster.setupPrimary({ exec: path.join(__dirname, "host.js") });
  cluster.on("listening", ({ process: { pid } }) => {
    console.log(`worker ${pid} serves`);
    if (!hasServed) console.log(help);
    hasServed = true;
  });
  cluster.on("exit", ({ process: { pid } }, code, signal) => {
    console.log(`worker ${pid} has ended (${signal ?? code})`);
    // the port is taken, for example: the next worker would fail, too
    if (!hasServed) void stop(1);
    // wait a second: a worker that cannot start must not keep the machine busy
    else if (!stopping) setTimeout(startWorker, 1_000);
  });
  for (let index = 0; index < Number(WORKERS); index += 1) startWorker();

  async function stop(exitCode = 0) {
    if (stopping) return;
    stopping = true;
    clearInterval(cleaning);
    const workers = Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
    const ended = workers.map((worker) => new Promise((resolve) => worker.once("exit", resolve)));
    for (const worker of workers) worker.process.kill("SIGTERM");
    await Promise.all(ended);
    await close();
    process.exit(exitCode); // a connection that arrived too late may still be open here
  }
  process.on("SIGTERM", () => void stop()).on("SIGINT", () => void stop());
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
