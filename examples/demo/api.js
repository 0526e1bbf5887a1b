// @ts-check
/** The protected APIs. `auth.accessToken(req)` says what the access token stands for, with the claims of `tokens.decide`. */
const { json, Router } = require("express");

const orders = [
  { of: "alice", item: "Tea, 100 g" },
  { of: "bob", item: "Hammer" },
];

/** What `tokens.decide` in auth.js adds. @type {(token: import("authmount").AccessToken) => { plan?: string, org?: string }} */
const claimsOf = ({ claims = {} }) => claims;

/** @param {import("authmount").AuthServer} auth */
function protectedApis(auth) {
  const router = Router();

  router.get("/api/orders", auth.requireBearer({ api: "orders", scope: "orders:read" }), (req, res) => {
    const accessToken = auth.accessToken(req);
    const { subject, clientId } = accessToken;
    // without an end user the token is the client's own, and any confidential client can get one
    const seesAll = subject === undefined && clientId === "machine";
    const seen = seesAll ? orders : orders.filter(({ of }) => of === (subject ?? clientId));
    res.json({ orders: seen, ...claimsOf(accessToken) });
  });

  router.post(
    "/api/orders",
    auth.requireBearer({ api: "orders", scope: "orders:write" }),
    json(),
    (req, res) => {
      const { subject, clientId, acr } = auth.accessToken(req);
      const { item, amount = 1 } = req.body ?? {};
      // only the handler knows the amount: a large order needs a one-time code
      if (!(amount <= 100) && acr !== "otp") return auth.challenge(req, res, { api: "orders", acr: "otp" });
      const order = { of: subject ?? clientId, item: String(item).slice(0, 100), amount: Number(amount) };
      orders.push(order);
      res.status(201).json(order);
    },
  );

  router.get("/api/reports", auth.requireBearer({ api: "reports", scope: "reports:read" }), (req, res) => {
    const accessToken = auth.accessToken(req);
    const { subject, clientId } = accessToken;
    res.json({
      report: "Tea sells best at four.",
      for: subject ?? clientId,
      ...claimsOf(accessToken),
    });
  });
  return router;
}

module.exports = { protectedApis };
