/** passport-http-bearer in front of an API, without a session; the tokens are looked up in a Map by their SHA-256 digest. */
"use strict";
const { createHash, randomBytes } = require("node:crypto");
const express = require("express");
const { Passport } = require("passport");
const { Strategy } = require("passport-http-bearer");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const digestOf = (token) => createHash("sha256").update(token).digest("base64url");

/** The map in which the strategy's verify function finds tokens. */
function newTokenStore() {
  const tokens = new Map();
  return {
    issue() {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = Math.floor(Date.now() / 1000) + 3600;
      const { subject, clientId, scope } = terms;
      tokens.set(digestOf(token), { subject, clientId, scope: [scope], expiresAt });
      return token;
    },
    find(token) {
      const grant = tokens.get(digestOf(token));
      return grant && grant.expiresAt > Date.now() / 1000 ? grant : undefined;
    },
  };
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "passport-http-bearer",
  formats: ["opaque"],
  async start() {
    const store = newTokenStore();
    const passport = new Passport();
    passport.use(
      new Strategy((token, done) => {
        const grant = store.find(token);
        done(null, grant ? { id: grant.subject } : false, grant && { scope: grant.scope });
      }),
    );
    const app = express();
    app.get("/orders", passport.authenticate("bearer", { session: false }), (req, res) => {
      if (!req.authInfo.scope.includes(terms.scope)) return res.sendStatus(403);
      res.json(terms.greeting);
    });
    return {
      listener: app,
      routes: {
        protected: allRoutes().protected,
        accessTokens: (count) => Array.from({ length: count }, () => store.issue()),
      },
    };
  },
};
