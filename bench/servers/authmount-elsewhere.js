// @ts-check
/** A protected route apart from its authorization server, which listens on another port of the same process. */
"use strict";
const { createServer } = require("node:http");
const { memoryStorage } = require("../..");
const { createResourceServer } = require("../../dist/resource-server");
const { clientOf, express, newSecrets, startHost } = require("../authmount-host");
const terms = require("../terms");

/** Opens the port first, because the URL of the authorization server contains it. */
async function openPort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  return { server, port: typeof address === "object" && address ? address.port : 0 };
}

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "authmount, API in another process",
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const { server, port } = await openPort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const secrets = newSecrets();
    const storage = memoryStorage({ maxEntries: 10_000_000, clients: [clientOf(secrets)] });
    const { listener, routes } = await startHost({ ...secrets, format, storage, baseUrl });
    server.on("request", listener);
    const { requireBearer } = createResourceServer({
      baseUrl,
      apis: { orders: { audience: "https://host.example/orders", scopes: [terms.scope] } },
      // a JWT is verified by its signature
      ...(format === "opaque" && {
        introspection: { clientId: terms.clientId, clientSecret: secrets.clientSecret },
      }),
    });
    const app = express();
    app.get("/orders", requireBearer({ api: "orders", scope: terms.scope }), (_req, res) => {
      res.json(terms.greeting);
    });
    // the benchmark gets its tokens at the same port
    app.use(listener);
    // what the authorization server does is measured elsewhere
    const { authorize: _a, silent: _s, exchange: _e, refresh: _r, introspect: _i, ...others } = routes;
    return { listener: app, routes: others };
  },
};
