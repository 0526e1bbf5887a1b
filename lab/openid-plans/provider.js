// @ts-check
/**
 * The provider that the OpenID Foundation's conformance suite tests, with the clients of settings.json and settings-fapi2.json. It listens
 * at the origin of `discoveryUrl` with the certificate in `TLS_CERT` and `TLS_KEY`. Everybody is Alice.
 */
"use strict";
const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { createServer } = require("node:https");
const express = require("express");
const { createAuthServer, digestClientSecret, generateSigningKey, memoryStorage } = require("../..");

/** Where a name of the settings is that of a client. */
const clientNames = /** @type {const} */ (["client", "client2", "client_secret_post"]);

/** Every claim of OpenID Connect Core §5.1: the suite asks for all of them. */
const alice = {
  name: "Alice Adams",
  given_name: "Alice",
  family_name: "Adams",
  middle_name: "Ann",
  nickname: "Al",
  preferred_username: "alice",
  profile: "https://alice.example/",
  picture: "https://alice.example/alice.png",
  website: "https://alice.example/",
  gender: "female",
  birthdate: "1990-01-31",
  zoneinfo: "Pacific/Auckland",
  locale: "en-NZ",
  updated_at: 1_700_000_000,
  email: "alice@example.org",
  email_verified: true,
  phone_number: "+64 9 555 0100",
  phone_number_verified: true,
  address: {
    formatted: "1 High Street\nAuckland 1010\nNew Zealand",
    street_address: "1 High Street",
    locality: "Auckland",
    region: "Auckland",
    postal_code: "1010",
    country: "NZ",
  },
};

/**
 * @typedef {object} Settings
 * @property {string} alias
 * @property {{ readonly discoveryUrl: string }} server
 * @property {{ readonly client_id: string, readonly client_secret: string }} client
 * @property {{ readonly client_id: string, readonly client_secret: string }} client2
 * @property {{ readonly client_id: string, readonly client_secret: string }} client_secret_post
 */

/**
 * @typedef {object} FapiSettings
 * @property {string} alias
 * @property {{ readonly client_id: string, readonly jwks: { readonly keys: readonly { readonly d: string }[] } }} client
 * @property {FapiSettings["client"]} client2
 */

/** The clients of the FAPI plan, by their public keys. @param {FapiSettings} settings @param {string} redirectUri */
function keyClientsOf({ client, client2 }, redirectUri) {
  return [client, client2].map(({ client_id: clientId, jwks }) => ({
    clientId,
    name: `Suite (${clientId})`,
    confidential: /** @type {const} */ (true),
    jwks: { keys: jwks.keys.map(({ d: _d, ...key }) => /** @type {any} */ (key)) },
    redirectUris: [redirectUri],
    subscriptions: { payments: {} },
  }));
}

/** @param {Settings} settings @param {string} redirectUri */
async function clientsOf(settings, redirectUri) {
  return Promise.all(
    clientNames.map(async (name) => {
      const { client_id: clientId, client_secret: secret } = settings[name];
      return {
        clientId,
        name: `Suite (${name})`,
        confidential: /** @type {const} */ (true),
        secretDigests: [await digestClientSecret(secret)],
        redirectUris: [redirectUri],
        subscriptions: { accounts: {} },
      };
    }),
  );
}

/**
 * The app at this origin, for a suite at another one.
 *
 * @param {{ readonly settings: Settings, readonly fapi: FapiSettings, readonly origin: string, readonly suite: string }} options
 */
async function providerApp({ settings, fapi, origin, suite }) {
  /** @param {string} alias */
  const callback = (alias) => `${suite}/test/a/${alias}/callback`;
  const clients = [
    ...(await clientsOf(settings, callback(settings.alias))),
    ...keyClientsOf(fapi, callback(fapi.alias)),
  ];
  /** @type {Map<string, number>} */
  const sessions = new Map();
  const auth = createAuthServer({
    baseUrl: `${origin}/oauth`,
    storage: memoryStorage({ clients }),
    secrets: [randomBytes(32).toString("base64url")],
    signingKeys: [generateSigningKey(), generateSigningKey("RS256")],
    onEvent({ kind, ...event }) {
      process.stdout.write(`${kind} ${JSON.stringify(event)}\n`);
    },
    authMethods: {
      password: {
        authenticate({ req }) {
          const id = /(?:^|; )session=([\w-]+)/.exec(req.headers.cookie ?? "")?.[1] ?? "";
          const authTime = sessions.get(id);
          return authTime === undefined
            ? { kind: "interaction", url: "/signin" }
            : { kind: "authenticated", subject: "alice", authTime };
        },
      },
    },
    apis: {
      accounts: {
        name: "your account",
        audience: `${origin}/accounts`,
        authMethods: ["password"],
        scopes: {},
        openid: { claims: () => alice },
      },
      payments: {
        name: "payments",
        audience: `${origin}/payments`,
        authMethods: ["password"],
        scopes: { pay: "Pay for you" },
        defaultScopes: ["pay"],
        profile: "fapi2",
      },
    },
  });
  const app = express();
  app.use("/oauth", auth.router);
  app.all("/payments", auth.requireBearer({ api: "payments", scope: "pay" }), (_, res) => {
    res.json({ paid: true });
  });
  app.get("/signin", (_, res) => {
    res.send(
      '<!doctype html><title>Sign in</title><form method="post"><button id="sign-in">Sign in</button></form>',
    );
  });
  app.post("/signin", (req, res) => {
    const id = randomBytes(16).toString("base64url");
    sessions.set(id, Math.floor(Date.now() / 1_000));
    res.appendHeader("Set-Cookie", `session=${id}; Path=/; HttpOnly; Secure; SameSite=Lax`);
    auth.resume(req, res);
  });
  return app;
}

/** @param {string} name @returns {any} */
const settingsIn = (name) => JSON.parse(readFileSync(`${__dirname}/${name}.json`, "utf8"));

async function main() {
  /** @type {Settings} */
  const settings = settingsIn("settings");
  const { origin, port } = new URL(settings.server.discoveryUrl);
  const {
    TLS_CERT = "cert.pem",
    TLS_KEY = "key.pem",
    SUITE = "https://localhost.emobix.co.uk:8443",
  } = process.env;
  const app = await providerApp({ settings, fapi: settingsIn("settings-fapi2"), origin, suite: SUITE });
  createServer({ cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) }, app).listen(Number(port), () =>
    process.stdout.write(`listening at ${origin}\n`),
  );
}

if (require.main === module) void main();

module.exports = { providerApp };
