/** APIs that call one another for a person (RFC 8693): a story over HTTP, by client libraries, with an API apart from its server. */
import express, { type Request, type RequestHandler } from "express";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import {
  type AccessToken,
  type Client,
  createAuthServer,
  generateClientSecret,
  generateSigningKey,
  memoryStorage,
} from "../../lib";
import { createResourceServer } from "../../lib/resource-server";
import { serverForEachTest, visit } from "../servers/free-port";

const insecure = { [oauth.allowInsecureRequests]: true };
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const { secret, digest } = generateClientSecret();

const service = (clientId: string, apiId: string): Client => ({
  clientId,
  name: clientId,
  confidential: true,
  secretDigests: [digest],
  redirectUris: [],
  subscriptions: { [apiId]: { grantTypes: [exchangeGrant] } },
});
const shop: Client = {
  clientId: "shop",
  name: "Shop",
  confidential: true,
  secretDigests: [digest],
  redirectUris: ["http://127.0.0.1/callback"],
  trusted: true,
  subscriptions: { orders: {} },
};

/** What an API knows of who has called. */
const seen = ({ subject, clientId, actor, scopes }: AccessToken): object => ({
  subject,
  clientId,
  actor,
  scopes,
});
const bearerOf = ({ headers }: Request): string => headers.authorization?.replace("Bearer ", "") ?? "";

/** Calls the next API with the token that it gets. */
async function call(url: string, token: string): Promise<unknown> {
  const answer = await fetch(url, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  return answer.status === 200 ? answer.json() : answer.status;
}

/** By openid-client. */
async function exchangeByOpenid(issuer: URL, { by, token }: { by: string; token: string }): Promise<string> {
  const config = await openid.discovery(issuer, by, secret, undefined, {
    algorithm: "oauth2",
    execute: [openid.allowInsecureRequests],
  });
  expect(config.serverMetadata().grant_types_supported).toContain(exchangeGrant);
  const fields = { subject_token: token, subject_token_type: accessTokenType };
  const tokens = await openid.genericGrantRequest(config, exchangeGrant, fields);
  expect(tokens).toMatchObject({ token_type: "bearer", issued_token_type: accessTokenType });
  expect(tokens.refresh_token).toBeUndefined();
  return tokens.access_token;
}

/** By oauth4webapi. */
async function exchangeByOauth(issuer: URL, { by, token }: { by: string; token: string }): Promise<string> {
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const as = await oauth.processDiscoveryResponse(issuer, found);
  const client: oauth.Client = { client_id: by };
  const fields = { subject_token: token, subject_token_type: accessTokenType };
  const proof = oauth.ClientSecretPost(secret);
  const response = await oauth.genericTokenEndpointRequest(
    as,
    client,
    proof,
    exchangeGrant,
    fields,
    insecure,
  );
  return (await oauth.processGenericTokenEndpointResponse(as, client, response)).access_token;
}

const startServer = serverForEachTest();

/** Starts orders and stock beside the server, and depot apart from it. */
async function listen(format: "jwt" | "opaque") {
  const { origin, serve } = await startServer();
  const baseUrl = `${origin}/login`;
  const common = { authMethods: ["password"], accessTokenFormat: format };
  const auth = createAuthServer({
    baseUrl,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [
        shop,
        service("orders-api", "stock"),
        service("stock-api", "depot"),
        service("depot-api", "depot"),
      ],
    }),
    authMethods: { password: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    revocationLagSeconds: 0,
    apis: {
      orders: {
        ...common,
        audience: `${origin}/orders`,
        scopes: { order: "Order goods", look: "See goods" },
      },
      stock: {
        ...common,
        audience: `${origin}/stock`,
        scopes: { reserve: "Reserve goods" },
        tokenExchange: { orders: { clients: ["orders-api"], scopes: { order: ["reserve"] } } },
      },
      depot: {
        ...common,
        audience: `${origin}/depot`,
        scopes: { send: "Send goods" },
        tokenExchange: { stock: { clients: ["stock-api"], scopes: { reserve: ["send"] } } },
      },
    },
    onEvent: () => undefined,
  });
  const remote = createResourceServer({
    baseUrl,
    revocationLagSeconds: 0,
    introspection: { clientId: "depot-api", clientSecret: secret },
    apis: { depot: { audience: `${origin}/depot`, scopes: ["send"] } },
    onEvent: () => undefined,
  });
  const issuerOf = (api: string): URL => new URL(`${baseUrl}/auth/password/api/${api}`);
  const app = express().use("/login", auth.router).use(auth.wellKnown);
  const orders: RequestHandler = async (req, res) => {
    const token = await exchangeByOpenid(issuerOf("stock"), { by: "orders-api", token: bearerOf(req) });
    res.json({ orders: seen(auth.accessToken(req)), next: await call(`${origin}/stock`, token) });
  };
  const stock: RequestHandler = async (req, res) => {
    const token = await exchangeByOauth(issuerOf("depot"), { by: "stock-api", token: bearerOf(req) });
    res.json({ stock: seen(auth.accessToken(req)), next: await call(`${origin}/depot`, token) });
  };
  app.post("/orders", auth.requireBearer({ api: "orders", scope: "order" }), orders);
  app.post("/stock", auth.requireBearer({ api: "stock", scope: "reserve" }), stock);
  app.post("/depot", remote.requireBearer({ api: "depot", scope: "send" }), (req, res) => {
    res.json({ depot: seen(remote.accessToken(req)) });
  });
  serve(app);
  return { auth, origin, issuerOf };
}

