// @ts-check
/** Registers the job, starts the authorization server, runs the job and ends. */
const { generateClientSecret } = require("authmount");
const { startAuthorizationServer } = require("../authorization-server");

async function start() {
  const { secret, digest } = generateClientSecret();
  const { issuer, apiUrl, close } = await startAuthorizationServer({
    clientId: "night-job",
    name: "Night Job",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [],
    subscriptions: { orders: { grantTypes: ["client_credentials"] } },
  });
  const settings = { ISSUER: issuer, API_URL: apiUrl, CLIENT_ID: "night-job", CLIENT_SECRET: secret };
  Object.assign(process.env, settings);
  await import("./job.mjs").finally(close);
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
