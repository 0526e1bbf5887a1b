// @ts-check
/** A worker: the host's app. It keeps nothing in memory between two requests, so any worker can serve any request. */
const { createHash, timingSafeEqual } = require("node:crypto");
const path = require("node:path");
const cookieParser = require("cookie-parser");
const express = require("express");
const { createAuthServer } = require("authmount");
const { openStorage } = require("./storage");

const { PORT = "3000", SECRETS = "", SIGNING_KEYS = "[]" } = process.env;
const origin = `http://localhost:${PORT}`;
const sessionSeconds = 8 * 3_600;
const now = () => Math.floor(Date.now() / 1000);

/**
 * A setting that every worker needs. If it were missing or empty, anybody could sign in.
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

/** Compares in constant time, whatever the lengths are. @type {(sent: unknown, expected: string) => boolean} */
const isEqual = (sent, expected) =>
  typeof sent === "string" && timingSafeEqual(digest(sent), digest(expected));

/** @type {(title: string, main: string) => string} */
const page = (title, main) => `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
<main><h1>${title}</h1>${main}</main>
</html>`;
const form = `<form method="post">
  <label>Password <input type="password" name="password" autocomplete="current-password"></label>
  <button>Sign in</button>
</form>`;

/** @param {import("authmount").Storage} storage */
function createApp(storage) {
  const password = setting("PASSWORD", 12);
  const sessionSecret = setting("SESSION_SECRET", 32);
  const auth = createAuthServer({
    baseUrl: `${origin}/oauth`,
    secrets: SECRETS.split(" "),
    signingKeys: JSON.parse(SIGNING_KEYS),
    storage,
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["account"],
        scopes: { read: "See your orders" },
      },
    },
    authMethods: {
      account: {
        authenticate({ req, reauthenticate }) {
          // the signed cookie contains the session itself, so every worker can read it
          const { subject, authTime } = req.signedCookies["session"] || {};
          if (reauthenticate || !(authTime > now() - sessionSeconds))
            return { kind: "interaction", url: "/signin" };
          return { kind: "authenticated", subject, authTime };
        },
      },
    },
    onEvent(event) {
      if (event.kind !== "server-error") return;
      // do not print the message: a database driver's message may contain the values of a query
      const { name, code } = Object(event.cause);
      console.error("server-error", name, code);
    },
  });

  const app = express().use(cookieParser(sessionSecret), express.urlencoded({ extended: false }));
  app.use("/oauth", auth.router).use(auth.wellKnown);
  const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
  app.get("/orders", forPeople, (req, res) => {
    res.json({ ...auth.accessToken(req), servedBy: process.pid });
  });
  app.use(express.static(path.join(__dirname, "../look")));
  // stands for a page of the shop; markup in the address comes out percent-encoded
  app.get("/", (req, res) => {
    res.send(page("Back at the shop", `<p>${new URL(req.url, origin).searchParams.toString()}</p>`));
  });
  app.all("/signin", (req, res) => {
    // another site must not be able to send this form and sign this browser in as somebody else
    const isOurs = req.headers.origin === origin;
    if (!isOurs || !isEqual(req.body?.password, password)) return void res.send(page("Sign in", form));
    const session = { subject: "alice", authTime: now() };
    const secure = origin.startsWith("https:");
    res.cookie("session", session, { signed: true, httpOnly: true, sameSite: "lax", secure });
    auth.resume(req, res, { otherwise: "/" });
  });
  return app;
}

async function start() {
  const { storage, close } = await openStorage();
  // plain http, so only this machine may connect: a proxy on it puts https in front
  const server = createApp(storage).listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) throw error;
  });

  /** Accepts no more connections, answers the requests that have arrived, and only then closes the storage. */
  function stop() {
    setTimeout(() => process.exit(1), 10_000).unref(); // a client that never ends its request must not keep this process alive
    server.close(() => void close().finally(() => process.exit()));
  }
  process.once("SIGTERM", stop);
  // Ctrl-C reaches every process of the terminal; the first process tells the workers when to stop
  process.on("SIGINT", () => undefined);
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
