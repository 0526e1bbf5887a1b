// @ts-check
/** A worker: the host's app. It remembers nothing between two requests, so any worker can serve any of them. */
const { createHash, timingSafeEqual } = require("node:crypto");
const cookieParser = require("cookie-parser");
const express = require("express");
const { createAuthServer } = require("authmount");
const { openStorage } = require("./storage");

const { PORT = "3000", SECRETS = "", SIGNING_KEYS = "[]" } = process.env;
const origin = `http://localhost:${PORT}`;
const sessionSeconds = 8 * 3_600;
const now = () => Math.floor(Date.now() / 1000);

/**
 * What every worker must be told. Left out or empty, it would let anybody in.
 *
 * @type {(name: string, leastCharacters: number) => string}
 */
function setting(name, leastCharacters) {
  const value = process.env[name] ?? "";
  if (value.length >= leastCharacters) return value;
  throw new TypeError(
    `Set ${name} to ${leastCharacters} characters or more, or start server.js, which makes one.`,
  );
}

/** @param {string} text */
const digest = (text) => createHash("sha256").update(text).digest();

/** In constant time, whatever their lengths are. @type {(sent: unknown, expected: string) => boolean} */
const isEqual = (sent, expected) =>
  typeof sent === "string" && timingSafeEqual(digest(sent), digest(expected));

/** @param {import("authmount").Storage} storage */
function createApp(storage) {
  const password = setting("PASSWORD", 12);
  const sessionSecret = setting("SESSION_SECRET", 32);
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
    onEvent(event) {
      if (event.kind !== "server-error") return;
      // not its message: a driver's may hold the values of a query
      const { name, code } = Object(event.cause);
      console.error("server-error", name, code);
    },
  });

  const app = express().use(cookieParser(sessionSecret), express.urlencoded({ extended: false }));
  app.use("/login", auth.router).use(auth.wellKnown);
  const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
  app.get("/orders", forPeople, (req, res) => {
    res.json({ ...req.auth, servedBy: process.pid });
  });
  const form = `<form method="post"><label>Password <input type="password" name="password"></label></form>`;
  app.all("/signin", (req, res) => {
    // a form that another site sends must not sign this browser in as somebody else
    const isOurs = req.headers.origin === origin;
    if (!isOurs || !isEqual(req.body?.password, password)) return void res.send(form);
    const session = { subject: "alice", authTime: now() };
    const secure = origin.startsWith("https:");
    res.cookie("session", session, { signed: true, httpOnly: true, sameSite: "lax", secure });
    auth.resume(req, res);
  });
  return app;
}

async function start() {
  const { storage, close } = await openStorage();
  // plain http is for this machine alone: a proxy here puts https in front
  const server = createApp(storage).listen(Number(PORT), "127.0.0.1");

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
