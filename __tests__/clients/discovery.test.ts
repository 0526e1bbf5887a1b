/** Clients that know nothing but the URL of an API and their own credentials. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import {
  type Client,
  createAuthServer,
  generateClientSecret,
  generateSigningKey,
  memoryStorage,
} from "../../lib";
import { newWebBrowser } from "../servers/example";

const insecure = { [oauth.allowInsecureRequests]: true };
const { secret, digest } = generateClientSecret();

let server: Server;
let origin: string;

const apiUrl = (api = "orders"): URL => new URL(`${origin}/api/${api}`);
const redirectUri = (): string => `${origin}/callback`;

function confidential(clientId: string, members: Partial<Client> = {}): Client {
  return {
    clientId,
    name: clientId,
    confidential: true,
    secretDigests: [digest],
    redirectUris: [redirectUri()],
    subscriptions: { orders: {}, reports: {} },
    ...members,
  } as Client;
}

function mount(app: express.Express): void {
  const native: Client = {
    clientId: "native",
    name: "Phone App",
    confidential: false,
    platform: "native",
    redirectUris: [redirectUri().replace("localhost", "127.0.0.1")],
    subscriptions: { orders: {} },
  };
  const method = {
    authenticate: () => ({
      kind: "authenticated" as const,
      subject: "alice",
      authTime: Math.floor(Date.now() / 1000) - 10,
    }),
  };
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [confidential("portal", { trusted: true }), confidential("web"), native],
    }),
    authMethods: { password: method, otp: method },
    apis: {
      orders: {
        audience: apiUrl().href,
        authMethods: ["password", "otp"],
        scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
        acrValues: ["otp", "key"],
      },
      reports: {
        audience: apiUrl("reports").href,
        authMethods: ["otp"],
        scopes: { "reports:read": "Read your reports" },
        accessTokenFormat: "opaque",
      },
    },
    revocationLagSeconds: 0,
  });
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
  app.post("/api/orders", auth.requireBearer({ api: "orders", acr: ["otp", "key"], maxAge: 600 }));
  for (const api of ["orders", "reports"]) {
    app.get(`/api/${api}`, auth.requireBearer({ api, scope: `${api}:read` }), (req, res) => {
      res.json({ subject: req.auth?.subject, clientId: req.auth?.clientId });
    });
  }
}

beforeAll(async () => {
  const app = express();
  server = createServer(app).listen(0, "localhost");
  await new Promise((listening) => server.once("listening", listening));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  mount(app);
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

/** What a promise was rejected with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** RFC 9728 §5: from the challenge of the API to its metadata. */
async function discoverResource(api: URL): Promise<oauth.ResourceServer> {
  const refused = await fetch(api);
  expect(refused.status).toBe(401);
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const [, url = ""] = /^Bearer .*resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  return oauth.processResourceDiscoveryResponse(api, await fetch(url));
}

/** The first authorization server of the API. */
async function discoverIssuer(api = apiUrl()): Promise<URL> {
  const { authorization_servers: [issuer = ""] = [] } = await discoverResource(api);
  return new URL(issuer);
}

/** Alice allows what a page asks, if there is one. */
async function goThrough(url: URL, stopAt = redirectUri()): Promise<URL> {
  const browser = newWebBrowser();
  const page = await browser.open(url, stopAt);
  const last = page.status === 0 ? page : await browser.submit(page, { decision: "approve" }, stopAt);
  expect(last.url.href).toMatch(stopAt);
  return last.url;
}

