// @ts-check
/** authmount with everything that strangers can ask, and a bare Express 401 in the same process, for `floods.js`. */
"use strict";
const { createPublicKey, randomBytes, scryptSync } = require("node:crypto");
const { createRequire } = require("node:module");
const { createAuthServer, memoryStorage } = require("../..");
const { clientOf, newSecrets } = require("../authmount-host");
const terms = require("../terms");

/** @type {typeof import("express")} */
const express = createRequire(require.resolve("../.."))("express");

/** How many clients are never looked up before an honest one of them comes. */
const unseen = 5_000;

/** The digest of a secret that a person has chosen. @param {string} secret */
function slowDigest(secret) {
  const salt = randomBytes(16);
  const hash = scryptSync(secret, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  return `scrypt:ln=14,r=8,p=1:${salt.toString("base64url")}:${hash.toString("base64url")}`;
}

/** @param {ReturnType<typeof newSecrets>} secrets @returns {import("../..").Client[]} */
function clientsOf(secrets) {
  const bench = clientOf(secrets);
  const publicKey = createPublicKey(secrets.signingKey).export({ format: "jwk" });
  const keys = /** @type {import("../..").PublicJwk[]} */ ([publicKey]);
  const { clientId, name, redirectUris, subscriptions } = bench;
  return [
    bench,
    ...Array.from({ length: unseen }, (_, number) => ({ ...bench, clientId: `unseen-${number}` })),
    { ...bench, clientId: "human", secretDigests: [slowDigest("a secret that a person has chosen")] },
    { clientId: "keyed", name, confidential: true, redirectUris, subscriptions, jwks: { keys } },
    { clientId: "public", name, confidential: false, platform: "native", redirectUris, subscriptions },
  ].map(
    (client) => /** @type {import("../..").Client} */ ({ ...client, clientId: client.clientId ?? clientId }),
  );
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "authmount and a bare Express 401",
  formats: ["jwt"],
  async start() {
    const secrets = newSecrets();
    const auth = createAuthServer({
      baseUrl: "https://host.example",
      storage: memoryStorage({ clients: clientsOf(secrets) }),
      secrets: ["b9fQ2mVx7LtR4wZ8kYb3NcHs6Jd1PgTe"],
      signingKeys: [secrets.signingKey],
      // it is refused in production: then such URLs are not fetched
      insecureLoopbackClients: process.env["NODE_ENV"] !== "production",
      apis: {
        orders: {
          audience: "https://host.example/orders",
          scopes: { [terms.scope]: "Read your orders" },
          authMethods: ["password"],
          clientMetadataDocuments: { accept: () => ({ kind: "accepted" }) },
          clientRegistration: { approve: () => ({ kind: "refused" }) },
        },
      },
      authMethods: { password: { authenticate: () => ({ kind: "interaction", url: "/sign-in" }) } },
    });
    const app = express();
    const refusal = { error: "invalid_client", error_description: "Client authentication failed." };
    app.get("/bare", (_req, res) => void res.status(401).json(refusal));
    app.post(
      "/bare",
      express.urlencoded({ extended: false }),
      (_req, res) => void res.status(401).json(refusal),
    );
    app.post("/bare-json", express.json(), (_req, res) => void res.status(401).json(refusal));
    app.get("/orders", auth.requireBearer({ api: "orders" }), (_req, res) => void res.json(terms.greeting));
    app.use(auth.router);
    const path = "/auth/password/api/orders/token";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = `grant_type=client_credentials&client_id={value}&client_secret=${secrets.clientSecret}`;
    return { listener: app, routes: { clientCredentials: { method: "POST", path, headers, body } } };
  },
};
