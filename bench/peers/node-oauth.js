/**
 * `@node-oauth/express-oauth-server`, which is `@node-oauth/oauth2-server` for Express, on Maps, or with `BENCH_STORAGE=postgres` on
 * PostgreSQL at `BENCH_STORAGE_URL`. Its model signs and checks JWT access tokens with `jsonwebtoken`.
 */
"use strict";
const { createPublicKey, randomUUID, timingSafeEqual } = require("node:crypto");
const OAuthServer = require("@node-oauth/express-oauth-server");
const express = require("express");
const jwt = require("jsonwebtoken");
const { ask, openPool } = require("../counted");
const { allRoutes } = require("../request-templates");
const { openPostgresTables } = require("../storages/node-oauth-postgres");
const terms = require("../terms");

const { BENCH_STORAGE = "memory", BENCH_STORAGE_URL: url = "" } = process.env;
const issuer = "https://host.example";
const audience = "https://host.example/orders";

const { silent: _silent, ...routes } = allRoutes();

const client = {
  id: terms.clientId,
  secret: terms.clientSecret,
  redirectUris: [terms.redirectUri],
  grants: ["authorization_code", "refresh_token", "client_credentials"],
};

/** What the model stores its records in: Maps, or tables with the same methods. */
async function openTables() {
  const tables =
    BENCH_STORAGE === "postgres"
      ? await openPostgresTables(openPool(url))
      : { clients: new Map(), codes: new Map(), accessTokens: new Map(), refreshTokens: new Map() };
  await tables.clients.set(client.id, client);
  return tables;
}

/** @param {string} given @param {string} stored */
function isClientSecret(given, stored) {
  const [a, b] = [Buffer.from(given), Buffer.from(stored)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What both formats need: the client, codes and refresh tokens, stored without hashing. */
function newModel({ clients, codes, refreshTokens }) {
  return {
    /** The secret is null at the authorization endpoint, and undefined if the client has sent none. */
    async getClient(id, secret) {
      const found = await clients.get(id);
      if (!found || secret === null) return found;
      return secret !== undefined && isClientSecret(secret, found.secret) && found;
    },
    getUserFromClient: () => ({ id: terms.clientId }),
    validateScope: (_user, _client, scope) =>
      scope?.every((name) => name === terms.scope) ? scope : undefined,
    verifyScope: (token, scope) => scope.every((name) => token.scope.includes(name)),
    async saveAuthorizationCode(code, ofClient, user) {
      const saved = { ...code, client: ofClient, user };
      await codes.set(code.authorizationCode, saved);
      return saved;
    },
    getAuthorizationCode: (code) => codes.get(code),
    revokeAuthorizationCode: (code) => codes.delete(code.authorizationCode),
    async saveToken(token, ofClient, user) {
      const { refreshToken, refreshTokenExpiresAt, scope } = token;
      if (refreshToken) {
        const saved = { refreshToken, refreshTokenExpiresAt, scope, client: ofClient, user };
        await refreshTokens.set(refreshToken, saved);
      }
      return { ...token, client: ofClient, user };
    },
    getRefreshToken: (token) => refreshTokens.get(token),
    revokeToken: (token) => refreshTokens.delete(token.refreshToken),
  };
}

/** Random access tokens, stored beside the refresh tokens. */
function withOpaqueTokens(model, { accessTokens }) {
  return {
    ...model,
    async saveToken(token, ofClient, user) {
      const { accessToken, accessTokenExpiresAt, scope } = token;
      const saved = { accessToken, accessTokenExpiresAt, scope, client: ofClient, user };
      const [, answer] = await Promise.all([
        accessTokens.set(accessToken, saved),
        model.saveToken(token, ofClient, user),
      ]);
      return answer;
    },
    getAccessToken: (token) => accessTokens.get(token),
  };
}

/** Signed access tokens, which are not stored. */
function withJwts(model) {
  const privateKey = terms.newSigningKey();
  const publicKey = createPublicKey(privateKey);
  return {
    ...model,
    generateAccessToken: (ofClient, user, scope) =>
      jwt.sign({ client_id: ofClient.id, scope: scope.join(" ") }, privateKey, {
        algorithm: "ES256",
        header: { typ: "at+jwt" },
        issuer,
        audience,
        subject: user.id,
        jwtid: randomUUID(),
        expiresIn: 3600,
      }),
    getAccessToken(token) {
      try {
        const claims = jwt.verify(token, publicKey, { algorithms: ["ES256"], issuer, audience });
        return {
          accessToken: token,
          accessTokenExpiresAt: new Date(claims.exp * 1000),
          scope: claims.scope.split(" "),
          client: { id: claims.client_id },
          user: { id: claims.sub },
        };
      } catch {
        return undefined;
      }
    },
  };
}

function requireSession(req, res, next) {
  if (req.headers.cookie !== terms.cookie) return res.redirect("/sign-in");
  req.user = { id: terms.subject };
  next();
}

const person = { handle: (request) => request.user };

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "@node-oauth/express-oauth-server",
  formats: ["opaque", "jwt"],
  async start({ format }) {
    const tables = await openTables();
    const plain = newModel(tables);
    const model = format === "jwt" ? withJwts(plain) : withOpaqueTokens(plain, tables);
    const oauth = new OAuthServer({
      model,
      accessTokenLifetime: 3600,
      authorizationCodeLifetime: 600,
      addAcceptedScopesHeader: false,
      addAuthorizedScopesHeader: false,
    });
    const app = express();
    app.get("/authorize", requireSession, oauth.authorize({ authenticateHandler: person }));
    app.post("/token", express.urlencoded({ extended: false }), oauth.token());
    app.get("/orders", oauth.authenticate({ scope: terms.scope }), (_req, res) => {
      res.json(terms.greeting);
    });
    return { listener: app, routes };
  },
  ask,
};
