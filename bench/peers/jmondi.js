/**
 * `@jmondi/oauth2-server` with its Express adapter, on Maps.
 *
 * Its own `JwtService` signs with HS256 only, because it passes no algorithm on. So a service with `jsonwebtoken` and ES256
 * replaces it. Its options make codes and refresh tokens opaque: as JWTs, each would cost one more signature.
 */
"use strict";
const { createPublicKey, randomBytes, timingSafeEqual } = require("node:crypto");
const { AuthorizationServer, JwtService, OAuthException } = require("@jmondi/oauth2-server");
const adapter = require("@jmondi/oauth2-server/express");
const express = require("express");
const jwt = require("jsonwebtoken");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const { silent: _silent, protected: _protected, ...routes } = allRoutes();

const scope = { name: terms.scope };
const user = { id: terms.subject };
const client = {
  id: terms.clientId,
  name: "Benchmark",
  secret: terms.clientSecret,
  redirectUris: [terms.redirectUri],
  allowedGrants: ["authorization_code", "refresh_token", "client_credentials"],
  scopes: [scope],
};
const newToken = () => randomBytes(32).toString("base64url");

class Es256Service extends JwtService {
  constructor() {
    const privateKey = terms.newSigningKey();
    super(privateKey);
    this.privateKey = privateKey;
    this.publicKey = createPublicKey(privateKey);
  }
  async sign(payload) {
    return jwt.sign(payload, this.privateKey, { algorithm: "ES256" });
  }
  async verify(token, options) {
    return jwt.verify(token, this.publicKey, { ...options, algorithms: ["ES256"] });
  }
  extraTokenFields() {
    return { aud: "https://host.example/orders" };
  }
}

const clients = {
  async getByIdentifier(id) {
    if (id !== terms.clientId) throw OAuthException.invalidClient();
    return client;
  },
  async isClientValid(grant, ofClient, secret) {
    const [a, b] = [Buffer.from(secret), Buffer.from(ofClient.secret)];
    return a.length === b.length && timingSafeEqual(a, b) && ofClient.allowedGrants.includes(grant);
  },
};

const scopes = {
  getAllByIdentifiers: async (names) => (names.includes(terms.scope) ? [scope] : []),
  finalize: async (given) => given,
};

const users = { getUserByCredentials: async () => user };

/** The access tokens are signed, so a token is stored only if it comes with a refresh token. */
function newTokenStore() {
  const refreshTokens = new Map();
  return {
    issueToken: async (ofClient, ofScopes, ofUser) => ({
      accessToken: newToken(),
      accessTokenExpiresAt: new Date(),
      client: ofClient,
      user: ofUser,
      scopes: ofScopes,
    }),
    async issueRefreshToken(token) {
      token.refreshToken = newToken();
      token.refreshTokenExpiresAt = new Date(Date.now() + 14 * 86_400_000);
      refreshTokens.set(token.refreshToken, token);
      return token;
    },
    async persist() {},
    revoke: async (token) => void refreshTokens.delete(token.refreshToken),
    isRefreshTokenRevoked: async (token) => !refreshTokens.has(token.refreshToken),
    async getByRefreshToken(value) {
      const token = refreshTokens.get(value);
      if (!token) throw OAuthException.invalidGrant();
      return token;
    },
  };
}

function newCodeStore() {
  const codes = new Map();
  return {
    async getByIdentifier(value) {
      const code = codes.get(value);
      if (!code) throw OAuthException.invalidGrant();
      return code;
    },
    issueAuthCode: (ofClient, ofUser, ofScopes) => ({
      code: newToken(),
      expiresAt: new Date(),
      client: ofClient,
      user: ofUser,
      scopes: ofScopes,
    }),
    persist: async (code) => void codes.set(code.code, code),
    isRevoked: async (value) => !codes.has(value),
    revoke: async (value) => void codes.delete(value),
  };
}

function newAuthorizationServer() {
  const server = new AuthorizationServer(clients, newTokenStore(), scopes, new Es256Service(), {
    issuer: "https://host.example",
    useOpaqueAuthorizationCodes: true,
    useOpaqueRefreshTokens: true,
  });
  server.enableGrantTypes("client_credentials", "refresh_token", {
    grant: "authorization_code",
    authCodeRepository: newCodeStore(),
    userRepository: users,
  });
  return server;
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "@jmondi/oauth2-server",
  formats: ["jwt"],
  async start() {
    const server = newAuthorizationServer();
    const app = express();
    app.get("/authorize", async (req, res) => {
      if (req.headers.cookie !== terms.cookie) return res.redirect("/sign-in");
      try {
        const request = await server.validateAuthorizationRequest(adapter.requestFromExpress(req));
        request.user = user;
        request.isAuthorizationApproved = true;
        adapter.handleExpressResponse(res, await server.completeAuthorizationRequest(request));
      } catch (error) {
        adapter.handleExpressError(error, res);
      }
    });
    app.post("/token", express.urlencoded({ extended: false }), async (req, res) => {
      try {
        const answer = await server.respondToAccessTokenRequest(adapter.requestFromExpress(req));
        adapter.handleExpressResponse(res, answer);
      } catch (error) {
        adapter.handleExpressError(error, res);
      }
    });
    return { listener: app, routes };
  },
};
