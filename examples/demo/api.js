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
    const subject = req.auth?.subject;
    // without an end user the token is the client's own: the Night Job sees everyone's orders
    res.json({ orders: subject === undefined ? orders : orders.filter(({ of }) => of === subject) });
  });

  router.post(
    "/api/orders",
    auth.requireBearer({ api: "orders", scope: "orders:write" }),
    json(),
    (req, res) => {
      const order = { of: req.auth?.subject ?? "the company", item: String(req.body?.item).slice(0, 100) };
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
