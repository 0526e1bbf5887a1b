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
  const codeHint = html`<p>
    This is a demo. You can sign in as ${Object.keys(passwords).join(" or ")}. The demo prints the code on its
    console.
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
  router.post("/signout", (req, res) => {
    sessions.end(req);
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

/** @param {number} seconds since 1970 */
const time = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

/** @param {Host} host */
function accountPages({ auth, sessions, clients, apis }) {
  const router = Router();

  /**
   * People know clients, APIs and organizations by their names, not by their ids.
   *
   * @type {(ids: { clientId: string, apiId: string, contextKey?: string }) => string}
   */
  function useOf({ clientId, apiId, contextKey = "" }) {
    const clientName = clients.find((client) => client.clientId === clientId)?.name ?? clientId;
    return `${clientName} uses ${apis[apiId]?.name ?? apiId} for ${organizationName(contextKey)}`;
  }

  /** @param {import("authmount").Consent} consent */
  function consentItem({ scopes, grantedAt, ...ids }) {
    const { clientId, apiId, contextKey } = ids;
    const allowed = scopes.map((scope) => html`<li>${apis[apiId]?.scopes[scope] ?? scope}</li>`);
    return html`<li class="consent">
      <h3>${useOf(ids)}</h3>
      <ul>
        ${allowed}
      </ul>
      <form method="post" action="/account/revoke">
        <input type="hidden" name="clientId" value="${clientId}" />
        <input type="hidden" name="apiId" value="${apiId}" />
        <input type="hidden" name="contextKey" value="${contextKey}" />
        <small>Allowed at ${time(grantedAt)}</small>
        <button aria-label="Remove access: ${useOf(ids)}">Remove access</button>
      </form>
    </li>`;
  }

  /** @param {import("authmount").ActiveAuthorization} login */
  function loginItem({ authorizationId, createdAt, lastUsedAt = createdAt, ...ids }) {
    return html`<li class="consent">
      <h3>${useOf(ids)}</h3>
      <form method="post" action="/account/end">
        <input type="hidden" name="authorizationId" value="${authorizationId}" />
        <small>Signed in at ${time(createdAt)}, last used at ${time(lastUsedAt)}</small>
        <button aria-label="Sign out: ${useOf(ids)}, since ${time(createdAt)}">Sign out</button>
      </form>
    </li>`;
  }

  /** @type {(session: { subject: string, organization: string }, query: import("express").Request["query"]) => Promise<import("./page").Html>} */
  async function account({ subject, organization }, { after, allowed_after: allowedAfter }) {
    const from = typeof after === "string" ? { after } : {};
    const [{ consents, next: nextConsents }, { authorizations, next }] = await Promise.all([
      auth.consents.list(subject, typeof allowedAfter === "string" ? { after: allowedAfter } : {}),
      auth.authorizations.list(subject, from),
    ]);
    return html`<p>Signed in as <strong>${subject}</strong> at ${organizationName(organization)}</p>
      <h2>Apps with access</h2>
      <p>
        ${consents.length === 0 ? "No apps have access." : "If you remove an app’s access, its tokens stop working at once."}
      </p>
      <ul class="consents">
        ${consents.map(consentItem)}
      </ul>
      ${nextConsents && html`<p><a href="/account?allowed_after=${encodeURIComponent(nextConsents)}">More apps</a></p>`}
      <h2>Where you are signed in</h2>
      <p>
        ${authorizations.length === 0 ? "No apps are signed in." : "If you sign an app out, it keeps its access and can sign you in again."}
      </p>
      <ul class="consents">
        ${authorizations.map(loginItem)}
      </ul>
      ${next && html`<p><a href="/account?after=${next}">Older logins</a></p>`}
      <form method="post" action="/signout" class="buttons">
        <button>Sign out</button>
        <button formaction="/account/sign-out-everywhere">Sign out everywhere</button>
      </form>`;
  }

  const signIn = html`<p>
    You’re not signed in. Sign in with <a href="/signin/password">a password</a> or
    <a href="/signin/otp">a one-time code</a>.
  </p>`;

  router.get("/account", async (req, res) => {
    const session = sessions.find(req);
    const main = html`${session ? await account(session, req.query) : signIn}
      <p class="hint"><a href="/">Back to the playground</a></p>`;
    res.send(page({ title: "Your account", main }));
  });

  router.post("/account/revoke", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    const [clientId, apiId, contextKey] = ["clientId", "apiId", "contextKey"].map((name) => field(req, name));
    if (subject && clientId && apiId && contextKey)
      await auth.consents.revoke({ subject, clientId, apiId, contextKey });
    res.redirect(303, "/account");
  });
  router.post("/account/end", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    const authorizationId = field(req, "authorizationId");
    // with the subject, so that nobody ends somebody else's
    if (subject && authorizationId) await auth.authorizations.revoke({ subject, authorizationId });
    res.redirect(303, "/account");
  });
  router.post("/account/sign-out-everywhere", async (req, res) => {
    const subject = sessions.find(req)?.subject;
    if (subject) await signOutEverywhere({ auth, sessions }, subject);
    res.redirect(303, "/account");
  });
  return router;
}

module.exports = { accountPages, signInPages, signOutEverywhere };
