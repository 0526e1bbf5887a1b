// @ts-check
/** A host that decides about consent and asks for it on its own page. */
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("authmount");
const { field, formToken, requireFormToken } = require("../own-sign-in/form");
const { clientPage, html, look, page, pageHeaders } = require("../own-sign-in/page");
const { newPeople } = require("../own-sign-in/people");
const { homePage, password, sessions, signInPages } = require("../own-sign-in/sign-in");

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;
const { secret, digest } = generateClientSecret(); // the shop keeps the secret, you keep its digest
const passwords = { alice: crypto.randomUUID(), bob: crypto.randomUUID() };

/** The catalogue is the same for everybody, so nobody has to be asked. */
const scopesWithoutQuestion = new Set(["catalogue:read"]);

/** @type {import("authmount").ConsentAdapter} */
const consent = {
  decide({ scopes, prompt }) {
    const requested = Object.keys(scopes);
    const isHarmless = requested.length > 0 && requested.every((scope) => scopesWithoutQuestion.has(scope));
    if (isHarmless && !prompt.includes("consent")) return { kind: "granted", scopes: requested };
    return { kind: "interaction", url: "/consent" };
  },
};

/** @type {import("authmount").Client} */
const shop = {
  clientId: "shop",
  name: "Shop",
  confidential: true,
  secretDigests: [digest],
  redirectUris: [`${origin}/callback`],
  subscriptions: { orders: {} },
};

const auth = createAuthServer({
  baseUrl: `${origin}/login`,
  storage: memoryStorage({ clients: [shop] }),
  authMethods: { password },
  consent,
  apis: {
    orders: {
      name: "Orders",
      audience: `${origin}/orders`,
      authMethods: ["password"],
      scopes: {
        "catalogue:read": "See the catalogue",
        "orders:read": "See your orders",
        "orders:write": "Order things in your name",
      },
    },
  },
});

/** A person may allow some of the requested scopes and not the rest. @type {(scope: string, sentence: string) => import("../own-sign-in/page").Html} */
const choice = (scope, sentence) =>
  scopesWithoutQuestion.has(scope)
    ? html`<p>${sentence}</p>`
    : html`<p>
        <label><input type="checkbox" name="scope ${scope}" value="on" checked /> ${sentence}</label>
      </p>`;

const consentPages = express.Router();
consentPages.get("/consent", async (req, res) => {
  const asking = await auth.interaction(req);
  const { person } = req.session;
  // no request is pending any more, or the session has ended: authmount knows what to do next
  if (!asking || !person) return auth.resume(req, res);
  const { client, api, scopes, destination } = asking;
  const main = html`<p>You are signed in as <strong>${person.name}</strong>, and go on to ${destination}.</p>
    <form method="post">
      ${formToken(req)}
      <fieldset>
        <legend>${client.name} could then use ${api.name} to:</legend>
        ${Object.entries(scopes).map(([scope, sentence]) => choice(scope, sentence))}
      </fieldset>
      <button name="decision" value="approve">Allow</button>
      <button name="decision" value="deny">Do not allow</button>
    </form>`;
  res.send(page(`Allow ${client.name} to use ${api.name} for you?`, main));
});
consentPages.post("/consent", async (req, res) => {
  if (field(req, "decision") !== "approve") return auth.deny(req, res);
  const requested = Object.keys((await auth.interaction(req))?.scopes ?? {});
  const isAllowed = (/** @type {string} */ scope) =>
    scopesWithoutQuestion.has(scope) || field(req, `scope ${scope}`) === "on";
  await auth.approve(req, res, { scopes: requested.filter(isAllowed) });
});

async function start() {
  const people = await newPeople([
    { subject: "person-1", name: "alice", password: passwords.alice },
    { subject: "person-2", name: "bob", password: passwords.bob },
  ]);
  const app = express();
  app.use(sessions({ secure: origin.startsWith("https:") }));
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
  app.use(look, pageHeaders, express.urlencoded({ extended: false }), requireFormToken);
  app.use(signInPages({ auth, people, home: "/" }), consentPages);
  app.get("/", homePage);
  app.get("/callback", clientPage);

  const issuer = `${origin}/login/auth/password/api/orders`;
  const request = `client_id=shop&response_type=code&redirect_uri=${origin}/callback`;
  app.listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) throw error;
    console.log(`People and their passwords:
  alice ${passwords.alice}
  bob ${passwords.bob}

With a question: ${issuer}/authorize?${request}&scope=catalogue:read+orders:read+orders:write
without one: ${issuer}/authorize?${request}&scope=catalogue:read
then curl -u shop:${secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token`);
  });
}

void start();