describe("from the API to its authorization servers (RFC 9728 §5, 8414 §3)", () => {
  it("shows by its challenge the very document that is found by the API's URL", async () => {
    const found = await oauth.resourceDiscoveryRequest(apiUrl(), insecure);
    const metadata = await oauth.processResourceDiscoveryResponse(apiUrl(), found);
    expect(await discoverResource(apiUrl())).toEqual(metadata);
    expect(metadata).toMatchObject({
      resource: apiUrl().href,
      authorization_servers: ["password", "otp"].map((id) => `${origin}/login/auth/${id}/api/orders`),
      scopes_supported: ["orders:read", "orders:write"],
      bearer_methods_supported: ["header"],
    });
  });

  it("shows it to a library's own parser too, with a token that is none", async () => {
    const called = oauth.protectedResourceRequest("none", "GET", apiUrl(), undefined, null, insecure);
    expect(await rejection(called)).toMatchObject({
      status: 401,
      cause: [
        {
          scheme: "bearer",
          parameters: {
            error: "invalid_token",
            realm: apiUrl().href,
            resource_metadata: `${origin}/.well-known/oauth-protected-resource/api/orders`,
          },
        },
      ],
    });
  });

  it.each(["orders", "reports"])("leads to authorization servers that name the API: %s", async (api) => {
    const { authorization_servers = [] } = await discoverResource(apiUrl(api));
    expect(authorization_servers).not.toEqual([]);
    for (const issuer of authorization_servers.map((url) => new URL(url))) {
      const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
      const as = await oauth.processDiscoveryResponse(issuer, found);
      expect(as["protected_resources"]).toEqual([apiUrl(api).href]);
      const suffixed = await fetch(`${issuer.href}/.well-known/oauth-authorization-server`);
      expect(await suffixed.json()).toEqual(as);
    }
  });

  it("gives out one API's document for no other", async () => {
    const found = await oauth.resourceDiscoveryRequest(apiUrl(), insecure);
    const processed = oauth.processResourceDiscoveryResponse(apiUrl("reports"), found);
    expect(await rejection(processed)).toHaveProperty("code", oauth.JSON_ATTRIBUTE_COMPARISON);
  });
});

async function configure(clientId: string, api = apiUrl()): Promise<openid.Configuration> {
  const options = { algorithm: "oauth2" as const, execute: [openid.allowInsecureRequests] };
  return openid.discovery(await discoverIssuer(api), clientId, secret, undefined, options);
}

async function authorizeOpenid(config: openid.Configuration) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const resource = apiUrl().href;
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri(),
    scope: "orders:read",
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
    resource,
  });
  return { callback: await goThrough(url), checks: { pkceCodeVerifier, expectedState } };
}

async function obtainOpenid(config: openid.Configuration) {
  const { callback, checks } = await authorizeOpenid(config);
  return openid.authorizationCodeGrant(config, callback, checks, { resource: apiUrl().href });
}

async function callOpenid(config: openid.Configuration, token: string, api = apiUrl()): Promise<unknown> {
  return (await openid.fetchProtectedResource(config, token, api, "GET")).json();
}

