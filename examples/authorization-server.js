// @ts-check
/** What the client examples need: a host with one person, an authorization server and an API, all in memory. */
const { randomUUID } = require("node:crypto");
const events = require("node:events");
const path = require("node:path");
const cookieParser = require("cookie-parser");
const express = require("express");
const { createAuthServer, memoryStorage } = require("authmount");
const { rateLimit } = require("./device-guesses");

const { ACCESS_TOKEN_SECONDS = "300" } = process.env;
const form = `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<main>
  <h1>Sign in</h1>
  <form method="post">
    <label>Password of alice
      <input type="password" name="password" autocomplete="current-password" autofocus>
    </label>
    <button>Sign in</button>
  </form>
</main>
</html>`;

/**
 * Starts the host on any free port and prints the password and each event.
 *
 * @param {import("authmount").Client} client
 */
async function startAuthorizationServer(client) {
  const app = express().use(cookieParser(), express.urlencoded({ extended: false }));
  app.use(express.static(path.join(__dirname, "look")));
  const server = app.listen(0, "localhost");
  await events.once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const origin = `http://localhost:${port}`;
  const apiUrl = `${origin}/orders`;
  const password = randomUUID();
  const sessions = new Map();

  const auth = createAuthServer({
    baseUrl: `${origin}/oauth`,
    storage: memoryStorage({ clients: [client] }),
    apis: {
      orders: {
        audience: apiUrl,
        authMethods: ["account"],
        scopes: { read: "See your orders" },
        accessTokenSeconds: Number(ACCESS_TOKEN_SECONDS),
        // clients that prove a key get tokens that nobody else can use
        dpop: {},
        // programs without a browser may ask on another screen
        deviceAuthorization: true,
      },
    },
    authMethods: {
      account: {
        authenticate: ({ req, reauthenticate }) =>
          (!reauthenticate && sessions.get(req.cookies["session"])) || {
            kind: "interaction",
            url: "/signin",
          },
      },
    },
    revocationLagSeconds: 0,
    rateLimit,
    onEvent: ({ kind, clientId, subject }) => {
      if (clientId) console.log(["event", kind, clientId, subject].filter(Boolean).join(" "));
    },
  });
  app.use("/oauth", auth.router).use(auth.wellKnown);

  /** Scripts of any page may call the API: it checks the token only and reads no cookie. */
  app.use("/orders", (req, res, next) => {
    res.set({ "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Authorization, DPoP" });
    if (req.method === "OPTIONS") res.sendStatus(204);
    else next();
  });
  app.get("/orders", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => {
    const { clientId, subject = clientId } = auth.accessToken(req);
    res.json({ orders: ["Tea, 100 g"], for: subject });
  });

  app.all("/signin", (req, res) => {
    // another site must not be able to send this form and sign this browser in as somebody else
    if (req.headers.origin !== origin || req.body?.password !== password) return void res.send(form);
    const id = randomUUID();
    sessions.set(id, { kind: "authenticated", subject: "alice", authTime: Math.floor(Date.now() / 1000) });
    res.cookie("session", id, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
    auth.resume(req, res, { otherwise: "/" });
  });

  console.log(`The password of alice is ${password}`);
  return {
    issuer: `${origin}/oauth/auth/account/api/orders`,
    apiUrl,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

module.exports = { startAuthorizationServer };
