/** Client libraries that prove themselves by private_key_jwt, over HTTP, and what they send. */
import { createPrivateKey, randomUUID, webcrypto } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import jwt from "jsonwebtoken";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import {
  createAuthServer,
  generateClientKey,
  generateSigningKey,
  type KeyClient,
  memoryStorage,
  type PublicJwk,
} from "../../lib";

const insecure = { [oauth.allowInsecureRequests]: true };
const rsa = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" };
const generated = generateClientKey();

/** Client id → how its key is generated. The libraries take the algorithm from the key. */
const kinds: Readonly<
  Record<string, webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams | { name: string }>
> = {
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  PS256: { name: "RSA-PSS", ...rsa },
  RS256: { name: "RSASSA-PKCS1-v1_5", ...rsa },
  Ed25519: { name: "Ed25519" },
};

const keys = new Map<string, webcrypto.CryptoKey>();
let server: Server;
let issuer: URL;

function keyClient(clientId: string, members: Partial<KeyClient>): KeyClient {
  return {
    clientId,
    name: clientId,
    confidential: true,
    redirectUris: [],
    subscriptions: { orders: {} },
    ...members,
  };
}

async function generate(clientId: string): Promise<KeyClient> {
  const pair = (await webcrypto.subtle.generateKey(kinds[clientId] ?? { name: "Ed25519" }, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  keys.set(clientId, pair.privateKey);
  const jwk = await webcrypto.subtle.exportKey("jwk", pair.publicKey);
  return keyClient(clientId, { jwks: { keys: [{ ...jwk, kid: "mine" } as unknown as PublicJwk] } });
}

beforeAll(async () => {
  const clients = await Promise.all(Object.keys(kinds).map(generate));
  const app = express();
  server = createServer(app).listen(0, "localhost");
  await new Promise((listening) => server.once("listening", listening));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  issuer = new URL(`${origin}/login/auth/password/api/orders`);
  const { jwks } = generated;
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [
        ...clients,
        keyClient("generated", { jwks }),
        keyClient("old", { jwks, allowTokenEndpointAudience: true }),
      ],
    }),
    authMethods: { password: { authenticate: () => ({ kind: "interaction", url: "/signin" }) } },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password"],
        scopes: { read: "See your orders" },
        accessTokenFormat: "opaque",
      },
    },
  });
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

function keyOf(clientId: string): webcrypto.CryptoKey {
  const key = keys.get(clientId);
  if (!key) throw new Error(`no key for ${clientId}`);
  return key;
}

async function discover(): Promise<oauth.AuthorizationServer> {
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  return oauth.processDiscoveryResponse(issuer, found);
}

describe.each(Object.keys(kinds))("a library with a key for %s (RFC 7523 §2.2, 8414 §2)", (clientId) => {
  it("is told in the metadata that it may use it, at each endpoint", async () => {
    const metadata = await discover();
    for (const endpoint of ["token", "revocation", "introspection"]) {
      expect(metadata[`${endpoint}_endpoint_auth_methods_supported`]).toContain("private_key_jwt");
      expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toContain(clientId);
    }
  });

  it("openid-client: gets a token, introspects and revokes it", async () => {
    const proof = openid.PrivateKeyJwt({ key: keyOf(clientId), kid: "mine" });
    const config = await openid.discovery(issuer, clientId, undefined, proof, {
      algorithm: "oauth2",
      execute: [openid.allowInsecureRequests],
    });
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: "read" });
    expect(await openid.tokenIntrospection(config, access_token)).toMatchObject({ active: true });
    await openid.tokenRevocation(config, access_token);
    expect(await openid.tokenIntrospection(config, access_token)).toEqual({ active: false });
  });

  it("oauth4webapi: gets a token, and sends the issuer as the audience everywhere", async () => {
    const as = await discover();
    const sent: unknown[] = [];
    const proof = oauth.PrivateKeyJwt(keyOf(clientId), {
      [oauth.modifyAssertion]: (header, payload) => void sent.push(header["alg"], payload["aud"]),
    });
    const client = { client_id: clientId };
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      proof,
      { scope: "read" },
      insecure,
    );
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, response);
    const asked = await oauth.introspectionRequest(as, client, proof, access_token, insecure);
    expect(await oauth.processIntrospectionResponse(as, client, asked)).toMatchObject({ active: true });
    expect(sent).toEqual([clientId, issuer.href, clientId, issuer.href]);
  });
});

/** Asks for a token with an assertion that jsonwebtoken signs, as in the guide. */
function tokenBy(clientId: string, aud: string): Promise<Response> {
  const key = createPrivateKey({ key: { ...generated.privateKey }, format: "jwk" });
  const assertion = jwt.sign({}, key, {
    algorithm: "ES256",
    keyid: String(generated.privateKey.kid),
    issuer: clientId,
    subject: clientId,
    audience: aud,
    jwtid: randomUUID(),
    expiresIn: 60,
  });
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    scope: "read",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion,
  });
  return fetch(`${issuer.href}/token`, { method: "POST", body });
}

describe("an assertion that jsonwebtoken signs (RFC 7523 §2.2, §3)", () => {
  it("proves the client, without client_id", async () => {
    expect((await tokenBy("generated", issuer.href)).status).toBe(200);
  });

  it("may be for the token endpoint, where the record allows what older clients send", async () => {
    expect((await tokenBy("old", `${issuer.href}/token`)).status).toBe(200);
    expect((await tokenBy("generated", `${issuer.href}/token`)).status).toBe(401);
  });
});
