// @ts-check
/** Registers the program, starts the authorization server, runs the program once and says how to run it again. */
const { spawn } = require("node:child_process");
const path = require("node:path");
const { startAuthorizationServer } = require("../authorization-server");

/** A client without a list of grants may not use the device grant. @type {import("authmount").GrantType[]} */
const grantTypes = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];
const program = path.join(__dirname, "orders.mjs");

async function start() {
  const { issuer, apiUrl } = await startAuthorizationServer({
    clientId: "orders",
    name: "Orders on the command line",
    confidential: false,
    platform: "native",
    dpopBound: true,
    // the program chooses the port when it runs
    redirectUris: ["http://127.0.0.1/callback"],
    subscriptions: { orders: { grantTypes } },
  });
  const env = { ISSUER: issuer, API_URL: apiUrl, CLIENT_ID: "orders" };
  const run = spawn(process.execPath, [program], { stdio: "inherit", env: { ...process.env, ...env } });
  const line = Object.entries(env).map((pair) => pair.join("="));
  process.once("SIGTERM", () => process.exit(run.kill() ? 0 : 1));
  run.once("exit", () => {
    console.log(`
Run it again, in another terminal; Ctrl-C ends the server:
${[...line, "node", program].join(" ")}`);
  });
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
