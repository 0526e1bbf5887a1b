// @ts-check
/* eslint-disable typescript/no-floating-promises -- node:test waits for its tests */
"use strict";

const assert = require("node:assert/strict");
const { createServer } = require("node:http");
const { after, before, test } = require("node:test");
const { generateClientSecret, generateSigningKey, memoryStorage } = require("authmount");
const { refusedKinds, testClock, testSignIn, testTokens } = require("authmount/testing");
const { createApp, settings } = require("./app");

const { secret, digest } = generateClientSecret();
const callback = "https://shop.example/callback";
const shop = { clientId: "shop", name: "Shop", redirectUris: [callback], subscriptions: { orders: {} } };
const fake = testSignIn();
const options = {
  ...settings,
  secrets: ["a secret for tests, of at least 32 characters"],
  signingKeys: [generateSigningKey()],
  // a trusted client is not asked for consent
  storage: memoryStorage({
    clients: [{ ...shop, confidential: true, trusted: true, secretDigests: [digest] }],
  }),
  authMethods: { account: fake.authMethod },
  onEvent: () => undefined, // without it, each refusal is a warning
};

const tokens = testTokens(options);
const alice = { api: "orders", client: "shop", subject: "alice", scope: "read" };
/** @param {string} token */
const bearer = (token) => ({ authorization: `Bearer ${token}` });

const server = createServer(createApp(options));
let origin = "";
before(async () => {
  await new Promise((resolve, reject) => {
    server.once("error", reject).once("listening", () => resolve(undefined));
    server.listen(0, "127.0.0.1");
  });
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
});
after(() => server.close());

test("alice sees her orders", async () => {
  const headers = bearer(await tokens.issue(alice));
  const answer = await fetch(`${origin}/orders`, { headers });
  assert.deepEqual([answer.status, await answer.json()], [200, { ordersOf: "alice" }]);
});

for (const kind of refusedKinds) {
  test(`a token that is ${kind} is refused`, async () => {
    const { status } = await fetch(`${origin}/orders`, { headers: bearer(await tokens[kind](alice)) });
    assert.equal(status, 401);
  });
}

test("the routes refuse everything that they should", async () => {
  await tokens.checkRoute(alice, (headers) => fetch(`${origin}/orders`, { headers }));
  const both = { ...alice, scope: "read write" };
  await tokens.checkRoute(both, (headers) => fetch(`${origin}/orders/17`, { method: "DELETE", headers }));
});

test("a token ends after an hour", async () => {
  const headers = bearer(await tokens.issue(alice));
  const clock = testClock();
  try {
    clock.advance(3_600);
    assert.equal((await fetch(`${origin}/orders`, { headers })).status, 401);
  } finally {
    clock.restore();
  }
});

test("the shop gets a code and a token when alice is signed in", async () => {
  fake.signIn("alice");
  const issuer = `${origin}/oauth/auth/account/api/orders`;
  const query = `client_id=shop&response_type=code&scope=read&redirect_uri=${encodeURIComponent(callback)}`;
  const answer = await fetch(`${issuer}/authorize?${query}`, { redirect: "manual" });
  const { searchParams } = new URL(answer.headers.get("location") ?? "");
  const form = { grant_type: "authorization_code", code: searchParams.get("code") ?? "" };
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`shop:${secret}`)}` },
    body: new URLSearchParams(form),
  });
  const { access_token: token } = /** @type {{ access_token: string }} */ (await response.json());
  const orders = await fetch(`${origin}/orders`, { headers: bearer(token) });
  assert.deepEqual(await orders.json(), { ordersOf: "alice" });
});
