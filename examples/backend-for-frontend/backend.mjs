// @ts-check
/** A backend for the page in public/: it signs people in, keeps their tokens, and calls the API for the page. */
import path from "node:path";
import cookieParser from "cookie-parser";
import express from "express";
import { newStore } from "./store.mjs";
import { beginSignIn, callApi, isRefusal, issuer, redeem, revoke } from "./tokens.mjs";

const { PORT } = process.env;
const origin = `http://localhost:${PORT}`;
const redirectUri = `${origin}/callback`;

/** Sessions with tokens; in a real app, in a store that all processes share. @type {ReturnType<typeof newStore<import("./tokens.mjs").Session>>} */
const sessions = newStore({ seconds: 8 * 3600, limit: 100_000 });
/** Sign-ins that have begun: the code verifiers of a browser, by their states. @type {ReturnType<typeof newStore<Map<string, string>>>} */
const signIns = newStore({ seconds: 600, limit: 10_000 });

/** `__Host-`: no subdomain can plant or read it. Browsers but Safari take it on http://localhost too. @type {express.CookieOptions} */
const cookieOptions = { httpOnly: true, secure: true, path: "/" };
const session = {
  name: "__Host-session",
  options: { ...cookieOptions, sameSite: /** @type {const} */ ("strict") },
};
// Lax: it must come along when the authorization server leads the browser back
const signIn = {
  name: "__Host-sign-in",
  options: { ...cookieOptions, sameSite: /** @type {const} */ ("lax") },
};

const app = express().disable("x-powered-by").use(cookieParser());

app.use((_req, res, next) => {
  res.set({
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      // the page talks to its own backend and to nobody else
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  });
  next();
});
app.use(express.static(path.join(import.meta.dirname, "public")));
app.use(express.static(path.join(import.meta.dirname, "../look")));
app.use((_req, res, next) => {
  res.set("Cache-Control", "no-store");
  next();
});

app.get("/sign-in", async (req, res) => {
  const { url, state, verifier } = await beginSignIn(redirectUri);
  // whoever is signed in stays signed in until the new sign-in is done: any site can send people here
  let verifiers = signIns.find(req.cookies[signIn.name]);
  if (!verifiers) {
    verifiers = new Map();
    res.cookie(signIn.name, signIns.begin(verifiers), signIn.options);
  }
  const [oldest = ""] = verifiers.keys();
  if (verifiers.size >= 5) verifiers.delete(oldest);
  verifiers.set(state, verifier);
  res.redirect(url.href);
});

app.get("/callback", async (req, res) => {
  const answer = new URL(redirectUri + new URL(req.url, origin).search);
  const state = answer.searchParams.get("state") ?? "";
  const verifiers = signIns.find(req.cookies[signIn.name]);
  const verifier = verifiers?.get(state);
  // any site can send people here, too: an answer that this browser has not asked for, or of another server, changes nothing
  if (!verifiers || !verifier || answer.searchParams.get("iss") !== issuer) {
    return res.redirect("/?sign-in=not-asked");
  }
  // each answer is used once, even if it arrives twice at the same moment
  verifiers.delete(state);
  try {
    const signedIn = await redeem(answer, { state, verifier });
    // a new id, which nobody can have planted (session fixation). If the browser has sent the session of before, that one is over
    const before = sessions.find(req.cookies[session.name]);
    sessions.end(req.cookies[session.name]);
    res.cookie(session.name, sessions.begin(signedIn), session.options);
    res.redirect("/");
    if (before) await revoke(before).catch(() => undefined);
  } catch (error) {
    if (!isRefusal(error)) verifiers.set(state, verifier);
    res.redirect(isRefusal(error) ? "/?sign-in=refused" : "/?sign-in=failed");
  }
});

/**
 * Only this app's own page may ask. A script of another origin cannot set this header without a preflight, which is refused here. A form
 * cannot set it at all. `SameSite` alone would not do: a subdomain, or another port of localhost, is the same site.
 *
 * @type {express.RequestHandler}
 */
const ownPageOnly = (req, res, next) => {
  const { origin: from, "sec-fetch-site": site } = req.headers;
  const isForeign = from !== undefined ? from !== origin : req.method !== "GET";
  const isOwn = !isForeign && (site === undefined || site === "same-origin");
  if (isOwn && req.get("x-order-desk") === "1") next();
  else res.status(403).json({ error: "not_from_here" });
};

app.use(["/session", "/api"], ownPageOnly);

app.get("/session", (req, res) => void res.json({ signedIn: !!sessions.find(req.cookies[session.name]) }));

app.delete("/session", async (req, res) => {
  const ended = sessions.find(req.cookies[session.name]);
  sessions.end(req.cookies[session.name]);
  res.clearCookie(session.name, session.options);
  // the person is signed out here, also when the authorization server cannot be told
  const told = ended
    ? await revoke(ended).then(
        () => true,
        () => false,
      )
    : true;
  res.json({ signedIn: false, revoked: told });
});

/** Passes on one API, with methods that it has. The URL is fixed, so nobody can have the token sent elsewhere. */
app.all("/api/orders", express.raw({ type: () => true, limit: "64kb" }), async (req, res) => {
  if (!["GET", "POST"].includes(req.method)) return void res.sendStatus(405);
  const id = req.cookies[session.name];
  const found = sessions.find(id);
  if (!found) return void res.status(401).json({ error: "signed_out" });
  try {
    const body = Buffer.isBuffer(req.body) && req.body.length > 0 ? Buffer.from(req.body) : undefined;
    const request = { method: req.method, body, contentType: body && req.get("content-type") };
    const answer = await callApi(found, request);
    const text = await answer.text();
    if (answer.status === 401) {
      // new tokens did not help: they were revoked
      sessions.end(id);
      return void res.status(401).json({ error: "signed_out" });
    }
    // status, type and body; no other header of the API is the browser's business
    res
      .status(answer.status)
      .type(answer.headers.get("content-type") ?? "text/plain")
      .send(text);
  } catch (error) {
    if (!isRefusal(error)) return void res.status(503).json({ error: "try_again" });
    sessions.end(id);
    res.status(401).json({ error: "signed_out" });
  }
});

/** Says nothing of what went wrong. @type {express.ErrorRequestHandler} */
const onError = (error, _req, res, _next) => {
  console.error(error instanceof Error ? error.name : "an error");
  res.status(error.status === 413 ? 413 : 500).json({ error: "failed" });
};
app.use(onError);

app.listen(Number(PORT), "localhost", (error) => {
  if (error) throw error;
  console.log(`Open ${origin}/`);
});
