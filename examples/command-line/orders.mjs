#!/usr/bin/env node
// @ts-check
/** A native client. `orders` shows the orders; `orders sign-out` forgets the person. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import * as oauth from "openid-client";
import { keepRefreshToken, takeRefreshToken } from "./kept-token.mjs";

const { ISSUER = "", API_URL = "", CLIENT_ID = "", BROWSER } = process.env;

const config = await oauth.discovery(new URL(ISSUER), CLIENT_ID, undefined, oauth.None(), {
  algorithm: "oauth2",
  // http is for localhost only
  execute: [oauth.allowInsecureRequests],
});

/** Opens the person's own browser, where they can see which site asks for their password. @param {string} url */
function openBrowser(url) {
  console.log(`Sign in at\n${url}`);
  if (BROWSER === "none") return;
  const commands = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] };
  const known = /** @type {Record<string, string[]>} */ (commands);
  const [command = "", ...args] = BROWSER ? [BROWSER] : (known[process.platform] ?? ["xdg-open"]);
  // if there is no browser, the person can still use the printed address
  spawn(command, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
}

/** @param {string} text */
const page = (text) => `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orders</title>
<link rel="icon" href="data:,">
<style>:root { color-scheme: light dark; font: 1rem/1.6 system-ui } main { max-width: 27rem; margin: 10vh auto; overflow-wrap: anywhere }</style>
<main><h1>Orders</h1><p>${text}</p></main>
</html>`;

/**
 * The query of the answer to our request. Any other request to this port gets a 404.
 *
 * @type {(server: import("node:http").Server, state: string) => Promise<string>}
 */
function receiveAnswer(server, state) {
  return new Promise((resolve, reject) => {
    const timeUp = setTimeout(() => reject(new Error("Nobody has signed in for five minutes.")), 300_000);
    server.on("request", (req, res) => {
      const [path, query = ""] = (req.url ?? "").split("?");
      const isOurs = path === "/callback" && new URLSearchParams(query).get("state") === state;
      res.writeHead(isOurs ? 200 : 404, { "Content-Type": "text/html", Connection: "close" });
      if (!isOurs) return void res.end(page("Not asked for."));
      clearTimeout(timeUp);
      res.end(page("Go back to the terminal. You may close this window."), () => resolve(query));
    });
  });
}

async function signIn() {
  // only this machine can reach it; RFC 8252 wants the IP address, because the name may resolve to another address
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const expectedState = oauth.randomState();
  const pkceCodeVerifier = oauth.randomPKCECodeVerifier();
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "read",
    state: expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  openBrowser(url.href);
  try {
    const answer = new URL(`${redirectUri}?${await receiveAnswer(server, expectedState)}`);
    // checks state and iss, and sends the verifier as proof
    return await oauth.authorizationCodeGrant(config, answer, { expectedState, pkceCodeVerifier });
  } finally {
    server.close();
    // browsers open spare connections and send nothing on them
    server.closeAllConnections();
  }
}

/** New tokens from the stored refresh token, or `undefined` if the person has to sign in. */
async function refresh() {
  const refreshToken = await takeRefreshToken(ISSUER);
  if (!refreshToken) return undefined;
  try {
    return await oauth.refreshTokenGrant(config, refreshToken);
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant") return undefined;
    // if only the network failed, the token may still be valid
    await keepRefreshToken(ISSUER, refreshToken);
    throw error;
  }
}

async function showOrders() {
  const tokens = (await refresh()) ?? (await signIn());
  if (tokens.refresh_token) await keepRefreshToken(ISSUER, tokens.refresh_token);
  const answer = await fetch(API_URL, { headers: { authorization: `Bearer ${tokens.access_token}` } });
  console.log(await answer.text());
}

async function signOut() {
  const refreshToken = await takeRefreshToken(ISSUER);
  try {
    if (refreshToken) await oauth.tokenRevocation(config, refreshToken);
  } catch (error) {
    // the token is still valid, so keep it: it must be possible to try signing out again
    if (refreshToken) await keepRefreshToken(ISSUER, refreshToken);
    throw error;
  }
  console.log("Signed out.");
}

try {
  await (process.argv[2] === "sign-out" ? signOut() : showOrders());
} catch (error) {
  // print no URL of the answer: it contains the code
  console.error(
    error instanceof oauth.AuthorizationResponseError ? `Not signed in: ${error.error}` : String(error),
  );
  process.exitCode = 1;
}