/** A token of orders that Alice has allowed the shop. */
async function tokenOf(issuer: URL): Promise<string> {
  const config = await openid.discovery(issuer, "shop", secret, undefined, {
    algorithm: "oauth2",
    execute: [openid.allowInsecureRequests],
  });
  const redirect_uri = "http://127.0.0.1/callback";
  const back = await visit(openid.buildAuthorizationUrl(config, { redirect_uri, scope: "order look" }));
  return (await openid.authorizationCodeGrant(config, back)).access_token;
}

describe("orders calls stock, which calls depot, all for Alice (RFC 8693 §1.1, §4.1)", () => {
  it.each(["jwt", "opaque"] as const)("and each sees who has called: %s", async (format) => {
    const { origin, issuerOf } = await listen(format);
    expect(await call(`${origin}/orders`, await tokenOf(issuerOf("orders")))).toEqual({
      orders: { subject: "alice", clientId: "shop", scopes: ["order", "look"] },
      next: {
        stock: {
          subject: "alice",
          clientId: "orders-api",
          actor: { subject: "orders-api" },
          scopes: ["reserve"],
        },
        next: {
          depot: {
            subject: "alice",
            clientId: "stock-api",
            actor: { subject: "stock-api", actor: { subject: "orders-api" } },
            scopes: ["send"],
          },
        },
      },
    });
  });

  it("and depot, apart from the server, hears of each end", async () => {
    const { auth, origin, issuerOf } = await listen("jwt");
    const token = await tokenOf(issuerOf("orders"));
    const first = await exchangeByOpenid(issuerOf("stock"), { by: "orders-api", token });
    const second = await exchangeByOauth(issuerOf("depot"), { by: "stock-api", token: first });
    expect(await call(`${origin}/depot`, second)).toMatchObject({ depot: { subject: "alice" } });
    await auth.consents
      .narrow({ subject: "alice", clientId: "shop", apiId: "orders", scopes: ["order"] })
      .catch(
        // nobody is asked about the shop, so nothing of it can be taken back in part
        (error: unknown) => expect(error).toMatchObject({ code: "client-is-trusted" }),
      );
    expect(await call(`${origin}/depot`, second)).toMatchObject({ depot: { subject: "alice" } });
    await auth.subjects.revoke("alice");
    expect(await call(`${origin}/depot`, second)).toBe(401);
    await expect(exchangeByOauth(issuerOf("depot"), { by: "stock-api", token: first })).rejects.toMatchObject(
      {
        error: "invalid_request",
      },
    );
  });

  it("and nobody else gets there: not by a token of orders, nor by another client", async () => {
    const { origin, issuerOf } = await listen("jwt");
    const token = await tokenOf(issuerOf("orders"));
    expect(await call(`${origin}/stock`, token)).toBe(401);
    expect(await call(`${origin}/depot`, token)).toBe(401);
    await expect(exchangeByOauth(issuerOf("depot"), { by: "stock-api", token })).rejects.toMatchObject({
      error: "invalid_request",
    });
    await expect(exchangeByOpenid(issuerOf("stock"), { by: "shop", token })).rejects.toMatchObject({
      error: "unauthorized_client",
    });
  });
});
