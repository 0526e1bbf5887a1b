// @ts-check
/** The authorization server of the demo: two ways to sign in, two APIs, three valid pairs of them. */
const { createAuthServer, memoryStorage } = require("authmount");

/** @param {string} origin */
const demoApis = (origin) => ({
  orders: {
    name: "Orders",
    audience: `${origin}/api/orders`,
    authMethods: ["password", "otp"],
    scopes: { "orders:read": "See your orders", "orders:write": "Order things in your name" },
    defaultScopes: ["orders:read"],
    accessTokenSeconds: 600,
  },
  reports: {
    name: "Reports",
    audience: `${origin}/api/reports`,
    authMethods: ["otp"],
    scopes: { "reports:read": "Read your confidential reports" },
    scope: /** @type {const} */ ("required"),
    redirectUri: /** @type {const} */ ("optional"),
    accessTokenSeconds: 120,
    accessTokenFormat: /** @type {const} */ ("opaque"),
  },
});

/**
 * @param {{
 *   origin: string,
 *   clients: readonly import("authmount").Client[],
 *   sessions: import("./people").Sessions,
 *   onEvent: import("authmount").OnEvent,
 * }} options
 */
function createDemoAuthServer({ origin, clients, sessions, onEvent }) {
  /** @type {(method: import("./people").Method) => import("authmount").AuthMethod} */
  const bySession = (method) => ({
    authenticate: ({ req, reauthenticate }) =>
      (reauthenticate ? undefined : sessions.authentication(req, method)) ?? {
        kind: "interaction",
        url: `/signin/${method}`,
      },
  });
  return createAuthServer({
    baseUrl: `${origin}/login`,
    storage: memoryStorage({ clients }),
    authMethods: { password: bySession("password"), otp: bySession("otp") },
    apis: demoApis(origin),
    // every API call checks that the authorization is still valid, so a revocation takes effect at once
    revocationLagSeconds: 0,
    onEvent,
  });
}

module.exports = { createDemoAuthServer, demoApis };
