// @ts-check
/** A host with a page where people see where they are signed in and what they have allowed, and end it. */
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("authmount");
const { accountPages } = require("authmount/portal");
const { requireFormToken } = require("../own-sign-in/form");
const { clientPage, look, pageHeaders } = require("../own-sign-in/page");
const { newPeople } = require("../own-sign-in/people");
const { sessions, signInPages } = require("../own-sign-in/sign-in");
const { endingPages, person } = require("./account");
const { endableAccount, forgetEndedSessions } = require("./sessions");

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;
const secrets = {
  shop: generateClientSecret(),
  planner: generateClientSecret(),
  help: generateClientSecret(),
};
const passwords = { alice: crypto.randomUUID(), bob: crypto.randomUUID() };

/** @type {(clientId: "shop" | "planner" | "help", name: string) => import("authmount").Client} */
const newClient = (clientId, name) => ({
  clientId,
  name,
  confidential: true,
  secretDigests: [secrets[clientId].digest],
  redirectUris: [`${origin}/callback`],
  subscriptions: { orders: {} },
});

const storage = memoryStorage({
  clients: [
    newClient("shop", "Shop"),
    newClient("planner", "Planner"),
    { ...newClient("help", "Help Desk"), trusted: true },
  ],
});
const apis = {
  orders: {
    name: "Orders",
    audience: `${origin}/orders`,
    authMethods: ["account"],
    scopes: { "orders:read": "See your orders", "orders:write": "Place orders for you" },
  },
};

async function start() {
  const people = await newPeople([
    { subject: "person-1", name: "alice", password: passwords.alice },
    { subject: "person-2", name: "bob", password: passwords.bob },
  ]);
  /** @type {import("authmount").AuthServerOptions} */
  const options = {
    baseUrl: `${origin}/oauth`,
    storage,
    authMethods: { account: endableAccount(people) },
    apis,
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
    res.json({ ordersOf: auth.accessToken(req).subject });
  });
  app.use(forgetEndedSessions(people));
  // ahead of the form tokens: its forms are protected in another way
  app.use("/account/apps", accountPages({ auth, options, person }));
  app.use(look, pageHeaders, express.urlencoded({ extended: false }));
  app.use(requireFormToken({ auth, home: "/account" }));
  app.use(signInPages({ auth, people, home: "/account" }), endingPages({ auth, people }));
  app.get("/callback", clientPage);

  const issuer = `${origin}/oauth/auth/account/api/orders`;
  const request = `response_type=code&scope=orders:read+orders:write&redirect_uri=${origin}/callback`;
  app.listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) throw error;
    console.log(`People and their passwords:
  alice ${passwords.alice}
  bob ${passwords.bob}

Allow the Shop something: ${issuer}/authorize?client_id=shop&${request}
allow the Planner something: ${issuer}/authorize?client_id=planner&${request}
the Help Desk is trusted and does not ask: ${issuer}/authorize?client_id=help&${request}
then curl -u shop:${secrets.shop.secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
or curl -u planner:${secrets.planner.secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
or curl -u help:${secrets.help.secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
then curl -H "Authorization: Bearer THE_TOKEN" ${origin}/orders
and see ${origin}/account`);
  });
}

void start();
