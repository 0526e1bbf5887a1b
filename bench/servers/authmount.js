// @ts-check
/** authmount on its embedded storage, with the options that a host must give and no others. */
"use strict";
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("../..");
const terms = require("../terms");

const issuer = "/auth/password/api/orders";
const form = { "content-type": "application/x-www-form-urlencoded" };
const { secret, digest } = generateClientSecret();
const credentials = `client_id=${terms.clientId}&client_secret=${secret}`;
const redirectUri = encodeURIComponent(terms.redirectUri);
const asked = new URLSearchParams({
  response_type: "code",
  client_id: terms.clientId,
  redirect_uri: terms.redirectUri,
  scope: terms.scope,
  state: terms.state,
  code_challenge: terms.challenge,
  code_challenge_method: "S256",
}).toString();

/** @type {import("../types").Routes} */
const routes = {
  clientCredentials: {
    method: "POST",
    path: `${issuer}/token`,
    headers: form,
    body: `grant_type=client_credentials&scope=${terms.scope}&${credentials}`,
  },
  authorize: { method: "GET", path: `${issuer}/authorize?${asked}`, headers: { cookie: terms.cookie } },
  exchange: {
    method: "POST",
    path: `${issuer}/token`,
    headers: form,
    body: `grant_type=authorization_code&code={value}&code_verifier=${terms.verifier}&redirect_uri=${redirectUri}&${credentials}`,
  },
  refresh: {
    method: "POST",
    path: `${issuer}/token`,
    headers: form,
    body: `grant_type=refresh_token&refresh_token={value}&${credentials}`,
  },
  silent: {
    method: "GET",
    path: `${issuer}/authorize?${asked}&prompt=none`,
    headers: { cookie: terms.cookie },
  },
  protected: { method: "GET", path: "/orders", headers: { authorization: "Bearer {value}" } },
};

/** @param {{ format: import("../types").Format }} options */
async function newHost({ format }) {
  const now = Math.floor(Date.now() / 1000);
  const storage = memoryStorage({
    maxEntries: 10_000_000,
    clients: [
      {
        clientId: terms.clientId,
        name: "Benchmark",
        confidential: true,
        secretDigests: [digest],
        redirectUris: [terms.redirectUri],
        subscriptions: { orders: {} },
      },
    ],
  });
  const consent = {
    subject: terms.subject,
    clientId: terms.clientId,
    apiId: "orders",
    scopes: [terms.scope],
    grantedAt: now,
    expiresAt: now + 86_400,
  };
  await storage.consents.save(consent, now);
  const auth = createAuthServer({
    baseUrl: "https://host.example",
    storage,
    secrets: ["bench bench bench bench bench bench"],
    signingKeys: [terms.newSigningKey().export({ type: "pkcs8", format: "pem" }).toString()],
    apis: {
      orders: {
        audience: "https://host.example/orders",
        scopes: { [terms.scope]: "Read your orders" },
        authMethods: ["password"],
        accessTokenFormat: format,
      },
    },
    authMethods: {
      password: {
        authenticate: ({ req }) =>
          req.headers.cookie === terms.cookie
            ? { kind: "authenticated", subject: terms.subject }
            : { kind: "interaction", url: "/sign-in" },
      },
    },
  });
  const app = express();
  return { app, auth };
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "authmount",
  formats: ["jwt", "opaque"],
  async start(options) {
    const { app, auth } = await newHost(options);
    app.use(auth.router);
    app.use(auth.wellKnown);
    app.get("/orders", auth.requireBearer({ api: "orders", scope: terms.scope }), (_req, res) => {
      res.json(terms.greeting);
    });
    return { listener: app, routes };
  },
};
