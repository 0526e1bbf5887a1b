/** `@modelcontextprotocol/sdk` v1: its authorization router and bearer middleware, with a provider on Maps. */
"use strict";
const { createPublicKey, randomBytes, randomUUID } = require("node:crypto");
const errors = require("@modelcontextprotocol/sdk/server/auth/errors.js");
const { requireBearerAuth } = require("@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js");
const { mcpAuthRouter } = require("@modelcontextprotocol/sdk/server/auth/router.js");
const express = require("express");
const jwt = require("jsonwebtoken");
const { allRoutes } = require("../request-templates");
const terms = require("../terms");

const issuer = "https://host.example/";
const audience = "https://host.example/orders";

/** It does not support client credentials or prompt=none. */
const { clientCredentials: _clientCredentials, silent: _silent, ...routes } = allRoutes();

const client = {
  client_id: terms.clientId,
  client_secret: terms.clientSecret,
  redirect_uris: [terms.redirectUri],
  scope: terms.scope,
};
const seconds = () => Math.floor(Date.now() / 1000);
const newToken = () => randomBytes(32).toString("base64url");

/** Random access tokens, stored in a Map without hashing. */
function opaqueTokens() {
  const tokens = new Map();
  return {
    issue(grant) {
      const token = newToken();
      tokens.set(token, { token, ...grant, expiresAt: seconds() + 3600 });
      return token;
    },
    async verify(token) {
      const info = tokens.get(token);
      if (!info) throw new errors.InvalidTokenError("Unknown token");
      return info;
    },
  };
}

function jwts() {
  const privateKey = terms.newSigningKey();
  const publicKey = createPublicKey(privateKey);
  return {
    issue: (grant) =>
      jwt.sign({ client_id: grant.clientId, scope: grant.scopes.join(" ") }, privateKey, {
        algorithm: "ES256",
        header: { typ: "at+jwt" },
        issuer,
        audience,
        subject: grant.extra.subject,
        jwtid: randomUUID(),
        expiresIn: 3600,
      }),
    async verify(token) {
      try {
        const claims = jwt.verify(token, publicKey, { algorithms: ["ES256"], issuer, audience });
        return {
          token,
          clientId: claims.client_id,
          scopes: claims.scope.split(" "),
          expiresAt: claims.exp,
          extra: { subject: claims.sub },
        };
      } catch {
        throw new errors.InvalidTokenError("Not a valid token");
      }
    },
  };
}

class Provider {
  constructor(tokens) {
    this.tokens = tokens;
    this.codes = new Map();
    this.refreshTokens = new Map();
    this.clientsStore = { getClient: (id) => (id === client.client_id ? client : undefined) };
    this.verifyAccessToken = tokens.verify;
  }

  async authorize(ofClient, { scopes, state, codeChallenge, redirectUri: uri }, res) {
    if (res.req.headers.cookie !== terms.cookie) return res.redirect("/sign-in");
    if (scopes.some((name) => name !== terms.scope)) throw new errors.InvalidScopeError("Unknown scope");
    const code = newToken();
    const grant = { clientId: ofClient.client_id, scopes, extra: { subject: terms.subject } };
    this.codes.set(code, { grant, codeChallenge, uri, expiresAt: seconds() + 600 });
    const target = new URL(uri);
    target.searchParams.set("code", code);
    if (state !== undefined) target.searchParams.set("state", state);
    res.redirect(target.href);
  }

  async challengeForAuthorizationCode(ofClient, code) {
    const saved = this.codes.get(code);
    if (saved?.grant.clientId !== ofClient.client_id) throw new errors.InvalidGrantError("Unknown code");
    return saved.codeChallenge;
  }

  /** The router has already compared the verifier. It leaves checking the redirect URI and the code's age to its provider. */
  async exchangeAuthorizationCode(_ofClient, code, _verifier, uri) {
    const saved = this.codes.get(code);
    this.codes.delete(code);
    if (!saved || saved.uri !== uri || saved.expiresAt <= seconds()) {
      throw new errors.InvalidGrantError("Unknown code");
    }
    return this.answer(saved.grant);
  }

  async exchangeRefreshToken(ofClient, token) {
    const saved = this.refreshTokens.get(token);
    if (saved?.grant.clientId !== ofClient.client_id || saved.expiresAt <= seconds()) {
      throw new errors.InvalidGrantError("Unknown refresh token");
    }
    this.refreshTokens.delete(token);
    return this.answer(saved.grant);
  }

  answer(grant) {
    const refreshToken = newToken();
    this.refreshTokens.set(refreshToken, { grant, expiresAt: seconds() + 14 * 86_400 });
    return {
      access_token: this.tokens.issue(grant),
      token_type: "bearer",
      expires_in: 3600,
      scope: grant.scopes.join(" "),
      refresh_token: refreshToken,
    };
  }
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "@modelcontextprotocol/sdk",
  formats: ["opaque", "jwt"],
  async start({ format }) {
    const provider = new Provider(format === "jwt" ? jwts() : opaqueTokens());
    const app = express();
    app.use(
      mcpAuthRouter({
        provider,
        issuerUrl: new URL(issuer),
        authorizationOptions: { rateLimit: false },
        tokenOptions: { rateLimit: false },
      }),
    );
    const bearer = requireBearerAuth({ verifier: provider, requiredScopes: [terms.scope] });
    app.get("/orders", bearer, (_req, res) => void res.json(terms.greeting));
    return { listener: app, routes };
  },
};