describe("openid-client, by discovery alone (RFC 8414, 7636, 8707, 9207)", () => {
  it("finds out what the authorization server supports", async () => {
    const metadata = (await configure("web")).serverMetadata();
    expect(metadata.supportsPKCE()).toBe(true);
    expect(metadata).toMatchObject({
      authorization_response_iss_parameter_supported: true,
      jwks_uri: `${origin}/login/jwks`,
    });
  });

  it.each(["portal", "web"])("takes the code grant to the API and refreshes: %s", async (clientId) => {
    const config = await configure(clientId);
    const tokens = await obtainOpenid(config);
    expect(tokens).toMatchObject({ token_type: "bearer", expires_in: expect.any(Number) });
    expect(await callOpenid(config, tokens.access_token)).toEqual({ subject: "alice", clientId });
    const { refresh_token = "" } = tokens;
    const refreshed = await openid.refreshTokenGrant(config, refresh_token, { resource: apiUrl().href });
    expect(await callOpenid(config, refreshed.access_token)).toEqual({ subject: "alice", clientId });
  });

  it("refuses an answer whose iss is another one", async () => {
    const config = await configure("portal");
    const { callback, checks } = await authorizeOpenid(config);
    callback.searchParams.set("iss", `${origin}/login/auth/otp/api/orders`);
    const redeemed = openid.authorizationCodeGrant(config, callback, checks);
    expect(await rejection(redeemed)).toHaveProperty(
      "cause.message",
      'unexpected "iss" (issuer) response parameter value',
    );
  });

  it("is told of a resource that the authorization server does not serve", async () => {
    const config = await configure("portal");
    const granted = openid.clientCredentialsGrant(config, { resource: apiUrl("reports").href });
    expect(await rejection(granted)).toMatchObject({ error: "invalid_target", status: 400 });
  });

  it("gets client credentials, introspects and revokes the token (RFC 7662 §2, 7009 §2)", async () => {
    const config = await configure("portal");
    const resource = apiUrl().href;
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: "orders:read", resource });
    expect(await callOpenid(config, access_token)).toEqual({ clientId: "portal" });
    expect(await openid.tokenIntrospection(config, access_token)).toMatchObject({
      active: true,
      aud: resource,
      client_id: "portal",
      iss: config.serverMetadata().issuer,
      scope: "orders:read",
      token_type: "bearer",
    });
    await openid.tokenRevocation(config, access_token);
    expect(await openid.tokenIntrospection(config, access_token)).toEqual({ active: false });
    expect(await rejection(callOpenid(config, access_token))).toMatchObject({ status: 401 });
  });

  it("ends with its refresh token all that has come of it (RFC 7009 §2.1)", async () => {
    const config = await configure("web");
    const { access_token, refresh_token = "" } = await obtainOpenid(config);
    expect(await openid.tokenIntrospection(config, refresh_token)).toMatchObject({
      active: true,
      client_id: "web",
      sub: "alice",
    });
    await openid.tokenRevocation(config, refresh_token, { token_type_hint: "refresh_token" });
    expect(await openid.tokenIntrospection(config, refresh_token)).toEqual({ active: false });
    expect(await rejection(openid.refreshTokenGrant(config, refresh_token))).toMatchObject({
      error: "invalid_grant",
    });
    expect(await rejection(callOpenid(config, access_token))).toMatchObject({ status: 401 });
  });

  it("serves an API with opaque tokens, which has no keys to show", async () => {
    const config = await configure("portal", apiUrl("reports"));
    expect(config.serverMetadata()).not.toHaveProperty("jwks_uri");
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: "reports:read" });
    expect(access_token).not.toContain(".");
    expect(await callOpenid(config, access_token, apiUrl("reports"))).toEqual({ clientId: "portal" });
    expect(await openid.tokenIntrospection(config, access_token)).toMatchObject({
      active: true,
      aud: apiUrl("reports").href,
    });
  });
});

async function discover(api = apiUrl()): Promise<oauth.AuthorizationServer> {
  const issuer = await discoverIssuer(api);
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  return oauth.processDiscoveryResponse(issuer, found);
}

const identities = {
  portal: () => ({ authentication: oauth.ClientSecretBasic(secret), uri: redirectUri() }),
  web: () => ({ authentication: oauth.ClientSecretPost(secret), uri: redirectUri() }),
  native: () => ({
    authentication: oauth.None(),
    uri: redirectUri().replace("localhost", "127.0.0.1"),
  }),
};
type ClientId = keyof typeof identities;

const withResource = () => ({ ...insecure, additionalParameters: { resource: apiUrl().href } });

async function obtainTokens(as: oauth.AuthorizationServer, clientId: ClientId) {
  const client = { client_id: clientId };
  const { authentication, uri } = identities[clientId]();
  const codeVerifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint ?? "");
  url.search = new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    redirect_uri: uri,
    scope: "orders:read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
    resource: apiUrl().href,
  }).toString();
  const answer = oauth.validateAuthResponse(as, client, await goThrough(url, uri), state);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    answer,
    uri,
    codeVerifier,
    withResource(),
  );
  return oauth.processAuthorizationCodeResponse(as, client, response);
}

/** What a resource server of its own reads in a token, with the keys of `jwks_uri`. */
function validate(as: oauth.AuthorizationServer, token: string, audience = apiUrl().href) {
  const headers = { authorization: `Bearer ${token}` };
  return oauth.validateJwtAccessToken(as, new Request(apiUrl(), { headers }), audience, insecure);
}

