// @ts-check
/** The pages around `accountPages` that a host writes itself: who is at the browser, and the ends of its own sessions. */
const { promisify } = require("node:util");
const { Router } = require("express");
const { formToken } = require("../own-sign-in/form");
const { html, page } = require("../own-sign-in/page");

/** Who is at the browser, for `accountPages`. @type {import("authmount/portal").AccountPagesOptions["person"]} */
function person({ req: { session } }) {
  if (!session.person) return { kind: "interaction", url: "/sign-in" };
  const { subject, name: displayName } = session.person;
  return { kind: "authenticated", subject, displayName };
}

/** @param {import("./types").AccountOptions} options */
function endingPages({ auth, people }) {
  const router = Router();

  router.get("/account", (req, res) => {
    if (!req.session.person) return res.redirect("/sign-in");
    const main = html`<p>Signed in as <strong>${req.session.person.name}</strong></p>
      <p><a href="/account/apps">Apps with access to your account</a></p>
      <form method="post" action="/sign-out">${formToken(req)}<button>Sign out</button></form>
      <form method="post" action="/account/sign-out-everywhere">
        ${formToken(req)}<button>Sign out everywhere</button>
      </form>
      <p><a href="/account/delete">Delete my account</a></p>`;
    res.send(page("Your account", main));
  });

  router.post("/account/sign-out-everywhere", async (req, res) => {
    const subject = req.session.person?.subject;
    if (subject) {
      // first the sessions: whoever is still signed in here could get new tokens at once
      people.endSessions(subject);
      await auth.subjects.revoke(subject);
    }
    await promisify(req.session.destroy.bind(req.session))();
    res.redirect(303, "/sign-in");
  });

  router.get("/account/delete", (req, res) => {
    if (!req.session.person) return res.redirect("/sign-in");
    const main = html`<p>
        You are signed in as <strong>${req.session.person.name}</strong>. This can’t be undone.
      </p>
      <form method="post">${formToken(req)}<button>Delete my account</button></form>
      <p><a href="/account">Keep my account</a></p>`;
    res.send(page("Delete your account?", main));
  });
  router.post("/account/delete", async (req, res) => {
    const subject = req.session.person?.subject;
    if (!subject) return res.redirect(303, "/sign-in");
    // first the person and the sessions, for the same reason
    people.remove(subject);
    await auth.subjects.erase(subject);
    await promisify(req.session.destroy.bind(req.session))();
    res.send(page("Your account was deleted", html`<p>This site no longer has any of your data.</p>`));
  });
  return router;
}

module.exports = { endingPages, person };
