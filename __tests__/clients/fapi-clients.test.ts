/** Client libraries that are certified for FAPI 2.0, through the whole flow of an API with the profile. FAPI 2.0 Security Profile §5.3.3; RFC 9126, 9449. */
import { generateKeyPairSync, webcrypto } from "node:crypto";
import express from "express";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { createAuthServer, generateSigningKey, type KeyClient, memoryStorage } from "../../lib";
import { createResourceServer } from "../../lib/resource-server";
import { serverForEachTest, visit } from "../servers/free-port";

const redirectUri = "https://bank.example/callback";
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const bank: KeyClient = {
  clientId: "bank",
  name: "A bank",
  confidential: true,
  jwks: { keys: [pair.publicKey.export({ format: "jwk" }) as never] },
  redirectUris: [redirectUri],
  trusted: true,
  subscriptions: { payments: {} },
};

const insecure = { [oauth.allowInsecureRequests]: true };

/** The private key as the libraries want it. */
const clientKey = (): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey(
    "pkcs8",
    pair.privateKey.export({ format: "der", type: "pkcs8" }),
    { name: "ECDSA", namedCurve: "P-256" },
    false,
    ["sign"],
  );

const startServer = serverForEachTest();

/** A host with such an API, whose routes are protected once by the server and once as those of another process. */
async function listen(): Promise<{ issuer: URL; here: URL; elsewhere: URL }> {
  const { origin, serve } = await startServer();
  const audience = `${origin}/payments`;
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [bank] }),
    authMethods: { password: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    apis: {
      payments: { audience, authMethods: ["password"], scopes: { pay: "Pay for you" }, profile: "fapi2" },
    },
    onEvent: () => undefined,
  });
  const api = createResourceServer({
    baseUrl: `${origin}/login`,
    apis: { payments: { audience, scopes: ["pay"], dpop: { tokens: "required" } } },
    introspection: {
      clientId: "bank",
      privateKey: pair.privateKey.export({ format: "pem", type: "pkcs8" }) as string,
    },
    onEvent: () => undefined,
  });
  const app = express().use("/login", auth.router).use(auth.wellKnown);
  for (const [path, { requireBearer }] of [
    ["/here", auth],
    ["/elsewhere", api],
  ] as const)
    app.post(path, requireBearer({ api: "payments", scope: "pay" }), (req, res) => void res.json(req.auth));
  serve(app);
  const [here, elsewhere] = [new URL("/here", origin), new URL("/elsewhere", origin)];
  return { issuer: new URL(`${origin}/login/auth/password/api/payments`), here, elsewhere };
}

/** What the API hears of the call. */
const heard = { clientId: "bank", subject: "alice" };

describe('an API with profile: "fapi2"', () => {
  it("openid-client: pushes, redeems, calls both APIs, and refreshes with the same token", async () => {
    const { issuer, here, elsewhere } = await listen();
    const config = await openid.discovery(
      issuer,
      "bank",
      undefined,
      openid.PrivateKeyJwt(await clientKey(), {
        [openid.modifyAssertion]: (_, payload) => void (payload["aud"] = issuer.href),
      }),
      { algorithm: "oauth2", execute: [openid.allowInsecureRequests] },
    );
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"));
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const parameters = {
      redirect_uri: redirectUri,
      scope: "pay",
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    };
    const url = await openid.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
    expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request_uri"]);
    const back = await visit(url);
    const checks = { pkceCodeVerifier, expectedState };
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP });
    const call = (accessToken: string, at: URL): Promise<Response> =>
      openid.fetchProtectedResource(config, accessToken, at, "POST", null, undefined, { DPoP });
    for (const at of [here, elsewhere])
      expect(await (await call(tokens.access_token, at)).json()).toMatchObject(heard);
    const { refresh_token: refreshToken = "" } = tokens;
    const refreshed = await openid.refreshTokenGrant(config, refreshToken, undefined, { DPoP });
    expect([refreshed.token_type, refreshed.refresh_token]).toEqual(["dpop", refreshToken]);
    expect((await call(refreshed.access_token, elsewhere)).status).toBe(200);
    // the same URL in a second browser
    expect((await visit(url)).searchParams.get("error")).toBe("invalid_request_uri");
  });

  it("oauth4webapi: the same, by its own steps", async () => {
    const { issuer, here } = await listen();
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
    );
    expect(as).toMatchObject({ require_pushed_authorization_requests: true });
    const client = { client_id: "bank" };
    const proof = oauth.PrivateKeyJwt(await clientKey());
    const DPoP = oauth.DPoP({}, await oauth.generateKeyPair("ES256"));
    const verifier = oauth.generateRandomCodeVerifier();
    const parameters = new URLSearchParams({
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "pay",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const options = { DPoP, ...insecure };
    const pushed = await oauth.processPushedAuthorizationResponse(
      as,
      client,
      await oauth.pushedAuthorizationRequest(as, client, proof, parameters, options),
    );
    const url = new URL(as.authorization_endpoint ?? "");
    url.search = new URLSearchParams({ client_id: "bank", request_uri: pushed.request_uri }).toString();
    const answer = oauth.validateAuthResponse(as, client, await visit(url), oauth.expectNoState);
    const grant = [answer, redirectUri, verifier] as const;
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, proof, ...grant, options),
    );
    const called = await oauth.protectedResourceRequest(
      tokens.access_token,
      "POST",
      here,
      undefined,
      undefined,
      options,
    );
    expect(await called.json()).toMatchObject(heard);
  });
});
