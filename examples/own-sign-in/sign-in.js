// @ts-check
/** The host's sign-in: its session, its page, and the adapter by which authmount asks who is there. */
const { randomBytes } = require("node:crypto");
const { promisify } = require("node:util");
const { Router } = require("express");
const session = require("express-session");
const { field, formToken } = require("./form");
const { newGuessLimit } = require("./guesses");
const { html, page } = require("./page");

/** @typedef {import("express").Request} Request */

/** Ahead of `auth.router`, which asks `password` below. @param {{ secure: boolean }} options */
function sessions({ secure }) {
  return session({
    // with __Host- no other host of the domain can set it
    name: secure ? "__Host-session" : "session",
    // yours comes from your secret store, or a restart signs everybody out; so does a `store`
    secret: randomBytes(32).toString("base64url"),
    resave: false,
    saveUninitialized: false,
    // `strict` would hide the session from the first request that a client sends the browser with
    cookie: { httpOnly: true, sameSite: "lax", secure },
  });
}

/** @type {import("authmount").AuthMethod} */
const password = {
  authenticate({ req, reauthenticate }) {
    const { person } = req.session;
    if (!person || reauthenticate) return { kind: "interaction", url: "/sign-in" };
    const { subject, name, authTime } = person;
    return { kind: "authenticated", subject, displayName: name, authTime, amr: ["pwd"] };
  },
};

/** @type {(req: Request, person: import("./types").Person) => Promise<void>} */
async function beginSession(req, person) {
  // whoever has planted the id of the session so far must not be signed in by it: session fixation
  await promisify(req.session.regenerate.bind(req.session))();
  req.session.person = { ...person, authTime: Math.floor(Date.now() / 1000) };
  // the redirect may be followed before express-session has saved by itself
  await promisify(req.session.save.bind(req.session))();
}

/** @type {(asking: import("authmount").Interaction | undefined, req: Request) => string} */
function reason(asking, { session: { person } }) {
  if (!asking) return "To use this site.";
  const { client, api } = asking;
  const again = person ? `You are ${person.name}; please enter your password again. ` : "";
  return `${again}${client.name} wants to use ${api.name} for you.`;
}

/** @param {import("./types").SignInOptions} options */
function signInPages({ auth, people, home }) {
  const router = Router();
  const guesses = newGuessLimit();

  /** @type {(req: Request, problem?: string) => Promise<string>} */
  async function signInPage(req, problem) {
    const asking = await auth.interaction(req);
    const name = field(req, "name") ?? asking?.loginHint ?? req.session.person?.name;
    const cancel = html`<form method="post" action="/sign-in/cancel?interaction=${asking?.interactionId}">
      ${formToken(req)}<button>Cancel</button>
    </form>`;
    const main = html`<p>${reason(asking, req)}</p>
      <p role="alert">${problem}</p>
      <form method="post">
        ${formToken(req)}
        <p>
          <label>Name <input name="name" value="${name}" autocomplete="username" required /></label>
        </p>
        <p>
          <label>
            Password <input name="password" type="password" autocomplete="current-password" required />
          </label>
        </p>
        <button>Sign in</button>
      </form>
      ${asking && cancel}`;
    return page("Sign in", main);
  }

  router.get("/sign-in", async (req, res) => {
    const isLost = req.query["interaction"] !== undefined && !(await auth.interaction(req));
    // authmount has a page that says so
    if (isLost) return auth.resume(req, res);
    res.send(await signInPage(req));
  });
  router.post("/sign-in", async (req, res) => {
    const person = await guesses.attempt(req.ip, () =>
      people.findByPassword(field(req, "name"), field(req, "password")),
    );
    if (person === "too many")
      return void res.status(429).send(await signInPage(req, "Too many wrong passwords. Try again later."));
    if (!person)
      return void res.status(403).send(await signInPage(req, "The name or the password is wrong."));
    await beginSession(req, person);
    if (req.query["interaction"] === undefined) res.redirect(303, home);
    else auth.resume(req, res);
  });
  router.post("/sign-in/cancel", (req, res) => auth.deny(req, res));
  router.post("/sign-out", async (req, res) => {
    await promisify(req.session.destroy.bind(req.session))();
    res.redirect(303, home);
  });
  return router;
}

module.exports = { password, sessions, signInPages };
