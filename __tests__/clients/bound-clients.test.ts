/** Client libraries that bind their tokens to a key (RFC 9449), over HTTP, below several mounts and in front of them. */
import type { RequestListener } from "node:http";
import express from "express";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { type AuthServer, type Client, createAuthServer, generateSigningKey, memoryStorage } from "../../lib";
import { express4 } from "../servers/express4";
import { serverForEachTest, visit } from "../servers/free-port";

const insecure = { [oauth.allowInsecureRequests]: true };
const redirectUri = "http://127.0.0.1/callback";
const client: Client = {
  clientId: "desk",
  name: "Desk App",
  confidential: false,
  platform: "native",
  redirectUris: [redirectUri],
  trusted: true,
  dpopBound: true,
  subscriptions: { orders: {} },
};

/** The routes of the host that are protected: they tell whose token has come. */
function routesOf(auth: AuthServer, make: typeof express): express.Router {
  return make
    .Router()
    .get("/orders/:id", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => {
      res.json({ for: auth.accessToken(req).subject });
    });
}

/** How a host puts the server into its app. */
type Put = (auth: AuthServer, mount: string) => RequestListener;

const behind =
  (make: typeof express): Put =>
  (auth, mount) =>
    make().use(mount, auth.router).use(auth.wellKnown).use("/api/v1", routesOf(auth, make));

const places: Readonly<Record<string, { readonly mount: string; readonly put: Put }>> = {
  "Express 5, at a path": { mount: "/login", put: behind(express) },
  "Express 5, at the root": { mount: "", put: behind(express) },
  "Express 4, at a path of two parts": { mount: "/id/v1", put: behind(express4) },
  "in front of Express 5": {
    mount: "/login",
    put: (auth, mount) => auth.inFrontOf(behind(express)(auth, mount)),
  },
};

const startServer = serverForEachTest();

/** Starts a host, and gives the issuer. */
async function listen({ mount, put }: { mount: string; put: Put }): Promise<URL> {
  const { origin, serve } = await startServer();
  const auth = createAuthServer({
    baseUrl: `${origin}${mount}`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [client] }),
    authMethods: {
      password: {
        authenticate: () => ({ kind: "authenticated", subject: "alice", authTime: 1_700_000_000 }),
      },
    },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password"],
        scopes: { read: "See your orders" },
        dpop: { tokens: "required" },
      },
    },
    onEvent: () => undefined,
  });
  serve(put(auth, mount));
  return new URL(`${origin}${mount}/auth/password/api/orders`);
}

describe.each(Object.entries(places))("a client with a key: %s", (_, place) => {
  it("openid-client: gets bound tokens with dpop_jkt, and refreshes them", async () => {
    const config = await openid.discovery(await listen(place), "desk", undefined, openid.None(), {
      algorithm: "oauth2",
      execute: [openid.allowInsecureRequests],
    });
    const algorithms = config.serverMetadata().dpop_signing_alg_values_supported;
    expect(algorithms).toEqual(["ES256", "EdDSA", "Ed25519", "PS256"]);
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"));
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "read",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      dpop_jkt: await DPoP.calculateThumbprint(),
    });
    const back = await visit(url);
    // a thief has all but the key
    const stolen = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"));
    const checks = { pkceCodeVerifier };
    await expect(
      openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP: stolen }),
    ).rejects.toMatchObject({ error: "invalid_grant" });
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP });
    expect(tokens.token_type).toBe("dpop");
    const { refresh_token: refreshToken = "" } = tokens;
    await expect(openid.refreshTokenGrant(config, refreshToken)).rejects.toMatchObject({
      error: "invalid_dpop_proof",
    });
    const refreshed = await openid.refreshTokenGrant(config, refreshToken, undefined, { DPoP });
    expect(refreshed.token_type).toBe("dpop");
    const resource = new URL("/api/v1/orders/a%2Fb?view=all", url);
    const call = (handle: openid.DPoPHandle): Promise<Response> =>
      openid.fetchProtectedResource(config, refreshed.access_token, resource, "GET", null, undefined, {
        DPoP: handle,
      });
    expect(await (await call(DPoP)).json()).toEqual({ for: "alice" });
    await expect(call(stolen)).rejects.toMatchObject({
      cause: [{ scheme: "dpop", parameters: { error: "invalid_token", scope: "read" } }],
    });
    await openid.tokenRevocation(config, refreshed.refresh_token ?? "");
  });

  it.each(["ES256", "Ed25519", "PS256"])("oauth4webapi: gets bound tokens with %s", async (algorithm) => {
    const issuer = await listen(place);
    const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    const as = await oauth.processDiscoveryResponse(issuer, found);
    const desk: oauth.Client = { client_id: "desk" };
    const DPoP = oauth.DPoP(desk, await oauth.generateKeyPair(algorithm));
    const verifier = oauth.generateRandomCodeVerifier();
    const url = new URL(as.authorization_endpoint ?? "");
    const parameters = {
      client_id: "desk",
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "read",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      dpop_jkt: await DPoP.calculateThumbprint(),
    };
    url.search = new URLSearchParams(parameters).toString();
    const answer = oauth.validateAuthResponse(as, desk, await visit(url), oauth.expectNoState);
    const none = oauth.None();
    const options = { ...insecure, DPoP };
    const grant = oauth.authorizationCodeGrantRequest;
    const response = await grant(as, desk, none, answer, redirectUri, verifier, options);
    const tokens = await oauth.processAuthorizationCodeResponse(as, desk, response);
    expect(tokens.token_type).toBe("dpop");
    const again = await oauth.refreshTokenGrantRequest(as, desk, none, tokens.refresh_token ?? "", options);
    const { token_type, access_token } = await oauth.processRefreshTokenResponse(as, desk, again);
    expect(token_type).toBe("dpop");
    const resource = new URL("/api/v1/orders/7", issuer);
    const call = (handle: oauth.DPoPHandle): Promise<Response> =>
      oauth.protectedResourceRequest(access_token, "GET", resource, undefined, null, {
        ...insecure,
        DPoP: handle,
      });
    expect(await (await call(DPoP)).json()).toEqual({ for: "alice" });
    const stolen = oauth.DPoP(desk, await oauth.generateKeyPair(algorithm));
    await expect(call(stolen)).rejects.toMatchObject({ cause: [{ scheme: "dpop" }] });
    const asBearer = await fetch(resource, { headers: { Authorization: `Bearer ${access_token}` } });
    expect(asBearer.headers.get("www-authenticate")).toMatch(/^DPoP realm=.*, error="invalid_token"/);
  });
});
