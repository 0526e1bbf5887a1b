/** `@node-oauth/express-oauth-server` on Maps; its model signs and checks JWT access tokens with `jsonwebtoken`. */
"use strict";
const { createPublicKey, randomUUID, timingSafeEqual } = require("node:crypto");
const OAuthServer = require("@node-oauth/express-oauth-server");
const express = require("express");
const jwt = require("jsonwebtoken");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const issuer = "https://host.example";
const audience = "https://host.example/orders";

const { silent: _silent, ...routes } = allRoutes();

const client = {
  id: terms.clientId,
  redirectUris: [terms.redirectUri],
  grants: ["authorization_code", "refresh_token", "client_credentials"],
};

/** @param {string} given */
function isClientSecret(given) {
  const [a, b] = [Buffer.from(given), Buffer.from(terms.clientSecret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What both formats need: the client, codes and refresh tokens, stored without hashing. */
function newModel() {
  const codes = new Map();
  const refreshTokens = new Map();
  return {
    /** The secret is null at the authorization endpoint, and undefined if the client has sent none. */
    getClient: (id, secret) =>
      id === terms.clientId &&
      (secret === null || (secret !== undefined && isClientSecret(secret))) &&
      client,
    getUserFromClient: () => ({ id: terms.clientId }),
    validateScope: (_user, _client, scope) =>
      scope?.every((name) => name === terms.scope) ? scope : undefined,
    verifyScope: (token, scope) => scope.every((name) => token.scope.includes(name)),
    saveAuthorizationCode(code, ofClient, user) {
      const saved = { ...code, client: ofClient, user };
      codes.set(code.authorizationCode, saved);
      return saved;
    },
    getAuthorizationCode: (code) => codes.get(code),
    revokeAuthorizationCode: (code) => codes.delete(code.authorizationCode),
    saveToken(token, ofClient, user) {
      const { refreshToken, refreshTokenExpiresAt, scope } = token;
      if (refreshToken) {
        const saved = { refreshToken, refreshTokenExpiresAt, scope, client: ofClient, user };
        refreshTokens.set(refreshToken, saved);
      }
      return { ...token, client: ofClient, user };
    },
    getRefreshToken: (token) => refreshTokens.get(token),
    revokeToken: (token) => refreshTokens.delete(token.refreshToken),
  };
}

/** Random access tokens, stored in a Map. */
function withOpaqueTokens(model) {
  const accessTokens = new Map();
  return {
    ...model,
    saveToken(token, ofClient, user) {
      const { accessToken, accessTokenExpiresAt, scope } = token;
      accessTokens.set(accessToken, { accessToken, accessTokenExpiresAt, scope, client: ofClient, user });
      return model.saveToken(token, ofClient, user);
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
    const model = format === "jwt" ? withJwts(newModel()) : withOpaqueTokens(newModel());
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
};
