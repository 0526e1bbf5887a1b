// @ts-check
/** A confidential client: tokens stay on this server, and the browser has only the id of a session. */
import { randomUUID } from "node:crypto";
import path from "node:path";
import cookieParser from "cookie-parser";
import express from "express";
import * as oauth from "openid-client";

const { PORT, ISSUER = "", API_URL = "", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
const origin = `http://localhost:${PORT}`;
const redirectUri = `${origin}/callback`;
const secure = origin.startsWith("https:");
const cookieName = secure ? "__Host-order_book" : "order_book";

/** @typedef {{ accessToken: string, refreshToken: string, expiresAt: number }} Tokens */
/** @typedef {{ verifiers: Map<string, string>, tokens?: Tokens, refreshing?: Promise<Tokens> | undefined }} Session `verifiers`: the code verifier of each pending sign-in, by its state */

/** By the id in the cookie. In a real app, sessions expire. @type {Map<string, Session>} */
const sessions = new Map();

const config = await oauth.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  undefined,
  oauth.ClientSecretBasic(CLIENT_SECRET),
  // http is for localhost only
  { algorithm: "oauth2", execute: [oauth.allowInsecureRequests] },
);

/** Lax: other sites cannot send our forms. @type {express.CookieOptions} */
const cookieOptions = { httpOnly: true, sameSite: "lax", secure };

/** A new session under a new id. @type {(res: express.Response, tokens?: Tokens) => Session} */
function beginSession(res, tokens) {
  const id = randomUUID();
  const session = { verifiers: new Map(), ...(tokens && { tokens }) };
  sessions.set(id, session);
  res.cookie(cookieName, id, cookieOptions);
  return session;
}

/** @type {(answer: oauth.TokenEndpointResponse, before?: Tokens) => Tokens} */
function keepTokens({ access_token, refresh_token, expires_in = 0 }, before) {
  const refreshToken = refresh_token ?? before?.refreshToken ?? "";
  return { accessToken: access_token, refreshToken, expiresAt: Date.now() + expires_in * 1000 };
}

/** @type {(tokens: Tokens) => Promise<Tokens>} */
async function refresh(tokens) {
  return keepTokens(await oauth.refreshTokenGrant(config, tokens.refreshToken), tokens);
}

/**
 * Calls the API, with a new token when the old one is about to expire.
 *
 * @type {(session: Session, tokens: Tokens) => Promise<Response>}
 */
async function callApi(session, tokens) {
  if (tokens.expiresAt - Date.now() < 10_000) {
    // requests of one browser share one refresh, because using a refresh token twice revokes the authorization
    session.refreshing ??= refresh(tokens).finally(() => (session.refreshing = undefined));
    tokens = session.tokens = await session.refreshing;
  }
  return fetch(API_URL, { headers: { authorization: `Bearer ${tokens.accessToken}` } });
}

/**
 * True for a refusal, false for a temporary failure: no answer, a 5xx, too many requests.
 *
 * @param {unknown} error
 * @returns {error is oauth.AuthorizationResponseError | oauth.ResponseBodyError}
 */
function isRefusal(error) {
  if (error instanceof oauth.ResponseBodyError) return error.error !== "temporarily_unavailable";
  return error instanceof oauth.AuthorizationResponseError;
}

/** @param {string} text */
const escape = (text) => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const signIn = `<p><a href="/signin">Sign in</a></p>`;
const signOut = `<form method="post" action="/signout"><button>Sign out</button></form>`;
// an empty href leads to the page itself
const tryAgain = `<p>Something went wrong. Nothing was lost. <a href="">Try again</a></p>`;

/** @type {(res: express.Response, main: string) => void} */
function sendPage(res, main) {
  res.set({
    "Cache-Control": "no-store",
    "Content-Security-Policy":
      "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    // the URL of the callback contains the code
    "Referrer-Policy": "same-origin",
  });
  res.send(`<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Order Book</title>
<link rel="stylesheet" href="/style.css">
<main><h1>Order Book</h1>${main}</main>
</html>`);
}

const app = express().disable("x-powered-by").use(cookieParser());
app.use(express.static(path.join(import.meta.dirname, "../look")));

app.get("/", async (req, res) => {
  const session = sessions.get(req.cookies[cookieName]);
  if (!session?.tokens) return sendPage(res, signIn);
  try {
    const answer = await callApi(session, session.tokens);
    if (answer.ok) return sendPage(res, `<pre>${escape(await answer.text())}</pre>${signOut}`);
    if (answer.status !== 401) return sendPage(res.status(503), tryAgain);
  } catch (error) {
    if (!isRefusal(error)) return sendPage(res.status(503), tryAgain);
  }
  // the tokens were revoked, or unused for too long
  sessions.delete(req.cookies[cookieName]);
  sendPage(res, `<p>Your access has expired.</p>${signIn}`);
});

app.get("/signin", async (req, res) => {
  // any site can send people here, so whoever is signed in stays signed in until the new sign-in is done
  const { verifiers } = sessions.get(req.cookies[cookieName]) ?? beginSession(res);
  const state = oauth.randomState();
  const verifier = oauth.randomPKCECodeVerifier();
  const [oldest = ""] = verifiers.keys();
  if (verifiers.size >= 5) verifiers.delete(oldest);
  verifiers.set(state, verifier);
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  res.redirect(url.href);
});

app.get("/callback", async (req, res) => {
  const { verifiers, tokens: signedIn } = sessions.get(req.cookies[cookieName]) ?? {};
  const answer = new URL(redirectUri + new URL(req.url, origin).search);
  const state = answer.searchParams.get("state") ?? "";
  const pkceCodeVerifier = verifiers?.get(state);
  // any site can send people here, too: an answer that was not asked for, or from another server, changes nothing
  if (!verifiers || !pkceCodeVerifier || answer.searchParams.get("iss") !== config.serverMetadata().issuer) {
    // the person has signed in in another tab since, or opens the address once more
    if (signedIn) return res.redirect("/");
    return sendPage(res.status(400), `<p>This sign-in wasn’t started in this browser.</p>${signIn}`);
  }
  // each answer is used once, even if it arrives twice at the same moment
  verifiers.delete(state);
  try {
    // sends the verifier and the secret as proof
    const checks = { expectedState: state, pkceCodeVerifier };
    const tokens = keepTokens(await oauth.authorizationCodeGrant(config, answer, checks));
    // a new id: somebody may have planted the old one, and would be signed in with it (session fixation)
    sessions.delete(req.cookies[cookieName]);
    beginSession(res, tokens);
    res.redirect("/");
  } catch (error) {
    if (!isRefusal(error)) {
      verifiers.set(state, pkceCodeVerifier);
      return sendPage(res.status(503), tryAgain);
    }
    sendPage(res.status(400), `<p>Not signed in: ${escape(error.error)}</p>${signIn}`);
  }
});

app.post("/signout", async (req, res) => {
  const tokens = sessions.get(req.cookies[cookieName])?.tokens;
  sessions.delete(req.cookies[cookieName]);
  res.clearCookie(cookieName, cookieOptions);
  try {
    // the access token ends with the refresh token
    if (tokens) await oauth.tokenRevocation(config, tokens.refreshToken);
    res.redirect(303, "/");
  } catch {
    sendPage(
      res,
      `<p>You are signed out here, but the authorization server couldn’t be reached.</p>${signIn}`,
    );
  }
});

app.listen(Number(PORT), "localhost", (error) => {
  if (error) throw error;
  console.log(`Open ${origin}/`);
});
