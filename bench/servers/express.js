// @ts-check
/** Bare Express: a route with JSON (F1), a form with constant JSON (F2), and the same with a signature by `jsonwebtoken` (F3). */
"use strict";
const express = require("express");
const jwt = require("jsonwebtoken");
const terms = require("../terms");

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "bare Express",
  formats: ["jwt"],
  async start() {
    const key = terms.newSigningKey();
    const app = express();
    app.get("/f1", (_req, res) => void res.json(terms.greeting));
    app.post("/f2", express.urlencoded({ extended: false }), (_req, res) => void res.json(terms.tokenAnswer));
    app.post("/f3", express.urlencoded({ extended: false }), (_req, res) => {
      const claims = { iss: "https://host.example", sub: terms.clientId, scope: terms.scope };
      const token = jwt.sign(claims, key, { algorithm: "ES256", expiresIn: 3600 });
      res.json({ ...terms.tokenAnswer, access_token: token });
    });
    return { listener: app, routes: {} };
  },
};
