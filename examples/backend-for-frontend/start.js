// @ts-check
/** Registers the backend and starts the authorization server. Then starts the backend, which gets all its settings from its environment. */
const { generateClientSecret } = require("authmount");
const { startAuthorizationServer } = require("../authorization-server");

const { PORT = "4000" } = process.env;

async function start() {
  const { secret, digest } = generateClientSecret();
  const { issuer, apiUrl } = await startAuthorizationServer({
    clientId: "order-desk",
    name: "Order Desk",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [`http://localhost:${PORT}/callback`],
    subscriptions: { orders: {} },
  });
  const settings = { PORT, ISSUER: issuer, API_URL: apiUrl, CLIENT_ID: "order-desk", CLIENT_SECRET: secret };
  Object.assign(process.env, settings);
  await import("./backend.mjs");
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
