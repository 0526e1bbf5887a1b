// @ts-check
/** The page where people see where they are signed in and what they have allowed, and end it. */
const { promisify } = require("node:util");
const { Router } = require("express");
const { field, formToken } = require("../own-sign-in/form");
const { html, page } = require("../own-sign-in/page");

/** @typedef {import("../own-sign-in/page").Html} Html */
/** @typedef {import("./types").AccountOptions} AccountOptions */
/** @typedef {import("express").Request} Request */
/** @typedef {Map<string, import("authmount").Client | undefined>} Clients */

/** @type {(seconds: number) => Html} */
function date(seconds) {
  const at = new Date(seconds * 1000);
  const text = at.toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });
  return html`<time datetime="${at.toISOString()}">${text}</time>`;
}

/** @type {(seconds: number) => Html} */
function moment(seconds) {
  const at = new Date(seconds * 1000);
  const text = at.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  return html`<time datetime="${at.toISOString()}">${text} UTC</time>`;
}

/**
 * What the ids stand for. authmount gives ids; the host knows the names, unless the client or API no longer exists.
 *
 * @param {{ clientId: string, apiId: string, contextKey?: string }} ids
 * @param {Pick<AccountOptions, "apis" | "contextName"> & { clients: Clients }} known
 */
function namesOf({ clientId, apiId, contextKey = "" }, { clients, apis, contextName }) {
  const client = clients.get(clientId);
  const context = contextKey === "" ? undefined : (contextName?.(contextKey) ?? contextKey);
  return {
    client: client?.name ?? clientId,
    isTrusted: client?.trusted === true || client?.subscriptions[apiId]?.trusted === true,
    api: apis[apiId]?.name ?? apiId,
    scopes: apis[apiId]?.scopes ?? {},
    forContext: context === undefined ? undefined : html` for <strong>${context}</strong>`,
  };
}

/** @param {AccountOptions} options */
function accountPages(options) {
  const { auth, people } = options;
  const router = Router();

  /** @type {(req: Request, shown: { authorization: import("authmount").ActiveAuthorization, clients: Clients }) => Html} */
  function login(req, { authorization, clients }) {
    const { authorizationId, createdAt, lastUsedAt } = authorization;
    const { client, isTrusted, api, forContext } = namesOf(authorization, { ...options, clients });
    const lastUsed =
      lastUsedAt === undefined ? html`Not used yet.` : html`Last used on ${moment(lastUsedAt)}.`;
    return html`<section>
      <h3>${client}</h3>
      <p>Uses ${api}${forContext}. Signed in on ${moment(createdAt)}. ${lastUsed}</p>
      ${isTrusted ? html`<p>This site trusts this app, so it doesn’t ask for your permission.</p>` : undefined}
      <form method="post" action="/account/end">
        ${formToken(req)}
        <input type="hidden" name="authorization_id" value="${authorizationId}" />
        <button>Sign out of ${client}</button>
      </form>
    </section>`;
  }

  /** @type {(req: Request, shown: { consent: import("authmount").Consent, clients: Clients }) => Html} */
  function allowed(req, { consent, clients }) {
    const { clientId, apiId, contextKey = "", grantedAt, expiresAt } = consent;
    const { client, api, scopes, forContext } = namesOf(consent, { ...options, clients });
    return html`<section>
      <h3>${client}</h3>
      <p>Access to ${api}${forContext}:</p>
      <ul>
        ${consent.scopes.map((scope) => html`<li>${scopes[scope] ?? scope}</li>`)}
      </ul>
      <p>Allowed on ${date(grantedAt)}. Expires on ${date(expiresAt)}.</p>
      <form method="post" action="/account/withdraw">
        ${formToken(req)}
        <input type="hidden" name="client_id" value="${clientId}" />
        <input type="hidden" name="api_id" value="${apiId}" />
        <input type="hidden" name="context_key" value="${contextKey}" />
        <button>Remove access</button>
      </form>
    </section>`;
  }

  router.get("/account", async (req, res) => {
    const { person } = req.session;
    if (!person) return res.redirect("/sign-in");
    const { after, allowed_after: allowedAfter } = req.query;
    const [{ authorizations, next }, { consents, next: nextConsents }] = await Promise.all([
      auth.authorizations.list(person.subject, typeof after === "string" ? { after } : {}),
      auth.consents.list(person.subject, typeof allowedAfter === "string" ? { after: allowedAfter } : {}),
    ]);
    // one client after the other: a page of a hundred must not ask the table a hundred things at once
    /** @type {Clients} */
    const clients = new Map();
    for (const { clientId } of [...authorizations, ...consents])
      if (!clients.has(clientId)) clients.set(clientId, await options.clients.find(clientId));
    const logins = authorizations.map((each) => login(req, { authorization: each, clients }));
    const consentItems = consents.map((each) => allowed(req, { consent: each, clients }));
    const more = html`<p><a href="/account?after=${encodeURIComponent(next ?? "")}">More logins</a></p>`;
    const moreConsents = html`<p>
      <a href="/account?allowed_after=${encodeURIComponent(nextConsents ?? "")}">More apps</a>
    </p>`;
    const main = html`<p>Signed in as <strong>${person.name}</strong></p>
      <section aria-labelledby="logins">
        <h2 id="logins">Where you are signed in</h2>
        ${logins.length === 0 ? html`<p>No apps are signed in.</p>` : logins}
        ${after === undefined ? undefined : html`<p><a href="/account">Back to the first logins</a></p>`}
        ${next === undefined ? undefined : more}
      </section>
      <section aria-labelledby="consents">
        <h2 id="consents">Apps with access</h2>
        ${consentItems.length === 0 ? html`<p>No apps have access.</p>` : consentItems}
        ${nextConsents === undefined ? undefined : moreConsents}
      </section>
      <form method="post" action="/sign-out">${formToken(req)}<button>Sign out</button></form>
      <form method="post" action="/account/sign-out-everywhere">
        ${formToken(req)}<button>Sign out everywhere</button>
      </form>
      <p><a href="/account/delete">Delete my account</a></p>`;
    res.send(page("Your account", main));
  });

  // whose login or consent it is comes from the session, never from the form
  router.post("/account/end", async (req, res) => {
    const [subject, authorizationId] = [req.session.person?.subject, field(req, "authorization_id")];
    if (subject && authorizationId) await auth.authorizations.revoke({ subject, authorizationId });
    res.redirect(303, "/account");
  });
  router.post("/account/withdraw", async (req, res) => {
    const [clientId, apiId] = [field(req, "client_id"), field(req, "api_id")];
    const contextKey = field(req, "context_key") ?? "";
    const subject = req.session.person?.subject;
    if (subject && clientId && apiId) await auth.consents.revoke({ subject, clientId, apiId, contextKey });
    res.redirect(303, "/account");
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
    const { person } = req.session;
    if (!person) return res.redirect("/sign-in");
    const main = html`<p>You are signed in as <strong>${person.name}</strong>. This can’t be undone.</p>
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

module.exports = { accountPages };
