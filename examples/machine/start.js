// @ts-check
/** Registers the job, starts the authorization server, runs the job and ends. */
const { generateClientKey, generateClientSecret } = require("authmount");
const { startAuthorizationServer } = require("../authorization-server");

const { PROOF = "secret" } = process.env;

/** What goes into the client record, and what the job gets. The server keeps nothing that could prove the job. */
function generateProof() {
  if (PROOF === "key") {
    const { privateKey, jwks } = generateClientKey();
    return { registered: { jwks, dpopBound: true }, settings: { CLIENT_KEY: JSON.stringify(privateKey) } };
  }
  const { secret, digest } = generateClientSecret();
  return { registered: { secretDigests: [digest] }, settings: { CLIENT_SECRET: secret } };
}

async function start() {
  const { registered, settings } = generateProof();
  const { issuer, apiUrl, close } = await startAuthorizationServer({
    clientId: "night-job",
    name: "Night Job",
    confidential: true,
    ...registered,
    redirectUris: [],
    subscriptions: { orders: { grantTypes: ["client_credentials"] } },
  });
  Object.assign(process.env, { ISSUER: issuer, API_URL: apiUrl, CLIENT_ID: "night-job", ...settings });
  await import("./job.mjs").finally(close);
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
