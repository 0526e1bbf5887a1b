// @ts-check
/** Registers the app, starts the authorization server, and serves the app's files. Everything else happens in the page. */
const path = require("node:path");
const express = require("express");
const { startAuthorizationServer } = require("../authorization-server");

const { PORT = "4000" } = process.env;
const origin = `http://localhost:${PORT}`;

async function start() {
  const { issuer, apiUrl } = await startAuthorizationServer({
    clientId: "browser-app",
    name: "Order Page",
    confidential: false,
    platform: "browser",
    redirectUris: [`${origin}/`, `${origin}/silent.html`],
    // any program may listen on localhost, so people would be asked each time; with https leave `trusted` out: they are asked once
    subscriptions: { orders: { trusted: true } },
  });
  const host = new URL(issuer).origin;
  const app = express().disable("x-powered-by");

  /** A script from elsewhere could read the token, so none may run here, and the page may only send data to the app and the host. */
  app.use((req, res, next) => {
    const framedBy = req.path === "/silent.html" ? "'self'" : "'none'";
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      `connect-src 'self' ${host}`,
      `frame-src 'self' ${host}`,
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${framedBy}`,
    ];
    // the URL of a page may hold a code
    res.set({
      "Content-Security-Policy": policy.join("; "),
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    });
    next();
  });
  app.get("/settings.json", (_req, res) => void res.json({ issuer, apiUrl, clientId: "browser-app" }));
  app.use("/oauth4webapi", express.static(path.dirname(require.resolve("oauth4webapi"))));
  app.use(express.static(path.join(__dirname, "public")), express.static(path.join(__dirname, "../look")));
  app.listen(Number(PORT), "localhost", (error) => {
    if (error) throw error;
    console.log(`Open ${origin}/`);
  });
}

start().catch((error) => {
  console.error(error);
  process.exit(1);
});