async function callOrders(token: string): Promise<unknown> {
  return (await oauth.protectedResourceRequest(token, "GET", apiUrl(), undefined, null, insecure)).json();
}

async function introspect(as: oauth.AuthorizationServer, token: string) {
  const client = { client_id: "portal" };
  const { authentication } = identities.portal();
  const response = await oauth.introspectionRequest(as, client, authentication, token, insecure);
  return oauth.processIntrospectionResponse(as, client, response);
}

describe("oauth4webapi, by discovery alone (RFC 8414, 7636, 8707, 9207)", () => {
  it.each(["portal", "web", "native"] as const)(
    "takes the code grant to the API and refreshes: %s",
    async (clientId) => {
      const as = await discover();
      const client = { client_id: clientId };
      const { authentication } = identities[clientId]();
      const tokens = await obtainTokens(as, clientId);
      expect(await callOrders(tokens.access_token)).toEqual({ subject: "alice", clientId });
      const response = await oauth.refreshTokenGrantRequest(
        as,
        client,
        authentication,
        tokens.refresh_token ?? "",
        withResource(),
      );
      const refreshed = await oauth.processRefreshTokenResponse(as, client, response);
      expect(await callOrders(refreshed.access_token)).toEqual({ subject: "alice", clientId });
    },
  );

  it("validates a JWT access token with the keys of jwks_uri (RFC 9068 §4)", async () => {
    const as = await discover();
    const { access_token } = await obtainTokens(as, "web");
    expect(await validate(as, access_token)).toMatchObject({
      iss: as.issuer,
      aud: apiUrl().href,
      sub: "alice",
      client_id: "web",
      scope: "orders:read",
    });
    expect(await rejection(validate(as, access_token, apiUrl("reports").href))).toBeInstanceOf(Error);
    const tampered = access_token.replace(/\.[^.]{4}([^.]*)$/, ".AAAA$1");
    expect(await rejection(validate(as, tampered))).toBeInstanceOf(Error);
  });

  it("is told which sign-in a route needs, and how old it may be (RFC 9470 §3)", async () => {
    const { access_token } = await obtainTokens(await discover(), "web");
    const called = oauth.protectedResourceRequest(access_token, "POST", apiUrl(), undefined, null, insecure);
    const refused = await rejection(called);
    expect(refused).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    const error = "insufficient_user_authentication";
    const parameters = { error, acr_values: "otp key", max_age: "600" };
    expect(refused).toMatchObject({ status: 401, cause: [{ scheme: "bearer", parameters }] });
  });

  it("gets client credentials, introspects and revokes the token (RFC 7662 §2, 7009 §2)", async () => {
    const as = await discover();
    const client = { client_id: "portal" };
    const { authentication } = identities.portal();
    const parameters = { scope: "orders:read", resource: apiUrl().href };
    const { access_token } = await oauth.processClientCredentialsResponse(
      as,
      client,
      await oauth.clientCredentialsGrantRequest(as, client, authentication, parameters, insecure),
    );
    expect(await callOrders(access_token)).toEqual({ clientId: "portal" });
    expect(await validate(as, access_token)).toMatchObject({ sub: "portal", client_id: "portal" });
    expect(await introspect(as, access_token)).toMatchObject({ active: true, scope: "orders:read" });
    const revoked = await oauth.revocationRequest(as, client, authentication, access_token, insecure);
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
    expect(await introspect(as, access_token)).toEqual({ active: false });
    expect(await rejection(callOrders(access_token))).toMatchObject({ status: 401 });
  });

  it("revokes a public client's refresh token without a secret (RFC 7009 §2.1)", async () => {
    const as = await discover();
    const client = { client_id: "native" };
    const { access_token, refresh_token = "" } = await obtainTokens(as, "native");
    const revoked = await oauth.revocationRequest(as, client, oauth.None(), refresh_token, insecure);
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
    expect(await rejection(callOrders(access_token))).toMatchObject({ status: 401 });
  });
});
