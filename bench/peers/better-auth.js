/**
 * better-auth with its plugins `@better-auth/oauth-provider` and `jwt`, mounted in Express, on PostgreSQL at `BENCH_STORAGE_URL`. Its memory
 * storage searches all entries for each request, so it is measured only beside others over the same database.
 *
 * A refresh token needs the scope `offline_access`, and a JWT needs a `resource`, as its documentation says. It may remember the client,
 * the resource and the session (options `cachedTrustedClients`, `cachedResources` and `session.cookieCache`), because authmount's host
 * also looks up no session, and authmount remembers the client.
 *
 * `package.json` names `@better-auth/core` and `@better-auth/utils` too: npm would choose a newer core, which needs other utils than the plugin.
 */
"use strict";
const express = require("express");
const { ask, openPool } = require("../counted");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const { BENCH_STORAGE_URL: url = "" } = process.env;
const origin = "https://host.example";
const path = "/api/auth";
const resource = `${origin}/orders`;
const sessionSeconds = 86_400;

async function newOptions(pool) {
  const { jwt } = await import("better-auth/plugins");
  const { oauthProvider } = await import("@better-auth/oauth-provider");
  return {
    baseURL: origin,
    basePath: path,
    secret: terms.clientSecret,
    database: pool,
    emailAndPassword: { enabled: true },
    session: { cookieCache: { enabled: true, maxAge: sessionSeconds } },
    // an error goes to the handler below; otherwise it is printed with its stack, and a race of two requests for one code causes some
    logger: { disabled: true },
    onAPIError: { throw: true },
    // it allows 20 token requests a minute
    rateLimit: { enabled: false },
    plugins: [
      jwt({ jwks: { keyPairConfig: { alg: "ES256" } }, jwt: { issuer: origin } }),
      oauthProvider({
        loginPage: "/sign-in",
        consentPage: "/consent",
        scopes: [terms.scope, "offline_access"],
        resources: [resource],
        clientRegistrationDefaultResources: [resource],
        cachedTrustedClients: new Set([terms.clientId]),
        cachedResources: new Set([resource]),
        clientPrivileges: () => true,
        generateClientId: () => terms.clientId,
        generateClientSecret: () => terms.clientSecret,
      }),
    ],
  };
}

/** Creates the tables first, and removes what an earlier run on this database has left. */
async function newAuth(pool) {
  const { betterAuth } = await import("better-auth");
  const { getMigrations } = await import("better-auth/db/migration");
  const options = await newOptions(pool);
  const { runMigrations } = await getMigrations(options);
  await runMigrations();
  await pool.query('DELETE FROM "oauthClient"');
  await pool.query('DELETE FROM "user"');
  return betterAuth(options);
}

/** Returns the cookie of a person who has signed in, and their id. */
async function signUp(auth) {
  const body = { email: "alice@host.example", name: terms.subject, password: "a password of the benchmark" };
  const { headers, response } = await auth.api.signUpEmail({ body, returnHeaders: true });
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(";")[0]);
  return { cookie: cookies.join("; "), userId: response.user.id };
}

async function registerClient(auth, cookie) {
  await auth.api.adminCreateOAuthClient({
    headers: new Headers({ cookie }),
    body: {
      client_name: "Benchmark",
      redirect_uris: [terms.redirectUri],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_method: "client_secret_post",
      scope: `${terms.scope} offline_access`,
      client_credentials_scopes: [terms.scope],
    },
  });
}

async function giveConsent(auth, userId) {
  const { adapter } = await auth.$context;
  const now = new Date();
  const consent = { clientId: terms.clientId, userId, scopes: [terms.scope, "offline_access"] };
  await adapter.create({
    model: "oauthConsent",
    data: { ...consent, resources: [resource], createdAt: now, updatedAt: now },
  });
}

/** @param {{ cookie: string; format: import("../types").Format }} how */
function routesOf({ cookie, format }) {
  const paths = { authorizePath: `${path}/oauth2/authorize`, tokenPath: `${path}/oauth2/token` };
  const { authorize, clientCredentials, exchange, refresh } = allRoutes({ ...paths, cookie });
  const asked = format === "jwt" ? `&resource=${encodeURIComponent(resource)}` : "";
  const offline = authorize.path.replace(`scope=${terms.scope}`, `scope=${terms.scope}+offline_access`);
  return {
    authorize: { ...authorize, path: offline + asked },
    clientCredentials: { ...clientCredentials, body: clientCredentials.body + asked },
    exchange,
    refresh,
  };
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "better-auth",
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const { toNodeHandler } = await import("better-auth/node");
    const pool = openPool(url);
    const auth = await newAuth(pool);
    const { cookie, userId } = await signUp(auth);
    await registerClient(auth, cookie);
    await giveConsent(auth, userId);
    const handle = toNodeHandler(auth);
    const app = express();
    app.all(`${path}/*any`, (req, res) => {
      // the checks are sent with `fetch`, and it answers scripts in a browser with JSON instead of a redirect
      delete req.headers["sec-fetch-mode"];
      return handle(req, res).catch(() => res.sendStatus(500));
    });
    return { listener: app, routes: routesOf({ cookie, format }) };
  },
  ask,
};
