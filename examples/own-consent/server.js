// @ts-check
/** A host that asks for consent on its own page, where people also choose the organization that they act for. */
const { randomBytes } = require("node:crypto");
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("authmount");
const { accountPages } = require("authmount/portal");
const { person } = require("../account-page/account");
const { endableAccount, forgetEndedSessions } = require("../account-page/sessions");
const { requireFormToken } = require("../own-sign-in/form");
const { clientPage, look, pageHeaders } = require("../own-sign-in/page");
const { newPeople } = require("../own-sign-in/people");
const { homePage, sessions, signInPages } = require("../own-sign-in/sign-in");
const { consent, consentPages } = require("./consent");
const { organizationName: contextName, tokens, withOrganization } = require("./organizations");

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;
const { secret, digest } = generateClientSecret(); // the shop keeps the secret, you keep its digest
const passwords = { alice: crypto.randomUUID(), bob: crypto.randomUUID() };

/** @type {import("authmount").Client} */
const shop = {
  clientId: "shop",
  name: "Shop",
  confidential: true,
  secretDigests: [digest],
  redirectUris: [`${origin}/callback`],
  subscriptions: { orders: {} },
};
const storage = memoryStorage({ clients: [shop] });
const apis = {
  orders: {
    name: "Orders",
    audience: `${origin}/orders`,
    authMethods: ["account"],
    scopes: {
      "catalogue:read": "See the catalogue",
      "orders:read": "See your orders",
      "orders:write": "Place orders for you",
    },
  },
};

/** Organization id → its orders. @type {ReadonlyMap<string, readonly string[]>} */
const orders = new Map([
  ["org-tea", ["Darjeeling"]],
  ["org-bikes", ["Saddle"]],
]);

async function start() {
  const people = await newPeople([
    { subject: "person-1", name: "alice", password: passwords.alice },
    { subject: "person-2", name: "bob", password: passwords.bob },
  ]);
  /** @type {import("authmount").AuthServerOptions} */
  const options = {
    baseUrl: `${origin}/oauth`,
    storage,
    authMethods: { account: withOrganization(endableAccount(people)) },
    consent,
    tokens,
    // clients may register themselves here, so that you see what the consent page says of them
    apis: { orders: { ...apis.orders, clientRegistration: { approve: () => ({ kind: "approved" }) } } },
    // requireBearer asks storage at every call; with the default, an end takes effect within five seconds
    revocationLagSeconds: 0,
  };
  const auth = createAuthServer(options);
  const app = express();
  app.use(sessions({ secure: origin.startsWith("https:") }));
  app.use("/oauth", auth.router);
  app.use(auth.wellKnown);
  const forPeople = auth.requireBearer({ api: "orders", scope: "orders:read", subject: "required" });
  app.get("/orders", forPeople, (req, res) => {
    /** @type {import("./types").OrganizationClaims} */
    const { org } = auth.accessToken(req).claims ?? {};
    res.json({ organization: org?.name, orders: orders.get(org?.id ?? "") ?? [] });
  });
  app.use(forgetEndedSessions(people));
  app.use("/account", accountPages({ auth, options, person, contextName }));
  app.use(look, pageHeaders, express.urlencoded({ extended: false }));
  app.use(requireFormToken({ auth, home: "/" }));
  app.use(signInPages({ auth, people, home: "/" }), consentPages(auth));
  app.get("/", homePage);
  app.get("/callback", clientPage);

  const issuer = `${origin}/oauth/auth/account/api/orders`;
  // a stranger may not lead people to the origin of this site
  const strangersCallback = `http://127.0.0.1:${PORT}/callback`;
  const stranger = JSON.stringify({
    client_name: "A Stranger",
    redirect_uris: [strangersCallback],
    token_endpoint_auth_method: "none",
  });
  // this client would keep the verifier: no token comes of this code
  const challenge = randomBytes(32).toString("base64url");
  const request = "response_type=code&redirect_uri=";
  const shopRequest = `client_id=shop&${request}${origin}/callback`;
  app.listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) throw error;
    console.log(`People and their passwords:
  alice ${passwords.alice}
  bob ${passwords.bob}

With a question: ${issuer}/authorize?${shopRequest}&scope=catalogue:read+orders:read+orders:write
without one: ${issuer}/authorize?${shopRequest}&scope=catalogue:read
then curl -u shop:${secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
then curl -H "Authorization: Bearer THE_TOKEN" ${origin}/orders

Register a client that nobody knows:
curl -H "Content-Type: application/json" -d '${stranger}' ${issuer}/register
and open ${issuer}/authorize?client_id=THE_CLIENT_ID&${request}${strangersCallback}&scope=catalogue:read+orders:read&code_challenge=${challenge}&code_challenge_method=S256

All that was allowed: ${origin}/account`);
  });
}

void start();
