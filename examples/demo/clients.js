// @ts-check
/** The registered clients, one of each kind, and the secrets of the confidential ones. */
const { generateClientSecret } = require("authmount");

/** @param {string} origin */
function registerClients(origin) {
  const web = generateClientSecret();
  const portal = generateClientSecret();
  const machine = generateClientSecret();
  const everything = { orders: {}, reports: {} };
  /** @type {import("authmount").GrantType[]} */
  const grantTypes = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];
  /** @type {import("authmount").Client[]} */
  const clients = [
    {
      clientId: "web",
      name: "Web Shop",
      confidential: true,
      secretDigests: [web.digest],
      redirectUris: [`${origin}/web/callback`],
      subscriptions: everything,
    },
    {
      clientId: "portal",
      name: "Company Portal",
      confidential: true,
      trusted: true,
      secretDigests: [portal.digest],
      redirectUris: [`${origin}/portal/callback`],
      subscriptions: everything,
    },
    {
      clientId: "native",
      name: "Phone App",
      confidential: false,
      platform: "native",
      // the app chooses the port when it runs
      redirectUris: ["http://127.0.0.1/native/callback"],
      // it may also ask as a device without a browser
      subscriptions: { orders: { grantTypes }, reports: { grantTypes } },
    },
    {
      clientId: "browser",
      name: "Browser App",
      confidential: false,
      platform: "browser",
      redirectUris: [`${origin}/browser/callback`],
      // on http://localhost people are asked every time, so silent refresh only works for a trusted client
      subscriptions: { orders: { trusted: true }, reports: { trusted: true } },
    },
    {
      clientId: "machine",
      name: "Night Job",
      confidential: true,
      secretDigests: [machine.digest],
      redirectUris: [],
      subscriptions: {
        orders: { grantTypes: ["client_credentials"] },
        reports: { grantTypes: ["client_credentials"] },
      },
    },
  ];
  return { clients, secrets: { web: web.secret, portal: portal.secret, machine: machine.secret } };
}

module.exports = { registerClients };
