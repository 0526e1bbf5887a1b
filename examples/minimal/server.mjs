// @ts-check
// Orderly, the host: your app, with its people, its sessions and its API
import { createAuthServer, generateClientSecret, memoryStorage } from "authmount";
import cookieParser from "cookie-parser";
import express from "express";
const { origin, port } = new URL(`http://localhost:${process.env["PORT"] ?? 3000}`);
const password = crypto.randomUUID(); // alice's; a real app compares salted hashes in constant time
const sessions = new Map(); // your app keeps the people and sessions; authmount keeps neither
const { secret, digest } = generateClientSecret(); // the Shop keeps the secret, Orderly its digest
const callback = `${origin}/shop/callback`;
const shop = { clientId: "shop", name: "Shop", redirectUris: [callback], subscriptions: { orders: {} } };

const auth = createAuthServer({
  baseUrl: `${origin}/oauth`,
  storage: memoryStorage({ clients: [{ ...shop, confidential: true, secretDigests: [digest] }] }),
  apis: {
    orders: { audience: `${origin}/orders`, authMethods: ["account"], scopes: { read: "See your orders" } },
  },
  authMethods: {
    account: {
      authenticate: ({ req, reauthenticate }) =>
        (!reauthenticate && sessions.get(req.cookies["session"])) || { kind: "interaction", url: "/sign-in" },
    },
  },
});

const app = express().use(cookieParser(), express.urlencoded({ extended: false }));
app.use("/oauth", auth.router).use(auth.wellKnown);
const forPeople = auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
app.get("/orders", forPeople, (req, res) => res.json({ ordersOf: auth.accessToken(req).subject }));

const page = (name = "Orderly") => `<!doctype html><html lang="en"><title>${name}</title>
<meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; font: 1em/1.6 system-ui } main { max-width: 27rem; margin: 10vh auto; overflow-wrap: anywhere }
</style><main><h1>${name}</h1>`;
const form = `<form method="post"><label>Password <input type="password" name="password"></label> <button>Sign in</button></form>`;
app.get("/", (req, res) => {
  res.send(
    page() + (sessions.has(req.cookies["session"]) ? "You are alice." : '<a href="/sign-in">Sign in</a>'),
  );
});
app.all("/sign-in", (req, res) => {
  if (req.headers.origin !== origin || req.body?.password !== password) return void res.send(page() + form); // refuses other sites' forms
  const id = crypto.randomUUID();
  sessions.set(id, { kind: "authenticated", subject: "alice", authTime: Math.floor(Date.now() / 1000) });
  res.cookie("session", id, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
  auth.resume(req, res, { otherwise: "/" }); // "/": for a sign-in that no client asked for
});
const server = app.listen(Number(port || 80), "127.0.0.1"); // plain http, so only this machine may connect
server.once("listening", () => console.log(`The password of alice is ${password}`));

// Shop, the client: another program, here only to try it. A real one uses an OAuth library, for `state` and PKCE too
const issuer = `${origin}/oauth/auth/account/api/orders`;
const start = `${issuer}/authorize?client_id=shop&response_type=code&redirect_uri=${callback}&scope=read`;
app.get("/shop", (_, res) => res.redirect(start));
app.get("/shop/callback", async (req, res) => {
  const { searchParams } = new URL(req.url, origin);
  const code = searchParams.get("code");
  if (!code) return void res.send(page("Shop") + searchParams.toString()); // percent-encoded: it may come from anywhere
  const body = new URLSearchParams({ grant_type: "authorization_code", code });
  const headers = { authorization: `Basic ${btoa(`shop:${secret}`)}` };
  const answer = await (await fetch(`${issuer}/token`, { method: "POST", headers, body })).text();
  const { access_token } = JSON.parse(answer);
  if (access_token) console.log(`curl -H "Authorization: Bearer ${access_token}" ${origin}/orders`);
  res.send(`${page("Shop")}<p>To call the API, run the line that the terminal shows now.</p>${answer}`);
});
server.once("listening", () => console.log(`Open ${origin}/shop`));
