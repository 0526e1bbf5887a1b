import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { AuthorizationCode, ClientCredentials } from "simple-oauth2";
import {
  answerPage,
  callApi,
  demo,
  goThrough,
  issuerOf,
  itHasPrintedNoFailure,
  metadataOf,
  orders,
  redirectUri,
  rejection,
  reports,
  scopeOf,
  secretOf,
  validPairs,
} from "../../__tests__/servers/demo";
import { newWebBrowser, type WebBrowser } from "../../__tests__/servers/example";

function configureOpenid(
  clientId: "web" | "portal" | "machine",
  pair = orders,
  authentication = openid.ClientSecretBasic(secretOf(clientId)),
): openid.Configuration {
  const config = new openid.Configuration(metadataOf(pair), clientId, undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

/** The callback URL of a whole authorization request, and the checks that belong to it. */
async function authorizeOpenid(
  config: openid.Configuration,
  { browser = newWebBrowser(), ...parameters }: { browser?: WebBrowser } & Record<string, unknown> = {},
) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri.web(),
    scope: "orders:read",
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
    ...parameters,
  });
  const callback = await goThrough(browser, url, redirectUri.web());
  return { callback, checks: { pkceCodeVerifier, expectedState } };
}

describe("openid-client", () => {
  it("takes a confidential client with PKCE through sign-in and consent to the API, and refreshes", async () => {
    const config = configureOpenid("web");
    const { callback, checks } = await authorizeOpenid(config, { scope: "orders:read orders:write" });
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    expect(tokens).toMatchObject({ token_type: "bearer", scope: "orders:read orders:write" });
    expect(tokens.expiresIn()).toBeGreaterThan(590);
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
    const url = new URL(`${demo.origin}/api/orders`);
    const answer = await openid.fetchProtectedResource(config, refreshed.access_token, url, "GET");
    expect(await answer.json()).toMatchObject({ orders: [{ of: "alice" }] });
  });

  it("serves the second authentication method and the opaque API", async () => {
    const config = configureOpenid("web", reports);
    const { callback, checks } = await authorizeOpenid(config, { scope: "reports:read" });
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    expect(tokens.access_token).not.toContain(".");
    expect(tokens.expires_in).toBe(120);
    expect((await callApi("reports", tokens.access_token)).status).toBe(200);
  });

  it("trusts the answer of its own issuer and of no other (RFC 9207 §2.4)", async () => {
    const { callback, checks } = await authorizeOpenid(configureOpenid("web"));
    const other = configureOpenid("web", { method: "otp", api: "orders" });
    const error = await rejection(openid.authorizationCodeGrant(other, callback, checks));
    expect(error).toHaveProperty("cause.message", 'unexpected "iss" (issuer) response parameter value');
  });

  it.each([
    ["client_secret_basic", openid.ClientSecretBasic],
    ["client_secret_post", openid.ClientSecretPost],
  ])("gets client credentials with %s", async (_, authentication) => {
    const config = configureOpenid("machine", orders, authentication(secretOf("machine")));
    const tokens = await openid.clientCredentialsGrant(config, { scope: "orders:read" });
    expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 600, scope: "orders:read" });
    expect(tokens).not.toHaveProperty("refresh_token");
    expect((await callApi("orders", tokens.access_token)).status).toBe(200);
  });

  it("asks nobody for a trusted client", async () => {
    const config = configureOpenid("portal");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri.portal(),
      scope: "orders:read",
    });
    const signIn = await browser.open(url);
    const { url: callback } = await answerPage(browser, signIn, redirectUri.portal());
    const tokens = await openid.authorizationCodeGrant(config, callback);
    expect(tokens.refresh_token).toEqual(expect.any(String));
  });
});

