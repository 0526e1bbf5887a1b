/** express-jwt before an API, with a check of the scope by hand as it has none; the tokens come from `jsonwebtoken`. */
"use strict";
const { createPublicKey, randomUUID } = require("node:crypto");
const express = require("express");
const { expressjwt } = require("express-jwt");
const jwt = require("jsonwebtoken");
const terms = require("../terms");

const issuer = "https://host.example";
const audience = "https://host.example/orders";

const newTokens = (privateKey) => (count) =>
  Array.from({ length: count }, () =>
    jwt.sign({ client_id: terms.clientId, scope: terms.scope }, privateKey, {
      algorithm: "ES256",
      header: { typ: "at+jwt" },
      issuer,
      audience,
      subject: terms.subject,
      jwtid: randomUUID(),
      expiresIn: 3600,
    }),
  );

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
        protected: { method: "GET", path: "/orders", headers: { authorization: "Bearer {value}" } },
        accessTokens: newTokens(privateKey),
      },
    };
  },
};
