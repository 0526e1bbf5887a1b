// @ts-check
/** A host with its own sign-in page and sessions from express-session. */
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("authmount");
const { requireFormToken } = require("./form");
const { clientPage, look, pageHeaders } = require("./page");
const { newPeople } = require("./people");
const { account, homePage, sessions, signInPages } = require("./sign-in");

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

const auth = createAuthServer({
  baseUrl: `${origin}/oauth`,
  storage: memoryStorage({ clients: [shop] }),
  authMethods: { account },
  apis: {
    orders: {
      name: "Orders",
      audience: `${origin}/orders`,
      authMethods: ["account"],
      scopes: { "orders:read": "See your orders" },
    },
  },
});

async function start() {
  const people = await newPeople([
    { subject: "person-1", name: "alice", password: passwords.alice },
    { subject: "person-2", name: "bob", password: passwords.bob },
  ]);
  const app = express();
  app.use(sessions({ secure: origin.startsWith("https:") }));
  app.use("/oauth", auth.router);
  app.use(auth.wellKnown);
  const forPeople = auth.requireBearer({ api: "orders", scope: "orders:read", subject: "required" });
  app.get("/orders", forPeople, (req, res) => {
    res.json({ ordersOf: auth.accessToken(req).subject });
  });

  app.use(look, pageHeaders, express.urlencoded({ extended: false }));
  app.use(requireFormToken({ auth, home: "/" }));
  app.use(signInPages({ auth, people, home: "/" }));
  app.get("/", homePage);
  app.get("/callback", clientPage);

  const issuer = `${origin}/oauth/auth/account/api/orders`;
  app.listen(Number(PORT), "127.0.0.1", (error) => {
    if (error) throw error;
    console.log(`People and their passwords:
  alice ${passwords.alice}
  bob ${passwords.bob}

Sign in at ${issuer}/authorize?client_id=shop&response_type=code&scope=orders:read&redirect_uri=${origin}/callback
then curl -u shop:${secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
then curl -H "Authorization: Bearer THE_TOKEN" ${origin}/orders`);
  });
}

void start();
