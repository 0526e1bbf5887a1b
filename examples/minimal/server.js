// @ts-check
const cookieParser = require("cookie-parser");
const express = require("express");
const { createAuthServer, generateClientSecret, memoryStorage } = require("authmount");
const { origin, port } = new URL(`http://localhost:${process.env["PORT"] ?? 3000}`);
const shop = { clientId: "shop", name: "Shop", redirectUris: [`${origin}/`], subscriptions: { orders: {} } };
const { secret, digest } = generateClientSecret(); // the shop keeps the secret, you keep its digest
const password = crypto.randomUUID(); // alice's; a real app compares salted hashes in constant time
const sessions = new Map(); // your app keeps the people and sessions; authmount keeps neither
/** @type {import("authmount").AuthMethod["authenticate"]} */
const authenticate = ({ req, reauthenticate }) =>
  (!reauthenticate && sessions.get(req.cookies["session"])) || { kind: "interaction", url: "/signin" };
const auth = createAuthServer({
  baseUrl: `${origin}/login`,
  storage: memoryStorage({ clients: [{ ...shop, confidential: true, secretDigests: [digest] }] }),
  apis: { orders: { audience: `${origin}/orders`, authMethods: ["password"], scopes: { read: "See them" } } },
  authMethods: { password: { authenticate } },
});

const app = express().use(cookieParser(), express.urlencoded({ extended: false }));
app.use("/login", auth.router).use(auth.wellKnown);
const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
app.get("/orders", forPeople, (req, res) => res.json(req.auth));
const page = (/** @type {string} */ main) => `<!doctype html><html lang="en"><title>Shop</title>
<meta name="viewport" content="width=device-width"><style>:root { color-scheme: light dark; font: 1em/1.6 system-ui }
main { max-width: 27rem; margin: 10vh auto; overflow-wrap: anywhere }</style><main><h1>Shop</h1>${main}</main></html>`;
app.get("/", (req, res) => res.send(page(new URL(req.url, origin).searchParams.toString()))); // percent-encoded
const form = `<form method="post"><label>Password <input type="password" name="password"></label> <button>Sign in</button></form>`;
app.all("/signin", (req, res) => {
  if (req.headers.origin !== origin || req.body?.password !== password) return void res.send(page(form)); // refuses other sites' forms
  const id = crypto.randomUUID();
  sessions.set(id, { kind: "authenticated", subject: "alice", authTime: Math.floor(Date.now() / 1000) });
  res.cookie("session", id, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
  auth.resume(req, res);
});
const issuer = `${origin}/login/auth/password/api/orders`;
const help = `Sign in with ${password} at ${issuer}/authorize?client_id=shop&response_type=code&scope=read&redirect_uri=${origin}/
then curl -u shop:${secret} -d grant_type=authorization_code -d code=THE_CODE ${issuer}/token
then curl -H "Authorization: Bearer THE_TOKEN" ${origin}/orders`;
app.listen(Number(port || 80), "127.0.0.1").once("listening", () => console.log(help)); // plain http, so only this machine may connect
