// @ts-check
/** The host's pages: sign-in, which ends with `auth.resume` or `auth.deny`, and the person's account. */
const { Router } = require("express");
const { html, page } = require("./page");
const { chooseOrganization, organizationName, organizations } = require("./people");

/** @typedef {import("express").Request} Request */
/** @typedef {import("./types").Host} Host */

/** @type {(req: Request, name: string) => string | undefined} */
function field(req, name) {
  const value = /** @type {Record<string, unknown> | undefined} */ (req.body)?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** @param {import("./types").SignInPage} content */
function signInPage({ title, asking, problem, fields, hint }) {
  const why = asking
    ? html`<strong>${asking.client.name}</strong> wants to access <strong>${asking.api.name}</strong>.`
    : "Sign in to see your account.";
  const cancel = `/signin/cancel?interaction=${asking?.interactionId}`;
  const main = html`<p>${why}</p>
    <p role="alert">${problem}</p>
    <form method="post">
      ${fields}
      <p class="buttons">
        <button class="primary">Continue</button>
        ${asking && html`<button formaction="${cancel}" formnovalidate>Cancel</button>`}
      </p>
    </form>
    <div class="hint">${hint}</div>`;
  return page({ title, main });
}

/** @type {(name: string | undefined) => import("./page").Html} */
const nameField = (name) =>
  html`<label>
    Name <input name="name" value="${name}" autocomplete="username" required autofocus />
  </label>`;

/** Whoever belongs to several organizations says for which one they sign in. */
const organizationField = html`<label>
  Organization
  <select name="organization">
    ${Object.entries(organizations).map(([id, name]) => html`<option value="${id}">${name}</option>`)}
  </select>
</label>`;

/** @param {Host} host */
function signInPages({ auth, people, sessions, passwords }) {
  const router = Router();
  const known = Object.entries(passwords).map(
    ([name, password]) =>
      html`<dt>${name}</dt>
        <dd><code>${password}</code></dd>`,
  );
  const passwordHint = html`<p>This is a demo. You can sign in as:</p>
    <dl>${known}</dl>`;
  const names = Object.keys(passwords);
  const codeHint = html`<p>
    This is a demo. You can sign in as ${new Intl.ListFormat("en", { type: "disjunction" }).format(names)}.
    The demo prints the code on its console.
  </p>`;

  /** @type {(exchange: import("./types").Exchange, proved: Omit<import("./types").Proved, "organization">) => void} */
  function finish({ req, res }, proved) {
    sessions.begin({ req, res }, { ...proved, organization: chooseOrganization(field(req, "organization")) });
    goOn({ req, res });
  }

  /** @param {import("./types").Exchange} exchange */
  function goOn({ req, res }) {
    auth.resume(req, res, { otherwise: "/account" });
  }

  /** @type {(req: Request, problem?: string) => Promise<string>} */
  async function passwordPage(req, problem) {
    const asking = await auth.interaction(req);
    const fields = html`${nameField(field(req, "name") ?? asking?.loginHint)}
      <label>
        Password <input name="password" type="password" autocomplete="current-password" required />
      </label>
      ${organizationField}`;
    return signInPage({ title: "Sign in with a password", asking, problem, fields, hint: passwordHint });
  }

  /** @type {(req: Request, sent: string | undefined, problem?: string) => Promise<string>} */
  async function codePage(req, sent, problem) {
    const asking = await auth.interaction(req);
    const fields = sent
      ? html`<input type="hidden" name="sent" value="${sent}" />
          <label>
            Code <input name="code" inputmode="numeric" autocomplete="one-time-code" required autofocus />
          </label>
          ${organizationField}`
      : nameField(asking?.loginHint);
    return signInPage({ title: "Sign in with a one-time code", asking, problem, fields, hint: codeHint });
  }

  router.get("/signin/password", async (req, res) => {
    res.send(await passwordPage(req));
  });
  router.post("/signin/password", async (req, res) => {
    const subject = field(req, "name");
    // a real host limits wrong passwords: ../own-sign-in/guesses.js
    if (subject && (await people.passwordMatches(subject, field(req, "password"))))
      return finish({ req, res }, { subject, method: "password" });
    res.status(403).send(await passwordPage(req, "Incorrect name or password."));
  });

  router.get("/signin/otp", async (req, res) => {
    res.send(await codePage(req, undefined));
  });
  router.post("/signin/otp", async (req, res) => {
    const sent = field(req, "sent");
    if (!sent) return void res.send(await codePage(req, people.sendCode(field(req, "name"))));
    const subject = people.redeemCode(sent, field(req, "code"));
    if (subject) return finish({ req, res }, { subject, method: "otp" });
    if (!people.isCodeWaiting(sent)) {
      // the form was sent twice: the first one has signed the person in, and authmount knows what comes next
      if (sessions.authentication(req, "otp")) return goOn({ req, res });
      return void res
        .status(403)
        .send(await codePage(req, undefined, "This code has expired. Get a new one."));
    }
    res.status(403).send(await codePage(req, sent, "Incorrect code."));
  });

  router.post("/signin/cancel", (req, res) => auth.deny(req, res));
  router.get("/signout", (req, res) => {
    const { interaction } = req.query;
    const main = html`<form method="post" action="/signout" class="buttons">
        <input
          type="hidden"
          name="interaction"
          value="${typeof interaction === "string" ? interaction : ""}"
        />
        <button>Sign out</button>
      </form>
      <p class="hint"><a href="/account">Stay signed in</a></p>`;
    res.send(page({ title: "Sign out here too?", main }));
  });
  router.post("/signout", (req, res) => {
    sessions.end(req);
    // back to the app that has asked for it, if one has
    if (field(req, "interaction")) return auth.resume(req, res);
    res.redirect(303, "/account");
  });
  return router;
}

/**
 * The host's own sessions end first: whoever is still signed in there could approve anew.
 *
 * @type {(host: Pick<Host, "auth" | "sessions">, subject: string) => Promise<void>}
 */
async function signOutEverywhere({ auth, sessions }, subject) {
  sessions.endAll(subject);
  await auth.subjects.revoke(subject);
}

/** @param {Host} host */
function accountPage({ auth, people, sessions }) {
  const router = Router();

  const staffLink = html`<p><a href="/staff/clients">Manage clients</a></p>`;
  /** @param {{ subject: string, organization: string }} session */
  const account = ({ subject, organization }) =>
    html`<p>Signed in as <strong>${subject}</strong> at ${organizationName(organization)}</p>
      <p><a href="/account/apps">Apps with access to your account</a></p>
      ${people.isStaff(subject) ? staffLink : ""}
      <form method="post" action="/signout" class="buttons">
        <button>Sign out</button>
        <button formaction="/account/sign-out-everywhere">Sign out everywhere</button>
      </form>`;

  const signIn = html`<p>
    You’re not signed in. Sign in with <a href="/signin/password">a password</a> or
    <a href="/signin/otp">a one-time code</a>.
  </p>`;

  router.get("/account", (req, res) => {
    const session = sessions.find(req);
    const main = html`${session ? account(session) : signIn}
      <p class="hint"><a href="/">Back to the playground</a></p>`;
    res.send(page({ title: "Your account", main }));
  });

  router.post("/account/sign-out-everywhere", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    if (subject) await signOutEverywhere({ auth, sessions }, subject);
    res.redirect(303, "/account");
  });
  return router;
}

module.exports = { accountPage, signInPages, signOutEverywhere };
