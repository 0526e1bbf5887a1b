// @ts-check
/** The page where people see what they have allowed and withdraw it. */
const { Router } = require("express");
const { field, formToken } = require("../own-sign-in/form");
const { html, page } = require("../own-sign-in/page");

/** @typedef {import("../own-sign-in/page").Html} Html */
/** @typedef {import("./types").AccountOptions} AccountOptions */

/** @type {(seconds: number) => Html} */
function date(seconds) {
  const at = new Date(seconds * 1000);
  return html`<time datetime="${at.toISOString()}"
    >${at.toLocaleDateString("en-GB", { dateStyle: "long" })}</time
  >`;
}

/**
 * A consent in words. authmount gives ids; the host knows what they stand for, unless the client or API no longer exists.
 *
 * @type {(consent: import("authmount").Consent, known: Pick<AccountOptions, "clients" | "apis">) => Promise<Html>}
 */
async function describe({ clientId, apiId, scopes, grantedAt, expiresAt }, { clients, apis }) {
  const client = await clients.find(clientId);
  const api = apis[apiId];
  return html`<h2>${client?.name ?? clientId}</h2>
    <p>It may use ${api?.name ?? apiId} to:</p>
    <ul>
      ${scopes.map((scope) => html`<li>${api?.scopes[scope] ?? scope}</li>`)}
    </ul>
    <p>Allowed on ${date(grantedAt)}, until ${date(expiresAt)}.</p>`;
}

/** @param {AccountOptions} options */
function accountPages({ auth, clients, apis }) {
  const router = Router();

  router.get("/account", async (req, res) => {
    const { person } = req.session;
    if (!person) return res.redirect("/sign-in");
    const token = formToken(req);
    const consents = await auth.consents.list(person.subject);
    const items = consents.map(
      async (consent) =>
        html`<section>
          ${await describe(consent, { clients, apis })}
          <form method="post" action="/account/withdraw">
            ${token}
            <input type="hidden" name="client_id" value="${consent.clientId}" />
            <input type="hidden" name="api_id" value="${consent.apiId}" />
            <button>Withdraw</button>
          </form>
        </section>`,
    );
    const main = html`<p>You are <strong>${person.name}</strong>.</p>
      ${consents.length === 0 ? html`<p>You have allowed nothing.</p>` : undefined}
      ${await Promise.all(items)}
      <form method="post" action="/sign-out">${token}<button>Sign out</button></form>`;
    res.send(page("What you have allowed", main));
  });

  router.post("/account/withdraw", async (req, res) => {
    const [clientId, apiId] = [field(req, "client_id"), field(req, "api_id")];
    // whose consent it is comes from the session, never from the form
    const subject = req.session.person?.subject;
    if (subject && clientId && apiId) await auth.consents.revoke({ subject, clientId, apiId });
    res.redirect(303, "/account");
  });
  return router;
}

module.exports = { accountPages };
