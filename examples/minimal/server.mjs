// @ts-check
import { createAuthServer, generateClientSecret, memoryStorage } from "authmount";
import cookieParser from "cookie-parser";
import express from "express";
const { origin, port } = new URL(`http://localhost:${process.env["PORT"] ?? 3000}`);
const callback = `${origin}/callback`;
const shop = { clientId: "shop", name: "Shop", redirectUris: [callback], subscriptions: { orders: {} } };
const { secret, digest } = generateClientSecret(); // the shop keeps the secret, you keep its digest
const password = crypto.randomUUID(); // alice's; a real app compares salted hashes in constant time
const sessions = new Map(); // your app keeps the people and sessions; authmount keeps neither

const auth = createAuthServer({
  baseUrl: `${origin}/login`,
  storage: memoryStorage({ clients: [{ ...shop, confidential: true, secretDigests: [digest] }] }),
  apis: { orders: { audience: `${origin}/orders`, authMethods: ["password"], scopes: { read: "See them" } } },
  authMethods: {
    password: {
      authenticate: ({ req, reauthenticate }) =>
        (!reauthenticate && sessions.get(req.cookies["session"])) || { kind: "interaction", url: "/signin" },
    },
  },
});

const app = express().use(cookieParser(), express.urlencoded({ extended: false }));
app.use("/login", auth.router).use(auth.wellKnown);
const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
app.get("/orders", forPeople, (req, res) => res.json({ ordersOf: auth.accessToken(req).subject }));
const page = `<!doctype html><html lang="en"><title>Shop</title><meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; font: 1em/1.6 system-ui } main { max-width: 27rem; margin: 10vh auto; overflow-wrap: anywhere }
</style><main><h1>Shop</h1>`;
const form = `<form method="post"><label>Password <input type="password" name="password"></label> <button>Sign in</button></form>`;
app.all("/signin", (req, res) => {
  if (req.headers.origin !== origin || req.body?.password !== password) return void res.send(page + form); // refuses other sites' forms
  const id = crypto.randomUUID();
  sessions.set(id, { kind: "authenticated", subject: "alice", authTime: Math.floor(Date.now() / 1000) });
  res.cookie("session", id, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
  auth.resume(req, res);
});

// stands for the shop, which is another program: a real one uses an OAuth library, for `state` and PKCE too
const issuer = `${origin}/login/auth/password/api/orders`;
const start = `${issuer}/authorize?client_id=shop&response_type=code&redirect_uri=${callback}&scope=read`;
app.get("/", (_, res) => res.redirect(start));
app.get("/callback", async (req, res) => {
  const { searchParams } = new URL(req.url, origin);
  const code = searchParams.get("code");
  if (!code) return void res.send(page + searchParams.toString()); // percent-encoded: it may come from anywhere
  const body = new URLSearchParams({ grant_type: "authorization_code", code });
  const headers = { authorization: `Basic ${btoa(`shop:${secret}`)}` };
  const answer = await fetch(`${issuer}/token`, { method: "POST", headers, body });
  res.send(page + (await answer.text()));
});
const help = `Sign in with ${password} at ${origin}/
then curl -H "Authorization: Bearer ACCESS_TOKEN" ${origin}/orders`;
app.listen(Number(port || 80), "127.0.0.1").once("listening", () => console.log(help)); // plain http, so only this machine may connect
