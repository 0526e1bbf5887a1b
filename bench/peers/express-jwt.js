/** express-jwt in front of an API, with a hand-written scope check because it has none; the tokens come from `jsonwebtoken`. */
"use strict";
const { createPublicKey } = require("node:crypto");
const express = require("express");
const { expressjwt } = require("express-jwt");
const { newAccessTokens } = require("../access-tokens");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const issuer = "https://host.example";
const audience = "https://host.example/orders";

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "express-jwt",
  formats: ["jwt"],
  async start() {
    const privateKey = terms.newSigningKey();
    const secret = createPublicKey(privateKey);
    const app = express();
    const bearer = expressjwt({ secret, algorithms: ["ES256"], issuer, audience });
    app.get("/orders", bearer, (req, res) => {
      if (!req.auth.scope?.split(" ").includes(terms.scope)) return res.sendStatus(403);
      res.json(terms.greeting);
    });
    app.use((error, _req, res, _next) => {
      res.status(error.status ?? 500).json({ error: error.code });
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
