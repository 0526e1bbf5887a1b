// @ts-check
/** A confidential client: tokens stay on this server, the browser holds the id of a session. */
import { randomUUID } from "node:crypto";
import cookieParser from "cookie-parser";
import express from "express";
import * as oauth from "openid-client";

const { PORT, ISSUER = "", API_URL = "", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;
const origin = `http://localhost:${PORT}`;
const cookieName = "order_book";

/** @typedef {{ accessToken: string, refreshToken: string, expiresAt: number }} Tokens */
/** @typedef {{ expectedState: string, pkceCodeVerifier: string }} Checks what the answer must match */
/** @typedef {{ checks?: Checks | undefined, tokens?: Tokens, refreshing?: Promise<Tokens> | undefined }} Session */

/** By the id in the cookie. A real one ends them in time. @type {Map<string, Session>} */
const sessions = new Map();

const config = await oauth.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  undefined,
  oauth.ClientSecretBasic(CLIENT_SECRET),
  // without https on localhost only
  { algorithm: "oauth2", execute: [oauth.allowInsecureRequests] },
);

/** A new session under a new id. @type {(res: express.Response, session: Session) => void} */
function beginSession(res, session) {
  const id = randomUUID();
  sessions.set(id, session);
  // Lax: other sites cannot send our forms. Behind https also `secure: true`
  res.cookie(cookieName, id, { httpOnly: true, sameSite: "lax" });
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
    // two requests of one browser share one refresh: a refresh token that is used twice ends the authorization
    session.refreshing ??= refresh(tokens).finally(() => (session.refreshing = undefined));
    tokens = session.tokens = await session.refreshing;
  }
  return fetch(API_URL, { headers: { authorization: `Bearer ${tokens.accessToken}` } });
}

/** @param {unknown} error */
const isEnded = (error) => error instanceof oauth.ResponseBodyError && error.error === "invalid_grant";

/** @param {string} text */
const escape = (text) => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const signIn = `<p><a href="/signin">Sign in</a></p>`;
const signOut = `<form method="post" action="/signout"><button>Sign out</button></form>`;

/** @type {(res: express.Response, main: string) => void} */
function sendPage(res, main) {
  res.set({
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  });
  res.send(`<!doctype html><html lang="en"><title>Order Book</title><h1>Order Book</h1>${main}</html>`);
}

const app = express().disable("x-powered-by").use(cookieParser());

app.get("/", async (req, res) => {
  const session = sessions.get(req.cookies[cookieName]);
  if (!session?.tokens) return sendPage(res, signIn);
  const answer = await callApi(session, session.tokens).catch((error) => {
    if (!isEnded(error)) throw error;
  });
  if (answer?.ok) return sendPage(res, `<pre>${escape(await answer.text())}</pre>${signOut}`);
  // revoked, or not used for too long
  sessions.delete(req.cookies[cookieName]);
  sendPage(res, `<p>Your access has ended.</p>${signIn}`);
});

app.get("/signin", async (_req, res) => {
  const checks = {
    expectedState: oauth.randomState(),
    pkceCodeVerifier: oauth.randomPKCECodeVerifier(),
  };
  beginSession(res, { checks });
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: `${origin}/callback`,
    scope: "read",
    state: checks.expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  res.redirect(url.href);
});

app.get("/callback", async (req, res) => {
  const checks = sessions.get(req.cookies[cookieName])?.checks;
  sessions.delete(req.cookies[cookieName]);
  if (!checks) return sendPage(res.status(400), `<p>This browser has not asked.</p>${signIn}`);
  try {
    // checks state and iss, proves the verifier and the secret
    const answer = await oauth.authorizationCodeGrant(config, new URL(req.originalUrl, origin), checks);
    beginSession(res, { tokens: keepTokens(answer) });
    res.redirect("/");
  } catch (error) {
    const reason = error instanceof oauth.AuthorizationResponseError ? error.error : "wrong answer";
    sendPage(res.status(400), `<p>Not signed in: ${escape(reason)}</p>${signIn}`);
  }
});

app.post("/signout", async (req, res) => {
  const tokens = sessions.get(req.cookies[cookieName])?.tokens;
  sessions.delete(req.cookies[cookieName]);
  res.clearCookie(cookieName);
  // the access token ends with the refresh token
  if (tokens) await oauth.tokenRevocation(config, tokens.refreshToken);
  res.redirect(303, "/");
});

app.listen(Number(PORT), "localhost", () => console.log(`Open ${origin}/`));
