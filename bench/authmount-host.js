// @ts-check
/** The authmount host that is measured. It sets only the options that a host must set. */
"use strict";
const { createRequire } = require("node:module");
const { createAuthServer, generateClientSecret } = require("..");
const { allRoutes } = require("./request-templates");
const terms = require("./terms");

// the copy that the library loads: a host has one Express, but this folder has a second one for the peers
/** @type {typeof import("express")} */
const express = createRequire(require.resolve(".."))("express");

const authorizePath = "/auth/password/api/orders/authorize";
const tokenPath = "/auth/password/api/orders/token";
const pushPath = "/auth/password/api/orders/par";
const introspectPath = "/auth/password/api/orders/introspect";
const userinfoPath = "/auth/password/api/orders/userinfo";
const consentSeconds = 86_400;
/** Who signs in, in turn, as no person signs in a hundred times a second. W3b has one person do that. */
const subjects = Array.from({ length: 1_000 }, (_, number) => `${terms.subject}-${number}`);

/** Returns the registration of the client. @param {HostSecrets} secrets @returns {import("..").Client} */
function clientOf({ secretDigest }) {
  return {
    clientId: terms.clientId,
    name: "Benchmark",
    confidential: true,
    secretDigests: [secretDigest],
    redirectUris: [terms.redirectUri],
    subscriptions: { orders: {} },
  };
}

/** Stores everybody's consent, so that nobody is asked. @param {import("..").Storage} storage */
async function giveConsents(storage) {
  const now = Math.floor(Date.now() / 1000);
  for (const subject of subjects) {
    const key = { subject, clientId: terms.clientId, apiId: "orders" };
    const times = { grantedAt: now, expiresAt: now + consentSeconds };
    const consent = { ...key, scopes: terms.scope.split(" "), ...times, endMarks: [] };
    await storage.consents.save(consent, now);
  }
}

/**
 * @typedef {{ readonly clientSecret: string; readonly secretDigest: string; readonly signingKey: string }} HostSecrets
 *   What all processes of one server share; `signingKey` is PEM.
 * @typedef {HostSecrets & { readonly format: import("./types").Format; readonly storage: import("..").Storage; readonly baseUrl?: string }} HostOptions
 *   `BENCH_ACCESS_TOKEN_SECONDS` in the environment sets how long access tokens live.
 */

/** @returns {HostSecrets} */
function newSecrets() {
  const { secret: clientSecret, digest: secretDigest } = generateClientSecret();
  const signingKey = terms.newSigningKey().export({ type: "pkcs8", format: "pem" }).toString();
  return { clientSecret, secretDigest, signingKey };
}

/** @param {HostOptions} options */
function newAuthServer({ format, storage, signingKey, baseUrl = "https://host.example" }) {
  const { BENCH_ACCESS_TOKEN_SECONDS: seconds } = process.env;
  let visits = 0;
  return createAuthServer({
    baseUrl,
    storage,
    secrets: ["b9fQ2mVx7LtR4wZ8kYb3NcHs6Jd1PgTe"],
    signingKeys: [signingKey],
    apis: {
      orders: {
        audience: "https://host.example/orders",
        scopes: terms.openid ? {} : { [terms.scope]: "Read your orders" },
        ...(terms.openid && {
          openid: { claims: () => terms.claims, idTokenAlgorithm: "ES256" },
          pushedRequests: "optional",
          dpop: {},
        }),
        authMethods: ["password"],
        accessTokenFormat: format,
        ...(seconds !== undefined && { accessTokenSeconds: Number(seconds) }),
      },
    },
    authMethods: {
      password: {
        authenticate({ req }) {
          const { cookie = "" } = req.headers;
          if (cookie.startsWith(terms.cookieOf))
            return { kind: "authenticated", subject: cookie.slice(terms.cookieOf.length) };
          return cookie === terms.cookie
            ? { kind: "authenticated", subject: subjects[visits++ % subjects.length] ?? terms.subject }
            : { kind: "interaction", url: "/sign-in" };
        },
      },
    },
  });
}

/** @param {HostOptions} options @returns {Promise<import("./types").Server & { auth: import("..").AuthServer }>} */
async function startHost(options) {
  await giveConsents(options.storage);
  const auth = newAuthServer(options);
  const app = express();
  // ahead of the routers, because every layer ahead of a route costs that route time; F1 has none
  app.get("/orders", auth.requireBearer({ api: "orders", scope: terms.scope.split(" ") }), (_req, res) => {
    res.json(terms.greeting);
  });
  app.use(auth.router);
  app.use(auth.wellKnown);
  const routes = allRoutes({
    authorizePath,
    tokenPath,
    pushPath,
    introspectPath,
    userinfoPath,
    clientSecret: options.clientSecret,
  });
  const authorizeOne = { ...routes.authorize, headers: { cookie: `${terms.cookieOf}${subjects[0]}` } };
  return { listener: app, routes: { ...routes, authorizeOne }, auth };
}

module.exports = { clientOf, express, newSecrets, startHost };
