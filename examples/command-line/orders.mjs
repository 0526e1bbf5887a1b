#!/usr/bin/env node
// @ts-check
/** A native client. `orders` shows the orders; `orders --device` asks on another screen; `orders sign-out` forgets the person. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import * as oauth from "openid-client";
import { keepToken, useToken } from "./kept-token.mjs";

const { ISSUER = "", API_URL = "", CLIENT_ID = "", BROWSER, SSH_CONNECTION } = process.env;
// over ssh, the person's browser is on another machine
const isElsewhere = Boolean(SSH_CONNECTION) || process.argv.includes("--device");

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
<html lang="en"><title>Orders</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root { color-scheme: light dark; font: 1rem/1.6 system-ui } main { max-width: 27rem; margin: 10vh auto; overflow-wrap: anywhere }</style>
<main><h1>Orders</h1><p>${text}</p></main></html>`;

/** The query of the answer with our state; others get a 404. @type {(server: import("node:http").Server, state: string) => Promise<string>} */
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

/** Tokens from the browser of this machine. @param {oauth.DPoPHandle} DPoP */
async function askHere(DPoP) {
  // only this machine can reach it; RFC 8252 wants the IP address, because the name may resolve to another address
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const checks = { expectedState: oauth.randomState(), pkceCodeVerifier: oauth.randomPKCECodeVerifier() };
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "read",
    state: checks.expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
    dpop_jkt: await DPoP.calculateThumbprint(),
  });
  openBrowser(url.href);
  try {
    const answer = new URL(`${redirectUri}?${await receiveAnswer(server, checks.expectedState)}`);
    // checks state and iss, and sends the verifier and a proof of the key
    return await oauth.authorizationCodeGrant(config, answer, checks, undefined, { DPoP });
  } finally {
    // browsers open spare connections and send nothing on them
    server.close().closeAllConnections();
  }
}

/** Tokens from a browser on any machine (RFC 8628). @param {oauth.DPoPHandle} DPoP */
async function askElsewhere(DPoP) {
  const device = await oauth.initiateDeviceAuthorization(config, { scope: "read" });
  console.log(`Open ${device.verification_uri} on any screen and type ${device.user_code}`);
  return oauth.pollDeviceAuthorizationGrant(config, device, undefined, { DPoP });
}

async function signIn() {
  // it signs a proof for each request: whoever reads a token on the way can't use it
  const pair = await oauth.randomDPoPKeyPair("ES256", { extractable: true });
  const DPoP = oauth.getDPoPHandle(config, pair);
  const tokens = await (isElsewhere ? askElsewhere(DPoP) : askHere(DPoP));
  const privateKey = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const publicKey = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return { keys: { privateKey, publicKey }, DPoP, tokens };
}

/** New tokens from the kept refresh token, or `undefined` if the person has to sign in. @param {import("./kept-token.mjs").Kept} kept */
async function refresh({ refreshToken, keys }) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const privateKey = await crypto.subtle.importKey("jwk", keys.privateKey, algorithm, false, ["sign"]);
  const publicKey = await crypto.subtle.importKey("jwk", keys.publicKey, algorithm, true, ["verify"]);
  const DPoP = oauth.getDPoPHandle(config, { privateKey, publicKey });
  try {
    return { keys, DPoP, tokens: await oauth.refreshTokenGrant(config, refreshToken, undefined, { DPoP }) };
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant") return undefined;
    throw error;
  }
}

async function showOrders() {
  const { keys, DPoP, tokens } = (await useToken(ISSUER, refresh)) ?? (await signIn());
  const { access_token: accessToken, refresh_token: refreshToken } = tokens;
  if (refreshToken) await keepToken({ issuer: ISSUER, refreshToken, keys });
  const request = /** @type {const} */ ([new URL(API_URL), "GET", null, undefined, { DPoP }]);
  const answer = await oauth.fetchProtectedResource(config, accessToken, ...request);
  console.log(await answer.text());
}

async function signOut() {
  await useToken(ISSUER, ({ refreshToken }) => oauth.tokenRevocation(config, refreshToken));
  console.log("Signed out.");
}

try {
  await (process.argv[2] === "sign-out" ? signOut() : showOrders());
} catch (error) {
  // print no URL of the answer: it contains the code
  const isRefusal =
    error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError;
  console.error(isRefusal ? `Not signed in: ${error.error}` : String(error));
  process.exitCode = 1;
}
