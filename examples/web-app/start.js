// @ts-check
/** Registers the web app and starts the authorization server. Then starts the app, which gets all its settings from its environment. */
const { generateClientSecret } = require("authmount");
const { startAuthorizationServer } = require("../authorization-server");

const { PORT = "4000" } = process.env;

async function start() {
  const { secret, digest } = generateClientSecret();
  const { issuer, apiUrl } = await startAuthorizationServer({
    clientId: "web-app",
    name: "Order Book",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [`http://localhost:${PORT}/callback`],
    subscriptions: { orders: {} },
  });
  const settings = { PORT, ISSUER: issuer, API_URL: apiUrl, CLIENT_ID: "web-app", CLIENT_SECRET: secret };
  Object.assign(process.env, settings);
  await import("./app.mjs");
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
