// @ts-check
/** A worker: the host's app. It remembers nothing between two requests, so any worker can serve any of them. */
const cookieParser = require("cookie-parser");
const express = require("express");
const { createAuthServer } = require("authmount");
const { openStorage } = require("./storage");

const { PORT = "3000", SECRETS = "", SESSION_SECRET = "", SIGNING_KEYS = "[]", PASSWORD } = process.env;
const origin = `http://localhost:${PORT}`;
const sessionSeconds = 8 * 3_600;
const now = () => Math.floor(Date.now() / 1000);

/** @param {import("authmount").Storage} storage */
function createApp(storage) {
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: SECRETS.split(" "),
    signingKeys: JSON.parse(SIGNING_KEYS),
    storage,
    apis: {
      orders: { audience: `${origin}/orders`, authMethods: ["password"], scopes: { read: "See them" } },
    },
    authMethods: {
      password: {
        authenticate({ req, reauthenticate }) {
          // the session is in the cookie itself, signed, so that every worker can read it
          const { subject, authTime } = req.signedCookies["session"] || {};
          if (reauthenticate || !(authTime > now() - sessionSeconds))
            return { kind: "interaction", url: "/signin" };
          return { kind: "authenticated", subject, authTime };
        },
      },
    },
    onEvent: (event) => void (event.kind === "server-error" && console.error(event)),
  });

  const app = express().use(cookieParser(SESSION_SECRET), express.urlencoded({ extended: false }));
  app.use("/login", auth.router).use(auth.wellKnown);
  const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
  app.get("/orders", forPeople, (req, res) => {
    res.json({ ...req.auth, servedBy: process.pid });
  });
  const form = `<form method="post"><label>Password <input type="password" name="password"></label></form>`;
  app.all("/signin", (req, res) => {
    if (req.body?.password !== PASSWORD) return void res.send(form);
    const session = { subject: "alice", authTime: now() };
    res.cookie("session", session, { signed: true, httpOnly: true, sameSite: "lax" }); // and secure: true behind https
    auth.resume(req, res);
  });
  return app;
}

async function start() {
  const { storage, close } = await openStorage();
  const server = createApp(storage).listen(PORT);

  /** Takes no more connections, answers what has come, and only then lets go of the storage. */
  function stop() {
    setTimeout(() => process.exit(1), 10_000).unref(); // a client that never ends its request must not keep us
    server.close(() => void close().finally(() => process.exit()));
  }
  process.once("SIGTERM", stop);
  // Ctrl-C reaches every process of the terminal; the first one tells the workers when to stop
  process.on("SIGINT", () => undefined);
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
