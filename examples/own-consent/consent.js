// @ts-check
/** Who has to be asked, and the page that asks: what a client may do, and for which organization. */
const { promisify } = require("node:util");
const { Router } = require("express");
const { field, formToken } = require("../own-sign-in/form");
const { html, page } = require("../own-sign-in/page");
const { contextOf, organizationOf, organizationsOf } = require("./organizations");

/** @typedef {import("../own-sign-in/page").Html} Html */
/** @typedef {import("express").Request} Request */

/** The catalogue is the same for everybody, so nobody has to be asked. */
const scopesWithoutQuestion = new Set(["catalogue:read"]);

/** @type {import("authmount").ConsentAdapter} */
const consent = {
  decide({ client, scopes, prompt }) {
    const requested = Object.keys(scopes);
    const isHarmless = requested.length > 0 && requested.every((scope) => scopesWithoutQuestion.has(scope));
    // a client that nobody has registered could be anybody's: people are always asked
    if (isHarmless && !client.selfDescribed && !prompt.includes("consent"))
      return { kind: "granted", scopes: requested };
    return { kind: "interaction", url: "/consent" };
  },
};

/** A person may allow some of the requested scopes and not the rest. @type {(scope: string, sentence: string) => Html} */
const choice = (scope, sentence) =>
  scopesWithoutQuestion.has(scope)
    ? html`<p>${sentence}</p>`
    : html`<p>
        <label><input type="checkbox" name="scope ${scope}" value="on" checked /> ${sentence}</label>
      </p>`;

/** @type {(req: Request, subject: string) => Html[]} */
function organizationChoices({ session }, subject) {
  const own = organizationsOf(subject);
  const chosen = organizationOf(subject, session.organizationId) ?? own[0];
  return own.map(
    (organization) =>
      html`<p>
        <label>
          <input
            type="radio"
            name="organization"
            value="${organization.id}"
            required
            ${organization === chosen ? html`checked` : undefined}
          />
          ${organization.name}
        </label>
      </p>`,
  );
}

/**
 * @param {import("authmount").AuthServer} auth
 * @param {{ subject: string, clientId: string, apiId: string }} asked
 */
async function hasAllowed(auth, { subject, clientId, apiId }) {
  /** @type {string | undefined} */
  let after;
  do {
    const { consents, next } = await auth.consents.list(subject, { after });
    if (consents.some((one) => one.clientId === clientId && one.apiId === apiId)) return true;
    after = next;
  } while (after !== undefined);
  return false;
}

/**
 * What people must know of a client that nobody has registered. It stands ahead of the form, and leaves out the client's name, which can be
 * any sentence. To see who is new here, it looks at what the person has allowed.
 *
 * @param {import("authmount").AuthServer} auth
 * @param {{ asking: import("authmount").AuthorizationSummary, subject: string }} question
 */
async function warning(auth, { asking, subject }) {
  const { client, api, destination } = asking;
  if (!client.selfDescribed) return;
  const isKnown = await hasAllowed(auth, { subject, clientId: client.clientId, apiId: api.apiId });
  const { host } = client.selfDescribed;
  return html`<div role="note">
    <p>This site hasn’t verified this app. Anyone can use this name.</p>
    ${host === undefined ? undefined : html`<p>Check where this app comes from: <strong>${host}</strong>.</p>`}
    ${isKnown ? undefined : html`<p>You haven’t used this app here before.</p>`}
    ${
      destination.startsWith("https:")
        ? html`<p>
            Your answer will be sent to <strong>${destination}</strong>. Allow access only if you know and
            trust that site.
          </p>`
        : html`<p>
            Your answer will be sent to an app on this device. This site can’t tell which one. Allow access
            only if you just started this yourself, in an app you trust.
          </p>`
    }
  </div>`;
}

/** @param {import("authmount").AuthServer} auth */
function consentPages(auth) {
  const router = Router();

  router.get("/consent", async (req, res) => {
    const asking = await auth.interaction(req);
    const { person } = req.session;
    // no request is pending any more, or the session has ended: authmount knows what to do next
    if (!asking || !person) return auth.resume(req, res, { otherwise: "/" });
    const { client, api, scopes, destination } = asking;
    const main = html`${await warning(auth, { asking, subject: person.subject })}
      <p>Signed in as <strong>${person.name}</strong></p>
      <form method="post">
        ${formToken(req)}
        <fieldset>
          <legend>For which organization?</legend>
          ${organizationChoices(req, person.subject)}
        </fieldset>
        <fieldset>
          <legend>${client.name} will be able to:</legend>
          ${Object.entries(scopes).map(([scope, sentence]) => choice(scope, sentence))}
        </fieldset>
        <button name="decision" value="approve">Allow</button>
        <button name="decision" value="deny">Don’t allow</button>
        <p>Either way, you will be taken to ${destination}.</p>
      </form>`;
    res.send(page(`Allow ${client.name} to access ${api.name}?`, main));
  });

  router.post("/consent", async (req, res) => {
    if (field(req, "decision") !== "approve") return auth.deny(req, res);
    const { person } = req.session;
    if (!person) return auth.resume(req, res, { otherwise: "/" });
    // never take the id as it comes: anybody can put another organization into the form
    const organization = organizationOf(person.subject, field(req, "organization"));
    if (!organization) {
      const main = html`<p>Go back and choose one of your organizations. No access was granted.</p>`;
      return void res.status(403).send(page("You don’t belong to this organization", main));
    }
    req.session.organizationId = organization.id;
    await promisify(req.session.save.bind(req.session))();
    const requested = Object.keys((await auth.interaction(req))?.scopes ?? {});
    const isAllowed = (/** @type {string} */ scope) =>
      scopesWithoutQuestion.has(scope) || field(req, `scope ${scope}`) === "on";
    const scopes = requested.filter(isAllowed);
    await auth.approve(req, res, { scopes, context: contextOf(organization) });
  });
  return router;
}

module.exports = { consent, consentPages };
