/** A public client in a page: code and PKCE, no secret, no refresh token. The access token lives in this variable only. */
import * as oauth from "./oauth4webapi/index.js";

let token;

const { issuer, apiUrl, clientId } = await (await fetch("/settings.json")).json();
const client = { client_id: clientId };
// http is for localhost only
const insecure = { [oauth.allowInsecureRequests]: true };
const server = await oauth.processDiscoveryResponse(
  new URL(issuer),
  await oauth.discoveryRequest(new URL(issuer), { algorithm: "oauth2", ...insecure }),
);

/** The URL to send the browser to, and the values that the answer must match. */
async function newRequest(redirectUri, parameters = {}) {
  const state = oauth.generateRandomState();
  const codeVerifier = oauth.generateRandomCodeVerifier();
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    redirect_uri: redirectUri,
    scope: "read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
    ...parameters,
  });
  return { url: url.href, request: { redirectUri, state, codeVerifier } };
}

/** Checks `state` and `iss` of the answer and exchanges its code for a token. */
async function takeAnswer(answer, { redirectUri, state, codeVerifier }) {
  const checked = oauth.validateAuthResponse(server, client, answer, state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    checked,
    redirectUri,
    codeVerifier,
    insecure,
  );
  const { access_token, expires_in } = await oauth.processAuthorizationCodeResponse(server, client, response);
  token = { value: access_token, expiresAt: Date.now() + expires_in * 1000 };
}

/** Leaves the page. The values that the answer must match wait in sessionStorage; no token is ever stored there. */
export async function signIn() {
  const { url, request } = await newRequest(`${location.origin}/`);
  sessionStorage.setItem("request", JSON.stringify(request));
  location.assign(url);
}

/** Handles the answer if this page was loaded with one. */
export async function finishSignIn() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state")) return;
  // remove the answer from the address bar and the history
  history.replaceState(undefined, "", "/");
  const request = JSON.parse(sessionStorage.getItem("request") ?? "{}");
  // any site can link here: an answer that this page did not ask for must not end a request that it made
  if (answer.get("state") !== request.state) throw new Error("This page has not asked.");
  sessionStorage.removeItem("request");
  await takeAnswer(answer, request);
}

/** The query of the URL where a hidden iframe ends up. Because of `prompt=none` the iframe shows nothing. */
function answerOfFrame(url) {
  const frame = document.createElement("iframe");
  const done = new AbortController();
  frame.hidden = true;
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("The iframe gave no answer.")), 10_000);
    const receive = ({ source, origin, data }) => {
      if (source === frame.contentWindow && origin === location.origin) resolve(new URLSearchParams(data));
    };
    window.addEventListener("message", receive, { signal: done.signal });
    frame.src = url;
    document.body.append(frame);
  }).finally(() => {
    done.abort();
    frame.remove();
  });
}

async function refreshSilently() {
  const { url, request } = await newRequest(`${location.origin}/silent.html`, { prompt: "none" });
  await takeAnswer(await answerOfFrame(url), request);
}

/** The orders, or `undefined` when the person has to sign in. */
export async function readOrders() {
  try {
    if (!token || token.expiresAt - Date.now() < 10_000) await refreshSilently();
  } catch (error) {
    // these need the person; any other failure may be temporary
    if (/^(login|consent|interaction)_required$/.test(error.error)) return undefined;
    throw error;
  }
  const answer = await fetch(apiUrl, { headers: { authorization: `Bearer ${token.value}` } });
  if (answer.ok) return answer.text();
  if (answer.status !== 401) throw new Error(`The API answered ${answer.status}: try again.`);
  // revoked before it expired
  token = undefined;
  return undefined;
}
