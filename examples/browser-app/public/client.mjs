/** A public client in a page: code and PKCE, no secret, no refresh token. The access token lives in this variable only. */
import * as oauth from "./oauth4webapi/index.js";

let token;

const { issuer, apiUrl, clientId } = await (await fetch("/settings.json")).json();
const client = { client_id: clientId };
// without https on localhost only
const insecure = { [oauth.allowInsecureRequests]: true };
const server = await oauth.processDiscoveryResponse(
  new URL(issuer),
  await oauth.discoveryRequest(new URL(issuer), { algorithm: "oauth2", ...insecure }),
);

/** Where the browser has to go, and what the answer must match. */
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

/** Checks `state` and `iss` of the answer and gets the token for its code. */
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

/** Leaves the page. What the answer must match waits for it in sessionStorage; no token is ever put there. */
export async function signIn() {
  const { url, request } = await newRequest(`${location.origin}/`);
  sessionStorage.setItem("request", JSON.stringify(request));
  location.assign(url);
}

/** Takes the answer if this page was loaded with one. */
export async function finishSignIn() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state")) return;
  // out of the address bar and the history
  history.replaceState(undefined, "", "/");
  const request = JSON.parse(sessionStorage.getItem("request") ?? "{}");
  // any site can link here: what was not asked for must not end what was
  if (answer.get("state") !== request.state) throw new Error("This page has not asked.");
  sessionStorage.removeItem("request");
  await takeAnswer(answer, request);
}

/** Where a hidden iframe ends up; `prompt=none` sees to it that it shows nothing. */
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
    // only the person can go on; any other failure may pass
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
