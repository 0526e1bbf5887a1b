// @ts-check
/** A job without a person: it gets a token for itself and keeps it until it expires. */
import * as oauth from "openid-client";

const { ISSUER = "", API_URL = "", CLIENT_ID = "", CLIENT_SECRET = "", CLIENT_KEY = "" } = process.env;

/** With a key, the job signs an assertion for each token request, and never sends the key. */
async function clientAuthentication() {
  if (CLIENT_KEY === "") return oauth.ClientSecretBasic(CLIENT_SECRET);
  const jwk = JSON.parse(CLIENT_KEY);
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const key = await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["sign"]);
  return oauth.PrivateKeyJwt({ key, kid: jwk.kid });
}

const config = await oauth.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  undefined,
  await clientAuthentication(),
  // http is for localhost only
  { algorithm: "oauth2", execute: [oauth.allowInsecureRequests] },
);

/** With a key, tokens are bound to another one that never leaves this process: whoever steals a token can't use it. */
const DPoP =
  CLIENT_KEY === "" ? undefined : oauth.getDPoPHandle(config, await oauth.randomDPoPKeyPair("ES256"));
const proving = DPoP ? { DPoP } : {};

/** @type {{ accessToken: string, expiresAt: number } | undefined} */
let held;

async function getAccessToken() {
  // ten seconds early: the token must be valid until the API has read it
  if (!held || held.expiresAt - Date.now() < 10_000) {
    const parameters = { scope: "read" };
    const { access_token, expires_in = 0 } = await oauth.clientCredentialsGrant(config, parameters, proving);
    held = { accessToken: access_token, expiresAt: Date.now() + expires_in * 1000 };
  }
  return held.accessToken;
}

async function readOrders() {
  const request = /** @type {const} */ ([new URL(API_URL), "GET", null, undefined, proving]);
  try {
    const answer = await oauth.fetchProtectedResource(config, await getAccessToken(), ...request);
    if (!answer.ok) throw new Error(`The API answered ${answer.status}`);
    return await answer.text();
  } catch (error) {
    // a token can be revoked before it expires: the next call gets a new one
    if (error instanceof oauth.WWWAuthenticateChallengeError) held = undefined;
    throw error;
  }
}

for (const call of ["first", "second", "third"]) console.log(`${call} call: ${await readOrders()}`);
