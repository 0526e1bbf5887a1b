// @ts-check
/** The host's pages: sign-in, which ends with `auth.resume` or `auth.deny`, and the person's account. */
const { Router } = require("express");
const { html, page } = require("./page");

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
    ? html`<strong>${asking.client.name}</strong> wants to use <strong>${asking.api.name}</strong> for you.`
    : "To see your account.";
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

/** @param {Host} host */
function signInPages({ auth, people, sessions, passwords }) {
  const router = Router();
  const known = Object.entries(passwords).map(
    ([name, password]) =>
      html`<dt>${name}</dt>
        <dd><code>${password}</code></dd>`,
  );
  const passwordHint = html`<p>This is a demo. Its people and their passwords:</p>
    <dl>${known}</dl>`;
  const codeHint = html`<p>
    This is a demo. Its people are ${Object.keys(passwords).join(" and ")}. It prints the code on its console.
  </p>`;

  /** @type {(exchange: import("./types").Exchange, proved: import("./types").Proved) => void} */
  function finish({ req, res }, proved) {
    sessions.begin({ req, res }, proved);
    if (req.query["interaction"] === undefined) res.redirect(303, "/account");
    else auth.resume(req, res);
  }

  /** @type {(req: Request, problem?: string) => Promise<string>} */
  async function passwordPage(req, problem) {
    const asking = await auth.interaction(req);
    const fields = html`${nameField(field(req, "name") ?? asking?.loginHint)}
      <label>
        Password <input name="password" type="password" autocomplete="current-password" required />
      </label>`;
    return signInPage({ title: "Sign in with a password", asking, problem, fields, hint: passwordHint });
  }

  /** @type {(req: Request, sent: string | undefined, problem?: string) => Promise<string>} */
  async function codePage(req, sent, problem) {
    const asking = await auth.interaction(req);
    const fields = sent
      ? html`<input type="hidden" name="sent" value="${sent}" />
          <label>
            Code <input name="code" inputmode="numeric" autocomplete="one-time-code" required autofocus />
          </label>`
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
    res.status(403).send(await passwordPage(req, "The name or the password is wrong."));
  });

  router.get("/signin/otp", async (req, res) => {
    res.send(await codePage(req, undefined));
  });
  router.post("/signin/otp", async (req, res) => {
    const sent = field(req, "sent");
    if (!sent) return void res.send(await codePage(req, people.sendCode(field(req, "name"))));
    const subject = people.redeemCode(sent, field(req, "code"));
    if (subject) return finish({ req, res }, { subject, method: "otp" });
    res.status(403).send(await codePage(req, sent, "The code is wrong or too old."));
  });

  router.post("/signin/cancel", (req, res) => auth.deny(req, res));
  router.post("/signout", (req, res) => {
    sessions.end(req);
    res.redirect(303, "/account");
  });
  return router;
}

/** @param {Host} host */
function accountPages({ auth, sessions, clients, apis }) {
  const router = Router();

  /** People know clients, APIs and scopes by their names, not by their ids. @type {(consent: import("authmount").Consent) => import("./page").Html} */
  function consentItem({ clientId, apiId, scopes, grantedAt }) {
    const clientName = clients.find((client) => client.clientId === clientId)?.name ?? clientId;
    const api = apis[apiId];
    const allowed = scopes.map((scope) => html`<li>${api?.scopes[scope] ?? scope}</li>`);
    return html`<li class="consent">
      <h2>${clientName} uses ${api?.name ?? apiId}</h2>
      <ul>
        ${allowed}
      </ul>
      <form method="post" action="/account/revoke">
        <input type="hidden" name="clientId" value="${clientId}" />
        <input type="hidden" name="apiId" value="${apiId}" />
        <small>Allowed at ${new Date(grantedAt * 1000).toLocaleTimeString("en-GB")}</small>
        <button aria-label="Withdraw what ${clientName} may do at ${api?.name ?? apiId}">Withdraw</button>
      </form>
    </li>`;
  }

  router.get("/account", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    const consents = subject === undefined ? [] : await auth.consents.list(subject);
    const signIn = html`<p>
      Nobody is signed in. Sign in with <a href="/signin/password">a password</a> or
      <a href="/signin/otp">a one-time code</a>.
    </p>`;
    const account = html`<p>
        You are <strong>${subject}</strong>.
        ${consents.length === 0 ? "You have allowed nothing yet." : "You have allowed the following. Withdraw it, and the tokens stop working at once."}
      </p>
      <ul class="consents">
        ${consents.map(consentItem)}
      </ul>
      <form method="post" action="/signout"><button>Sign out</button></form>`;
    const main = html`${subject === undefined ? signIn : account}
      <p class="hint"><a href="/">Back to the playground</a></p>`;
    res.send(page({ title: "Your account", main }));
  });

  router.post("/account/revoke", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    const [clientId, apiId] = [field(req, "clientId"), field(req, "apiId")];
    if (subject && clientId && apiId) await auth.consents.revoke({ subject, clientId, apiId });
    res.redirect(303, "/account");
  });
  return router;
}

module.exports = { accountPages, signInPages };
