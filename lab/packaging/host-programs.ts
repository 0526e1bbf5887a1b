/** Programs of hosts that have installed the package: they mount the server, get a token from it and call an API of their own. */

/** Makes the app. Whoever runs it has `express` and the three names of the package. */
const app = `
const { secret, digest } = generateClientSecret();
const app = express();
const auth = createAuthServer({
  baseUrl: "http://localhost/login",
  storage: memoryStorage({
    clients: [{ clientId: "job", name: "Job", confidential: true, secretDigests: [digest], redirectUris: [], subscriptions: { orders: {} } }],
  }),
  authMethods: { password: { authenticate: ({ req }) => ({ kind: "interaction", url: "/signin?from=" + req.ip }) } },
  apis: {
    orders: {
      audience: "http://localhost/orders",
      authMethods: ["password"],
      scopes: { read: "Read", write: "Write" },
      defaultScopes: ["read"],
    },
  },
});
app.use("/login", auth.router);
app.use(auth.wellKnown);
app.get("/orders", auth.requireBearer({ api: "orders", scope: "read" }), (req, res) => {
  res.json({ clientId: auth.accessToken(req).clientId });
});
app.put("/orders", auth.requireBearer({ api: "orders", scope: "write" }), (req, res) => {
  res.json({});
});
app.get("/signin", (req, res) => auth.resume(req, res, { otherwise: "/" }));
`;

/** A whole program, which prints what its API has answered. */
export const program = `${app}
async function drive(origin) {
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id: "job", client_secret: secret });
  const answer = await fetch(origin + "/login/auth/password/api/orders/token", { method: "POST", body });
  const { access_token } = await answer.json();
  const call = await fetch(origin + "/orders", { headers: { authorization: "Bearer " + access_token } });
  return call.text();
}

const server = app.listen(0, "127.0.0.1", async () => {
  console.log(await drive("http://127.0.0.1:" + server.address().port));
  server.close();
});
`;

/** What it prints. */
export const printed = '{"clientId":"job"}\n';

/** The same program in TypeScript. Only the types of browsers call the JSON of an answer `any`. */
export const typedProgram: string = program
  .replace("origin)", "origin: string)")
  .replace("await answer.json()", "(await answer.json()) as { access_token: string }")
  .replace("server.address().port", "(server.address() as { port: number }).port");

const names = "{ createAuthServer, generateClientSecret, memoryStorage }";
export const required = `const express = require("express");\nconst ${names} = require("authmount");\n`;
export const imported = `import express from "express";\nimport ${names} from "authmount";\n`;

/** A suite of tests as hosts write them; `test` and `expect` are global or imported. */
export const suite = `${app}
const token = "/login/auth/password/api/orders/token";
const form = { grant_type: "client_credentials", client_id: "job", client_secret: secret };

test("a route is called with a token", async () => {
  const { body } = await request(app).post(token).type("form").send(form).expect(200);
  const { body: order } = await request(app).get("/orders").auth(body.access_token, { type: "bearer" }).expect(200);
  expect(order).toEqual({ clientId: "job" });
});

test("a route is not called without a token", async () => {
  const { headers } = await request(app).get("/orders").expect(401);
  expect(headers["www-authenticate"]).toContain('realm="http://localhost/orders"');
});

test("a token without the scope is refused", async () => {
  const { body } = await request(app).post(token).type("form").send(form).expect(200);
  await request(app).put("/orders").auth(body.access_token, { type: "bearer" }).expect(403);
});

test("a wrong option is an error", () => {
  expect(() => createAuthServer({})).toThrow(TypeError);
});
`;

/** Uses the storages in TypeScript. No driver of a database is installed. */
export const storages = `
import { memoryStorage, type Storage } from "authmount";
import { postgresStorage } from "authmount/postgres";
import { redisStorage } from "authmount/redis";
import { sqliteStorage } from "authmount/sqlite";
import { storageContract } from "authmount/testing";

export const stores: Storage[] = [
  postgresStorage({ pool: { query: async () => ({ rows: [] }) } }),
  redisStorage({ client: { sendCommand: async () => "OK" } }),
  sqliteStorage({ file: "host.sqlite" }),
];
storageContract({ test: (name, run) => [name, run], open: async ({ clients }) => ({ storage: memoryStorage({ clients }) }) });
`;