describe("openid-client, where it is refused", () => {
  it("is told that the end user has denied", async () => {
    const config = configureOpenid("web");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri.web(),
      state: "a state",
      prompt: "consent",
    });
    const consent = await answerPage(browser, await browser.open(url), undefined);
    const { url: callback } = await browser.submit(consent, { decision: "deny" }, redirectUri.web());
    const checks = { expectedState: "a state" };
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toBeInstanceOf(openid.AuthorizationResponseError);
    expect(error).toMatchObject({ error: "access_denied" });
  });

  it("is told that the end user has cancelled on the sign-in page", async () => {
    const config = configureOpenid("web");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, { redirect_uri: redirectUri.web(), state: "a state" });
    const signIn = await browser.open(url);
    const cancel = new URL(`/signin/cancel${signIn.url.search}`, demo.origin);
    const { url: callback } = await browser.submit({ ...signIn, url: cancel }, {}, redirectUri.web());
    const checks = { expectedState: "a state" };
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toMatchObject({ error: "access_denied" });
  });

  it("is told of a replayed code, which ends what the code has brought (RFC 6749 §4.1.2)", async () => {
    const config = configureOpenid("web");
    const { callback, checks } = await authorizeOpenid(config);
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toBeInstanceOf(openid.ResponseBodyError);
    expect(error).toMatchObject({ error: "invalid_grant", status: 400 });
    expect((await callApi("orders", tokens.access_token)).status).toBe(401);
    const refresh = openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    expect(await rejection(refresh)).toMatchObject({ error: "invalid_grant" });
  });

  it("is told of a wrong secret: in the body as an error, with Basic as a challenge (RFC 6749 §5.2)", async () => {
    const inBody = configureOpenid("machine", orders, openid.ClientSecretPost("a guess"));
    const byBasic = configureOpenid("machine", orders, openid.ClientSecretBasic("a guess"));
    expect(await rejection(openid.clientCredentialsGrant(inBody))).toMatchObject({
      error: "invalid_client",
      status: 401,
    });
    expect(await rejection(openid.clientCredentialsGrant(byBasic))).toMatchObject({
      code: "OAUTH_WWW_AUTHENTICATE_CHALLENGE",
      status: 401,
      cause: [{ scheme: "basic", parameters: { realm: issuerOf(orders) } }],
    });
  });

  it("is shown the challenges of the API (RFC 6750 §3)", async () => {
    const config = configureOpenid("machine");
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: "orders:read" });
    const call = (api: string, method: string) =>
      rejection(
        openid.fetchProtectedResource(config, access_token, new URL(`${demo.origin}/api/${api}`), method),
      );
    expect(await call("reports", "GET")).toMatchObject({
      status: 401,
      cause: [{ scheme: "bearer", parameters: { error: "invalid_token" } }],
    });
    expect(await call("orders", "POST")).toMatchObject({
      status: 403,
      cause: [{ scheme: "bearer", parameters: { error: "insufficient_scope", scope: "orders:write" } }],
    });
  });
});

const insecure = { [oauth.allowInsecureRequests]: true };

interface Request {
  readonly clientId: "native" | "browser";
  readonly pair?: typeof orders;
  readonly browser?: WebBrowser;
  readonly parameters?: Record<string, string>;
}

/** The answer of the authorization endpoint, not checked yet. */
async function authorize({ clientId, pair = orders, browser = newWebBrowser(), parameters }: Request) {
  const codeVerifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(metadataOf(pair).authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    redirect_uri: redirectUri[clientId](),
    scope: "orders:read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
    ...parameters,
  }).toString();
  const callback = await goThrough(browser, url, redirectUri[clientId]());
  return { callback, codeVerifier, state };
}

/** The tokens of a whole authorization code grant of a public client. */
async function obtainTokens(asked: Request): Promise<oauth.TokenEndpointResponse> {
  const as = metadataOf(asked.pair ?? orders);
  const client = { client_id: asked.clientId };
  const { callback, codeVerifier, state } = await authorize(asked);
  const answer = oauth.validateAuthResponse(as, client, callback, state);
  const uri = redirectUri[asked.clientId]();
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    answer,
    uri,
    codeVerifier,
    insecure,
  );
  return oauth.processAuthorizationCodeResponse(as, client, response);
}

describe("oauth4webapi", () => {
  it("takes a native client with a loopback redirect to the API, and refreshes without a secret", async () => {
    const tokens = await obtainTokens({ clientId: "native" });
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const response = await oauth.refreshTokenGrantRequest(
      as,
      client,
      oauth.None(),
      tokens.refresh_token ?? "",
      insecure,
    );
    const refreshed = await oauth.processRefreshTokenResponse(as, client, response);
    const url = new URL(`${demo.origin}/api/orders`);
    const call = await oauth.protectedResourceRequest(
      refreshed.access_token,
      "GET",
      url,
      undefined,
      null,
      insecure,
    );
    expect(call.status).toBe(200);
  });

  it.each(validPairs)("takes a browser client to the API at ($method, $api)", async (pair) => {
    const parameters = { scope: scopeOf[pair.api] ?? "" };
    const tokens = await obtainTokens({ clientId: "browser", pair, parameters });
    expect(tokens).not.toHaveProperty("refresh_token");
    expect((await callApi(pair.api, tokens.access_token)).status).toBe(200);
  });

  it("is told of a reused refresh token, which ends the new one too (RFC 9700 §4.14.2)", async () => {
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const refresh = async (token = "") => {
      const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, insecure);
      return oauth.processRefreshTokenResponse(as, client, response);
    };
    const first = await obtainTokens({ clientId: "native" });
    const second = await refresh(first.refresh_token);
    const third = await refresh(second.refresh_token);
    expect(await rejection(refresh(first.refresh_token))).toBeInstanceOf(oauth.ResponseBodyError);
    expect(await rejection(refresh(third.refresh_token))).toMatchObject({ error: "invalid_grant" });
  });
});

