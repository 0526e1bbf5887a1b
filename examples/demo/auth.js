// @ts-check
/** The authorization server of the demo: two ways to sign in, two APIs, three valid pairs of them. */
const { createAuthServer } = require("authmount");
const { rateLimit } = require("../device-guesses");

/** @type {(origin: string, people: import("./people").People) => import("authmount").AuthServerOptions["apis"]} */
const demoApis = (origin, people) => ({
  orders: {
    name: "Orders",
    audience: `${origin}/api/orders`,
    authMethods: ["password", "otp"],
    scopes: { "orders:read": "See your orders", "orders:write": "Place orders for you" },
    defaultScopes: ["orders:read"],
    // what a sign-in can prove: a large order needs the one-time code
    acrValues: ["pwd", "otp"],
    unknownScopes: "refuse",
    // other apps may sign people in with this one
    openid: { claims: ({ subject }) => people.claimsOf(subject) },
    deviceAuthorization: true,
    accessTokenSeconds: 600,
    // a client whose answer was lost may repeat its refresh
    lifetimes: { refreshRetrySeconds: 30 },
  },
  reports: {
    name: "Reports",
    audience: `${origin}/api/reports`,
    authMethods: ["otp"],
    scopes: { "reports:read": "Read your confidential reports" },
    scope: "required",
    redirectUri: "optional",
    deviceAuthorization: true,
    accessTokenSeconds: 120,
    accessTokenFormat: "opaque",
  },
});

/**
 * By what people know a sign-in again, such as "Firefox on Linux". It consists of our own words: the header could say anything.
 *
 * @param {import("express").Request} req
 */
function browserOf(req) {
  const agent = req.get("user-agent") ?? "";
  // Edge calls itself Chrome as well, Chrome calls itself Safari, an iPhone Mac, and Android Linux
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name));
  const system = ["Windows", "Android", "iPhone", "Mac", "Linux"].find((name) => agent.includes(name));
  return `${browser?.replace("Edg", "Edge") ?? "Unknown browser"}${system ? ` on ${system}` : ""}`;
}

/** People read it, and clients are told. */
const description = "This account is disabled.";

/**
 * Is this person still active? Asked at every token, because a refresh token lives for months and nobody signs in meanwhile.
 *
 * @type {(people: import("./people").People) => import("authmount").TokenAdapter}
 */
const byPeople = (people) => ({
  decide({ subject, authorization }) {
    // without a person, the client asks for itself
    if (subject === undefined) return { kind: "issue" };
    if (!people.isActive(subject)) return { kind: "refuse", description, revoke: true };
    // the organization of the sign-in; whoever changes to another one later does not change this
    const org = authorization?.context?.key;
    return { kind: "issue", claims: { plan: people.planOf(subject), ...(org !== undefined && { org }) } };
  },
});

/**
 * The server, and the options that it has: the pages of portal.js read them as well.
 *
 * @param {{
 *   origin: string,
 *   storage: import("authmount").Storage,
 *   keys: Pick<import("authmount").AuthServerOptions, "secrets" | "signingKeys">,
 *   people: import("./people").People,
 *   sessions: import("./people").Sessions,
 *   onEvent: import("authmount").OnEvent,
 * }} options
 */
function createDemoAuthServer({ origin, storage, keys, people, sessions, onEvent }) {
  /** @type {(method: import("./people").Method) => import("authmount").AuthMethod} */
  const bySession = (method) => ({
    authenticate({ req, reauthenticate, acrValues }) {
      const found = reauthenticate ? undefined : sessions.authentication(req, method);
      if (!found) return { kind: "interaction", url: `/signin/${acrValues[0] === "otp" ? "otp" : method}` };
      // with decide alone, a client would send a disabled person to sign in again and again
      return people.isActive(found.subject)
        ? { ...found, signedInFrom: browserOf(req) }
        : { kind: "denied", description };
    },
    // an app asks for this. Any site can send people here, so the page asks them
    signOut: ({ req }) =>
      sessions.find(req) ? { kind: "interaction", url: "/signout" } : { kind: "signed-out" },
  });
  /** @type {import("authmount").AuthServerOptions} */
  const options = {
    baseUrl: `${origin}/login`,
    storage,
    ...keys,
    authMethods: { password: bySession("password"), otp: bySession("otp") },
    apis: demoApis(origin, people),
    tokens: byPeople(people),
    // every API call checks that the authorization is still valid, so a revocation takes effect at once
    revocationLagSeconds: 0,
    rateLimit,
    onEvent,
  };
  return { auth: createAuthServer(options), options };
}

module.exports = { createDemoAuthServer };
