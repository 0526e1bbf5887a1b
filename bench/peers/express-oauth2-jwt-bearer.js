/** express-oauth2-jwt-bearer in front of an API; the tokens come from `jsonwebtoken`. */
"use strict";
const { createPublicKey } = require("node:crypto");
const express = require("express");
const { auth, requiredScopes } = require("express-oauth2-jwt-bearer");
const { newAccessTokens } = require("../access-tokens");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const issuer = "https://host.example";
const audience = "https://host.example/orders";

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "express-oauth2-jwt-bearer",
  formats: ["jwt"],
  async start() {
    const privateKey = terms.newSigningKey();
    // It accepts no KeyObject; it makes a key from the JWK at the first request, and keeps it.
    const publicKey = { ...createPublicKey(privateKey).export({ format: "jwk" }), alg: "ES256" };
    const app = express();
    const algorithm = { tokenSigningAlg: "ES256", strict: true, dpop: { enabled: false } };
    const bearer = auth({ issuer, audience, publicKey, ...algorithm });
    app.get("/orders", bearer, requiredScopes(terms.scope), (_req, res) => void res.json(terms.greeting));
    app.use((error, _req, res, _next) => {
      res
        .status(error.status ?? 500)
        .set(error.headers ?? {})
        .json({ error: error.code });
    });
    return {
      listener: app,
      routes: {
        protected: allRoutes().protected,
        accessTokens: newAccessTokens({ privateKey, issuer, audience }),
      },
    };
  },
};