describe("oauth4webapi, where nobody is asked", () => {
  it("refreshes a browser client silently with prompt=none, without any page", async () => {
    const browser = newWebBrowser();
    const first = await obtainTokens({ clientId: "browser", browser });
    expect(first).not.toHaveProperty("refresh_token");
    const silent: WebBrowser = {
      open: (url, stopAt) => browser.open(url, stopAt),
      submit: () => Promise.reject(new Error("a page")),
      post: (url, body) => browser.post(url, body),
    };
    const second = await obtainTokens({
      clientId: "browser",
      browser: silent,
      parameters: { prompt: "none" },
    });
    expect(second.access_token).not.toBe(first.access_token);
    expect((await callApi("orders", second.access_token)).status).toBe(200);
  });

  it.each([
    ["login_required", { prompt: "none" }],
    ["invalid_request", { code_challenge: "", code_challenge_method: "" }],
    ["invalid_scope", { scope: "orders:delete" }],
    ["invalid_target", { resource: "https://other.example/" }],
  ])("is told %s by redirect", async (error, parameters) => {
    const { callback, state } = await authorize({ clientId: "browser", parameters });
    const validate = () =>
      oauth.validateAuthResponse(metadataOf(orders), { client_id: "browser" }, callback, state);
    expect(validate).toThrow(oauth.AuthorizationResponseError);
    expect(callback.searchParams.get("error")).toBe(error);
  });

  it("is told that a public client may not use client credentials (RFC 6749 §4.4)", async () => {
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const response = await oauth.clientCredentialsGrantRequest(as, client, oauth.None(), {}, insecure);
    const processed = oauth.processClientCredentialsResponse(as, client, response);
    expect(await rejection(processed)).toMatchObject({ error: "unauthorized_client", status: 400 });
  });
});

function configureSimple(clientId: "web" | "machine", authorizationMethod: "header" | "body") {
  const path = new URL(issuerOf(orders)).pathname;
  return {
    client: { id: clientId, secret: secretOf(clientId) },
    auth: { tokenHost: demo.origin, tokenPath: `${path}/token` },
    options: { authorizationMethod },
  };
}

function codeClient(method: "header" | "body"): AuthorizationCode {
  const { auth, ...config } = configureSimple("web", method);
  const authorizePath = `${new URL(issuerOf(orders)).pathname}/authorize`;
  return new AuthorizationCode({ ...config, auth: { ...auth, authorizePath } });
}

describe("simple-oauth2", () => {
  const methods = ["header", "body"] as const;

  it.each(methods)(
    "takes a client without PKCE to the API and refreshes, secret in the %s",
    async (method) => {
      const client = codeClient(method);
      const redirect_uri = redirectUri.web();
      const url = client.authorizeURL({ redirect_uri, scope: ["orders:read"], state: "a state" });
      const callback = await goThrough(newWebBrowser(), url, redirect_uri);
      expect(callback.searchParams.get("state")).toBe("a state");
      const code = callback.searchParams.get("code") ?? "";
      const first = await client.getToken({ code, redirect_uri });
      expect(first.expired()).toBe(false);
      const second = await first.refresh();
      expect(second.token["refresh_token"]).not.toBe(first.token["refresh_token"]);
      expect((await callApi("orders", second.token["access_token"])).status).toBe(200);
    },
  );

  it.each(methods)("gets client credentials, secret in the %s", async (method) => {
    const { token } = await new ClientCredentials(configureSimple("machine", method)).getToken({
      scope: "orders:read",
    });
    expect((await callApi("orders", token["access_token"])).status).toBe(200);
  });

  it("is told of a code that is none", async () => {
    const redeemed = codeClient("header").getToken({ code: "none", redirect_uri: redirectUri.web() });
    expect(await rejection(redeemed)).toMatchObject({
      output: { statusCode: 400 },
      data: { payload: { error: "invalid_grant" } },
    });
  });
});

itHasPrintedNoFailure();
