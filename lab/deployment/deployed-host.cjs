/** What a host adds to the server of docs/deployment.md: sign-in with a session that all processes can read, and pages of the test. */
"use strict";

const cookieParser = require("cookie-parser");

// the proxy of a test may run as another user
if (process.env["PORT"]?.startsWith("/")) process.umask(0);

const parseCookies = cookieParser(process.env["SESSION_SECRET"]);

/** The two constants that the page leaves to the host. */
const given = {
  account: {
    authenticate({ req }) {
      parseCookies(req, undefined, () => undefined);
      const subject = req.signedCookies["session"];
      return subject ? { kind: "authenticated", subject } : { kind: "interaction", url: "/signin" };
    },
  },
  onEvent({ kind, cause }) {
    if (kind === "server-error" || kind === "replay-detected")
      process.stderr.write(`${kind} ${cause?.stack}\n`);
  },
};

/** Routes after those of the page. */
function addPages({ app, auth, server }) {
  // whoever asks can see which process has answered
  server.prependListener("request", (_req, res) => void res.setHeader("X-Served-By", String(process.pid)));
  app.get(
    "/signin",
    (_req, res) => void res.type("html").send("<form method=post><button>Sign in</button></form>"),
  );
  app.post("/signin", parseCookies, (req, res) => {
    const session = { httpOnly: true, secure: req.secure, signed: true, sameSite: "lax" };
    res.cookie("session", String(req.query["as"] ?? "alice"), session);
    // as big as a session cookie gets: it comes along with that of the pending request
    res.cookie("padding", "p".repeat(3_500), { ...session, signed: false });
    auth.resume(req, res, { otherwise: "/" });
  });
  app.get("/seen", (req, res) => {
    const { ip, protocol, secure, hostname, httpVersion, headers } = req;
    res.json({ ip, protocol, secure, hostname, httpVersion, forwardedFor: headers["x-forwarded-for"] });
  });
  app.get("/big", (_req, res) => void res.set("X-Big", "b".repeat(7_000)).send("big"));
}

module.exports = { given, addPages };
