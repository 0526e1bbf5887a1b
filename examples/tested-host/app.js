// @ts-check
"use strict";

const { createAuthServer } = require("authmount");
const express = require("express");

/** What does not differ between production and tests. */
const settings = {
  baseUrl: "https://host.example/oauth",
  apis: {
    orders: {
      audience: "https://host.example/orders",
      authMethods: ["account"],
      scopes: { read: "See your orders", write: "Change your orders" },
    },
  },
};

/**
 * The app, for any options: production passes its database and its keys, and a test passes its own.
 *
 * @param {import("authmount").AuthServerOptions} options
 */
function createApp(options) {
  const auth = createAuthServer(options);
  const app = express();
  app.use("/oauth", auth.router).use(auth.wellKnown);
  const reading = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
  app.get("/orders", reading, (req, res) => {
    res.json({ ordersOf: auth.accessToken(req).subject });
  });
  const writing = auth.requireBearer({ api: "orders", scope: ["read", "write"], subject: "required" });
  app.delete("/orders/:id", writing, (_req, res) => {
    res.sendStatus(204);
  });
  return app;
}

module.exports = { createApp, settings };
