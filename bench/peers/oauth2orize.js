/** oauth2orize on Express and Maps, with passport-http-bearer in front of the API; JWT access tokens come from `jsonwebtoken`. */
"use strict";
const { createHash, createPublicKey, randomBytes, randomUUID, timingSafeEqual } = require("node:crypto");
const express = require("express");
const jwt = require("jsonwebtoken");
const oauth2orize = require("oauth2orize");
const { Passport } = require("passport");
const { Strategy: BearerStrategy } = require("passport-http-bearer");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const issuer = "https://host.example";
const audience = "https://host.example/orders";

const { silent: _silent, ...routes } = allRoutes();

const client = { id: terms.clientId, secret: terms.clientSecret, redirectUri: terms.redirectUri };
const seconds = () => Math.floor(Date.now() / 1000);
const newToken = () => randomBytes(32).toString("base64url");

function isEqual(given, right) {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Random access tokens, stored in a Map without hashing. */
function opaqueTokens() {
  const tokens = new Map();
  return {
    issue(grant) {
      const token = newToken();
      tokens.set(token, { ...grant, expiresAt: seconds() + 3600 });
      return token;
    },
    find(token) {
      const grant = tokens.get(token);
      return grant && grant.expiresAt > seconds() ? grant : undefined;
    },
  };
}

function jwts() {
  const privateKey = terms.newSigningKey();
  const publicKey = createPublicKey(privateKey);
  return {
    issue: (grant) =>
      jwt.sign({ client_id: grant.clientId, scope: grant.scope.join(" ") }, privateKey, {
        algorithm: "ES256",
        header: { typ: "at+jwt" },
        issuer,
        audience,
        subject: grant.subject,
        jwtid: randomUUID(),
        expiresIn: 3600,
      }),
    find(token) {
      try {
        const claims = jwt.verify(token, publicKey, { algorithms: ["ES256"], issuer, audience });
        return { subject: claims.sub, clientId: claims.client_id, scope: claims.scope.split(" ") };
      } catch {
        return undefined;
      }
    },
  };
}

const isAllowed = (scope) => Array.isArray(scope) && scope.every((name) => name === terms.scope);

/** It does not support PKCE: its extension point reads the challenge, and code here compares it at the exchange. */
function readChallenge(req) {
  const { code_challenge: codeChallenge, code_challenge_method: method } = req.query;
  if (!codeChallenge || method !== "S256") {
    throw new oauth2orize.AuthorizationError("PKCE with S256 is needed", "invalid_request");
  }
  return { codeChallenge };
}

function isVerifier(given, challenge) {
  return (
    typeof given === "string" && isEqual(createHash("sha256").update(given).digest("base64url"), challenge)
  );
}

function registerCode(server, tokens, issueRefreshToken) {
  const codes = new Map();
  const newCode = oauth2orize.grant.code((ofClient, uri, user, _answer, request, done) => {
    const code = newToken();
    const { scope, codeChallenge } = request;
    const grant = { subject: user.id, clientId: ofClient.id, scope };
    codes.set(code, { grant, uri, codeChallenge, expiresAt: seconds() + 600 });
    done(null, code);
  });
  server.grant(newCode);
  server.grant("code", "request", readChallenge);
  server.exchange(
    oauth2orize.exchange.code((ofClient, code, uri, body, done) => {
      const saved = codes.get(code);
      codes.delete(code);
      if (!saved || saved.grant.clientId !== ofClient.id || saved.uri !== uri) return done(null, false);
      if (saved.expiresAt <= seconds() || !isVerifier(body.code_verifier, saved.codeChallenge)) {
        return done(null, false);
      }
      const more = { expires_in: 3600, scope: saved.grant.scope.join(" ") };
      done(null, tokens.issue(saved.grant), issueRefreshToken(saved.grant), more);
    }),
  );
}

function newOauthServer(tokens) {
  const server = oauth2orize.createServer();
  const refreshTokens = new Map();
  const issueRefreshToken = (grant) => {
    const token = newToken();
    refreshTokens.set(token, { grant, expiresAt: seconds() + 14 * 86_400 });
    return token;
  };
  registerCode(server, tokens, issueRefreshToken);
  server.exchange(
    oauth2orize.exchange.refreshToken((ofClient, token, _scope, done) => {
      const saved = refreshTokens.get(token);
      if (!saved || saved.grant.clientId !== ofClient.id || saved.expiresAt <= seconds()) {
        return done(null, false);
      }
      refreshTokens.delete(token);
      const more = { expires_in: 3600, scope: saved.grant.scope.join(" ") };
      done(null, tokens.issue(saved.grant), issueRefreshToken(saved.grant), more);
    }),
  );
  server.exchange(
    oauth2orize.exchange.clientCredentials((ofClient, scope, done) => {
      if (!isAllowed(scope)) return done(new oauth2orize.TokenError("Unknown scope", "invalid_scope"));
      const grant = { subject: ofClient.id, clientId: ofClient.id, scope };
      done(null, tokens.issue(grant), { expires_in: 3600, scope: scope.join(" ") });
    }),
  );
  return server;
}

/** Used instead of passport-oauth2-client-password. */
function requireClient(req, res, next) {
  const { client_id: id, client_secret: secret } = req.body;
  if (id !== client.id || typeof secret !== "string" || !isEqual(secret, client.secret)) {
    return res.status(401).json({ error: "invalid_client" });
  }
  req.user = client;
  next();
}

function requireSession(req, res, next) {
  if (req.headers.cookie !== terms.cookie) return res.redirect("/sign-in");
  req.user = { id: terms.subject };
  next();
}

function newBearer(tokens) {
  const passport = new Passport();
  const strategy = new BearerStrategy((token, done) => {
    const grant = tokens.find(token);
    done(null, grant ? { id: grant.subject } : false, grant && { scope: grant.scope });
  });
  return passport.use(strategy).authenticate("bearer", { session: false });
}

function validate(request, done) {
  const isKnown = request.clientID === client.id && request.redirectURI === client.redirectUri;
  if (!isKnown) return done(null, false);
  if (isAllowed(request.scope)) return done(null, client, client.redirectUri);
  done(new oauth2orize.AuthorizationError("Unknown scope", "invalid_scope"), client, client.redirectUri);
}

/** Everything is allowed at once, so that no transaction is stored in a session. */
const allow = (_transaction, done) => done(null, true);

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "oauth2orize",
  formats: ["opaque", "jwt"],
  async start({ format }) {
    const tokens = format === "jwt" ? jwts() : opaqueTokens();
    const server = newOauthServer(tokens);
    const app = express();
    app.get(
      "/authorize",
      requireSession,
      server.authorization(validate, allow),
      server.errorHandler({ mode: "indirect" }),
      server.errorHandler(),
    );
    app.post(
      "/token",
      express.urlencoded({ extended: false }),
      requireClient,
      server.token(),
      server.errorHandler(),
    );
    app.get("/orders", newBearer(tokens), (req, res) => {
      if (!req.authInfo.scope.includes(terms.scope)) return res.sendStatus(403);
      res.json(terms.greeting);
    });
    return { listener: app, routes };
  },
};
