/** A client library that presents an identity assertion (ID-JAG), over HTTP: oauth4webapi's generic grant. */
import type { webcrypto } from "node:crypto";
import express from "express";
import { importJWK } from "jose";
import * as oauth from "oauth4webapi";
import {
  createAuthServer,
  generateClientKey,
  generateClientSecret,
  generateSigningKey,
  memoryStorage,
} from "../../lib";
import { assertionGrant } from "../../lib/protocol/client";
import { serverForEachTest } from "../servers/free-port";
import { identityProvider, type IdentityProvider } from "../servers/identity-provider";

const insecure = { [oauth.allowInsecureRequests]: true };
const { secret, digest } = generateClientSecret();
const { privateKey, jwks } = generateClientKey();
const common = {
  confidential: true,
  redirectUris: [],
  subscriptions: { chat: { grantTypes: [assertionGrant] } },
} as const;

const startServer = serverForEachTest();
let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
afterAll(() => provider.close());

/** Starts a host, and gives the issuer. */
async function listen(): Promise<URL> {
  const { origin, serve } = await startServer();
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [
        { clientId: "agent", name: "Agent", secretDigests: [digest], ...common },
        { clientId: "keyed", name: "Keyed Agent", jwks, ...common },
      ],
    }),
    authMethods: {
      sso: {
        authenticate: () => ({ kind: "denied" }),
        identityAssertions: {
          issuers: provider.listed,
          accept: ({ subject }) => ({ kind: "authenticated", subject }),
        },
      },
    },
    apis: {
      chat: { audience: `${origin}/chat`, authMethods: ["sso"], scopes: { "chat:read": "Read" }, dpop: {} },
    },
    insecureLoopbackClients: true,
    onEvent: () => undefined,
  });
  serve(
    express()
      .use("/login", auth.router)
      .use(auth.wellKnown)
      .get("/chat", auth.requireBearer({ api: "chat", scope: "chat:read" }), (req, res) => {
        res.json({ for: auth.accessToken(req).subject });
      }),
  );
  return new URL(`${origin}/login/auth/sso/api/chat`);
}

describe("oauth4webapi", () => {
  it.each<[string, string, () => Promise<oauth.ClientAuth>]>([
    ["with its secret", "agent", async () => oauth.ClientSecretBasic(secret)],
    [
      "with its key",
      "keyed",
      async () => oauth.PrivateKeyJwt((await importJWK(privateKey, "ES256")) as webcrypto.CryptoKey),
    ],
  ])(
    "exchanges an assertion %s, and calls the API with a token for its DPoP key",
    async (_, clientId, auth) => {
      const issuer = await listen();
      const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
      const as = await oauth.processDiscoveryResponse(issuer, found);
      expect(as["authorization_grant_profiles_supported"]).toEqual([
        "urn:ietf:params:oauth:grant-profile:id-jag",
      ]);
      const resource = `${issuer.origin}/chat`;
      const claims = { aud: as.issuer, client_id: clientId, resource, scope: "chat:read" };
      const parameters = new URLSearchParams({ assertion: await provider.vouch({ claims }) });
      const DPoP = oauth.DPoP({}, await oauth.generateKeyPair("ES256"));
      const options = { ...insecure, DPoP };
      const client = { client_id: clientId };
      const answer = await oauth.genericTokenEndpointRequest(
        as,
        client,
        await auth(),
        assertionGrant,
        parameters,
        options,
      );
      const tokens = await oauth.processGenericTokenEndpointResponse(as, client, answer);
      expect(tokens).toMatchObject({ token_type: "dpop", scope: "chat:read", resource });
      expect(tokens.refresh_token).toBeUndefined();
      const url = new URL(resource);
      const called = await oauth.protectedResourceRequest(
        tokens.access_token,
        "GET",
        url,
        undefined,
        undefined,
        options,
      );
      expect(await called.json()).toEqual({ for: "U-alice" });
    },
  );
});
