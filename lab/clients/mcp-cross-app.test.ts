/** The MCP SDK's client for cross-app access (enterprise-managed authorization): a company's identity provider vouches, and nobody sees a page. */
import { auth as authorize, CrossAppAccessProvider } from "@modelcontextprotocol/client";
import express from "express";
import { createAuthServer, generateClientSecret, generateSigningKey, memoryStorage } from "../../lib";
import { assertionGrant } from "../../lib/protocol/client";
import { serverForEachTest } from "../../__tests__/servers/free-port";
import { identityProvider, type IdentityProvider } from "../../__tests__/servers/identity-provider";

const { secret, digest } = generateClientSecret();
const startServer = serverForEachTest();
let provider: IdentityProvider;
beforeAll(async () => {
  provider = await identityProvider();
});
afterAll(() => provider.close());

/** An MCP server in name: its metadata, and a route that tells whose token has come. */
async function listen(): Promise<{ readonly serverUrl: string; readonly issuer: string }> {
  const { origin, serve } = await startServer();
  const serverUrl = `${origin}/mcp`;
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [
        {
          clientId: "agent",
          name: "Agent",
          confidential: true,
          secretDigests: [digest],
          redirectUris: [],
          subscriptions: { tools: { grantTypes: [assertionGrant] } },
        },
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
    apis: { tools: { audience: serverUrl, authMethods: ["sso"], scopes: { "tools:use": "Use the tools" } } },
    insecureLoopbackClients: true,
    onEvent: () => undefined,
  });
  serve(
    express()
      .use("/login", auth.router)
      .use(auth.wellKnown)
      .all("/mcp", auth.requireBearer({ api: "tools", scope: "tools:use" }), (req, res) => {
        res.json({ for: auth.accessToken(req).subject });
      }),
  );
  return { serverUrl, issuer: `${origin}/login/auth/sso/api/tools` };
}

it("finds the server by the API's metadata, and gets a token by an assertion", async () => {
  const { serverUrl, issuer } = await listen();
  const asked: object[] = [];
  const client = new CrossAppAccessProvider({
    clientId: "agent",
    clientSecret: secret,
    expectedIssuer: issuer,
    assertion: ({ authorizationServerUrl: aud, resourceUrl: resource, scope }) => {
      asked.push({ aud, resource, scope });
      return provider.vouch({ claims: { aud, resource, scope, client_id: "agent" } });
    },
  });
  expect(await authorize(client, { serverUrl, scope: "tools:use" })).toBe("AUTHORIZED");
  expect(asked).toEqual([{ aud: issuer, resource: serverUrl, scope: "tools:use" }]);
  const { access_token: token, refresh_token: refreshToken } = client.tokens() ?? {};
  expect(refreshToken).toBeUndefined();
  const called = await fetch(serverUrl, { headers: { Authorization: `Bearer ${token}` } });
  expect(await called.json()).toEqual({ for: "U-alice" });
  // there is no refresh token: the provider vouches again
  expect(await authorize(client, { serverUrl, scope: "tools:use" })).toBe("AUTHORIZED");
  expect(asked).toHaveLength(2);
});
