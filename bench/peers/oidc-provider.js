/**
 * oidc-provider, mounted in Express, with a Map as storage, or with `BENCH_STORAGE=redis` on the Redis at `BENCH_STORAGE_URL`. It has no
 * middleware for an API, so `protected` is left out.
 */
"use strict";
const express = require("express");
const { ask, openIoredis } = require("../counted");
const { allRoutes } = require("../request-templates");
const { newRedisAdapter } = require("../storages/oidc-provider-redis");
const terms = require("../terms");

const { BENCH_STORAGE = "memory", BENCH_STORAGE_URL: url = "" } = process.env;
const issuer = "https://host.example";
const resource = "https://host.example/orders";

function routesOf(cookie) {
  const { protected: userinfo, ...routes } = allRoutes({ authorizePath: "/auth", cookie });
  return terms.openid ? { ...routes, protected: userinfo } : routes;
}

/** Its own memory storage keeps only 1000 entries. This one searches all entries when a grant is revoked. */
class MapAdapter {
  constructor() {
    this.entries = new Map();
    this.idsByUid = new Map();
  }
  async upsert(id, payload) {
    this.entries.set(id, payload);
    if (payload.kind === "Session") this.idsByUid.set(payload.uid, id);
  }
  async find(id) {
    return this.entries.get(id);
  }
  async findByUid(uid) {
    return this.entries.get(this.idsByUid.get(uid));
  }
  async findByUserCode() {}
  async consume(id) {
    this.entries.get(id).consumed = Math.floor(Date.now() / 1000);
  }
  async destroy(id) {
    this.entries.delete(id);
  }
  async revokeByGrantId(grantId) {
    for (const [id, payload] of this.entries) if (payload.grantId === grantId) this.entries.delete(id);
  }
}

const client = {
  client_id: terms.clientId,
  client_secret: terms.clientSecret,
  token_endpoint_auth_method: "client_secret_post",
  redirect_uris: [terms.redirectUri],
  response_types: ["code"],
  grant_types: ["authorization_code", "refresh_token", "client_credentials"],
  id_token_signed_response_alg: "ES256",
};

const resourceServer = {
  scope: terms.scope,
  audience: resource,
  jwt: { sign: { alg: "ES256" } },
};

async function newGrant(provider) {
  const grant = new provider.Grant({ clientId: terms.clientId, accountId: terms.subject });
  if (terms.openid) grant.addOIDCScope(terms.scope);
  else grant.addResourceScope(resource, terms.scope);
  await grant.save();
  return grant;
}

/** What the person has consented to; consent is given again if a refresh token that came twice has revoked it. */
async function loadExistingGrant({ oidc: { provider, session } }) {
  return (await provider.Grant.find(session.grantIdFor(terms.clientId))) ?? newGrant(provider);
}

const newConfiguration = (format) => ({
  adapter: BENCH_STORAGE === "redis" ? newRedisAdapter(openIoredis(url)) : MapAdapter,
  clients: [client],
  // It accepts its keys as JWKs, and makes KeyObjects from them.
  jwks: { keys: [{ ...terms.newSigningKey().export({ format: "jwk" }), alg: "ES256", use: "sig" }] },
  findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...terms.claims }) }),
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    pushedAuthorizationRequests: { enabled: terms.openid },
    dPoP: { enabled: terms.openid },
    // its userinfo takes no token for a resource
    resourceIndicators: {
      enabled: !terms.openid,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ ...resourceServer, accessTokenFormat: format }),
    },
  },
  interactions: { url: () => "/sign-in" },
  loadExistingGrant,
  // Without openid there is no offline_access, which its default requires.
  issueRefreshToken: (_ctx, ofClient) => ofClient.grantTypeAllowed("refresh_token"),
  rotateRefreshToken: true,
  // With this option, each use of a code or refresh token would look up the session.
  expiresWithSession: () => false,
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 600,
    ClientCredentials: 3600,
    Grant: 14 * 86_400,
    Interaction: 3600,
    RefreshToken: 14 * 86_400,
    Session: 14 * 86_400,
  },
});

/** Returns the cookie of a person who has signed in and consented; its cookies are signed only if `cookies.keys` is set. */
async function signIn(provider) {
  const session = new provider.Session();
  session.loginAccount({ accountId: terms.subject });
  session.ensureClientContainer(terms.clientId);
  session.grantIdFor(terms.clientId, (await newGrant(provider)).jti);
  await session.save(14 * 86_400);
  return `${provider.cookieName("session")}=${session.jti}`;
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "oidc-provider",
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const { default: Provider } = await import("oidc-provider");
    const provider = new Provider(issuer, newConfiguration(format));
    const cookie = await signIn(provider);
    const app = express();
    app.use(provider.callback());
    return { listener: app, routes: routesOf(cookie) };
  },
  ask,
};
