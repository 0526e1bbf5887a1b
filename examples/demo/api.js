// @ts-check
/** The protected APIs. `req.auth` says what the access token stands for. */
const { json, Router } = require("express");

const orders = [
  { of: "alice", item: "Tea, 100 g" },
  { of: "bob", item: "Hammer" },
];

/** @param {import("authmount").AuthServer} auth */
function protectedApis(auth) {
  const router = Router();

  router.get("/api/orders", auth.requireBearer({ api: "orders", scope: "orders:read" }), (req, res) => {
    const { subject, clientId = "" } = req.auth ?? {};
    // without an end user the token is the client's own, and any confidential client can get one
    const seesAll = subject === undefined && clientId === "machine";
    res.json({ orders: seesAll ? orders : orders.filter(({ of }) => of === (subject ?? clientId)) });
  });

  router.post(
    "/api/orders",
    auth.requireBearer({ api: "orders", scope: "orders:write" }),
    json(),
    (req, res) => {
      const { subject, clientId = "" } = req.auth ?? {};
      const order = { of: subject ?? clientId, item: String(req.body?.item).slice(0, 100) };
      orders.push(order);
      res.status(201).json(order);
    },
  );

  router.get("/api/reports", auth.requireBearer({ api: "reports", scope: "reports:read" }), (req, res) => {
    res.json({ report: "Tea sells best at four.", for: req.auth?.subject ?? req.auth?.clientId });
  });
  return router;
}

module.exports = { protectedApis };
