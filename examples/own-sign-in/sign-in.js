// @ts-check
/** The host's sign-in: its session, its page, and the adapter that tells authmount who is at the browser. */
const { randomBytes } = require("node:crypto");
const { promisify } = require("node:util");
const { Router } = require("express");
const session = require("express-session");
const { field, formToken } = require("./form");
const { newGuessLimit } = require("./guesses");
const { html, page } = require("./page");

/** @typedef {import("express").Request} Request */

/** Mount this before `auth.router`, which calls `account` below. @param {{ secure: boolean }} options */
function sessions({ secure }) {
  return session({
    // with __Host- no other host of the domain can set the cookie
    name: secure ? "__Host-session" : "session",
    // take yours from your secret store and add a `store`; otherwise a restart signs everybody out
    secret: randomBytes(32).toString("base64url"),
    resave: false,
    saveUninitialized: false,
    // with `strict`, the browser would leave the cookie out when it comes from a client on another site
    cookie: { httpOnly: true, sameSite: "lax", secure },
  });
}

/**
 * The session as it is stored now. `req.session` is what was stored when the request began, and a caller can make that last for minutes.
 *
 * @type {(req: Request) => Promise<Partial<import("express-session").SessionData>>}
 */
async function storedSession({ sessionStore, sessionID }) {
  return (await promisify(sessionStore.get.bind(sessionStore))(sessionID)) ?? {};
}

/** @type {import("authmount").AuthMethod} */
const account = {
  async authenticate({ req, reauthenticate }) {
    const { person } = await storedSession(req);
    if (!person || reauthenticate) return { kind: "interaction", url: "/sign-in" };
    const { subject, name, authTime } = person;
    return { kind: "authenticated", subject, displayName: name, authTime, amr: ["pwd"] };
  },
};

/** @type {(req: Request, person: import("./types").SignedIn) => Promise<void>} */
async function beginSession(req, person) {
  // a new id: somebody may have planted the old one, and would be signed in with it (session fixation)
  await promisify(req.session.regenerate.bind(req.session))();
  req.session.person = { ...person, authTime: Math.floor(Date.now() / 1000) };
  // otherwise the browser may follow the redirect before express-session has saved the session
  await promisify(req.session.save.bind(req.session))();
}

/** @type {(asking: import("authmount").Interaction | undefined, req: Request) => string} */
function reason(asking, { session: { person } }) {
  if (!asking) return "Sign in to use this site.";
  const { client, api } = asking;
  const again = person ? `Signed in as ${person.name}. Please enter your password again. ` : "";
  return `${again}${client.name} wants to access ${api.name}.`;
}

/** Where people go after sign-in if they did not come from a client. @type {import("express").RequestHandler} */
const homePage = (req, res) => {
  const { person } = req.session;
  const signedIn = html`<p>Signed in as ${person?.name}</p>
    <form method="post" action="/sign-out">${person && formToken(req)}<button>Sign out</button></form>`;
  res.send(page("Home", person ? signedIn : html`<p><a href="/sign-in">Sign in</a></p>`));
};

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
    // the interaction is lost: authmount shows a page that says so
    if (isLost) return auth.resume(req, res, { otherwise: home });
    if (req.query["again"] === undefined) return void res.send(await signInPage(req));
    // the answer to the first of two forms may have signed the person in
    if (req.session.person) return res.redirect(home);
    const problem = "Please try again. If this keeps happening, allow cookies for this site.";
    res.send(await signInPage(req, problem));
  });
  router.post("/sign-in", async (req, res) => {
    const person = await guesses.attempt(req.ip, () =>
      people.findByPassword(field(req, "name"), field(req, "password")),
    );
    if (person === "too many")
      return void res.status(429).send(await signInPage(req, "Too many failed attempts. Try again later."));
    if (!person) return void res.status(403).send(await signInPage(req, "Incorrect name or password."));
    await beginSession(req, person);
    auth.resume(req, res, { otherwise: home });
  });
  router.post("/sign-in/cancel", (req, res) => auth.deny(req, res));
  router.post("/sign-out", async (req, res) => {
    await promisify(req.session.destroy.bind(req.session))();
    res.redirect(303, home);
  });
  return router;
}

module.exports = { account, homePage, sessions, signInPages };
