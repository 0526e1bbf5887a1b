// @ts-check
/** The tokens of a session: obtained, renewed, used and revoked here, and never told to the browser. */
import * as oauth from "openid-client";

const { ISSUER = "", API_URL = "", CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;

/** @typedef {{ accessToken: string, refreshToken: string, expiresAt: number }} Tokens */
/** @typedef {{ tokens: Tokens, refreshing?: Promise<Tokens> | undefined }} Session */
/** @typedef {{ method: string, contentType?: string | undefined, body?: Buffer<ArrayBuffer> | undefined }} ApiRequest */

const config = await oauth.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  undefined,
  oauth.ClientSecretBasic(CLIENT_SECRET),
  // http is for localhost only
  { algorithm: "oauth2", execute: [oauth.allowInsecureRequests] },
);

/** The server whose answers count. */
export const { issuer } = config.serverMetadata();

/** Where to send the browser, and what to keep until it comes back. @param {string} redirectUri */
export async function beginSignIn(redirectUri) {
  const state = oauth.randomState();
  const verifier = oauth.randomPKCECodeVerifier();
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  return { url, state, verifier };
}

/** @type {(answer: oauth.TokenEndpointResponse, before?: Tokens) => Tokens} */
function keepTokens({ access_token, refresh_token, expires_in = 0 }, before) {
  const refreshToken = refresh_token ?? before?.refreshToken ?? "";
  return { accessToken: access_token, refreshToken, expiresAt: Date.now() + expires_in * 1000 };
}

/**
 * Redeems the code of an answer. The secret proves this server, and the verifier proves that the code was made for this browser: a code
 * that somebody else has slipped in, or that was asked for without a challenge, is refused.
 *
 * @type {(answer: URL, checks: { state: string, verifier: string }) => Promise<Session>}
 */
export async function redeem(answer, { state, verifier }) {
  const checks = { expectedState: state, pkceCodeVerifier: verifier };
  return { tokens: keepTokens(await oauth.authorizationCodeGrant(config, answer, checks)) };
}

/** @param {Tokens} tokens */
async function refresh(tokens) {
  return keepTokens(await oauth.refreshTokenGrant(config, tokens.refreshToken), tokens);
}

/**
 * New tokens in the place of those that no longer do. Requests that come together share one refresh, because a refresh token that is used
 * twice ends everything. A request that comes late gets what an earlier one has brought.
 *
 * @type {(session: Session, used: Tokens) => Promise<Tokens>}
 */
async function replaceTokens(session, used) {
  if (session.tokens !== used) return session.tokens;
  session.refreshing ??= refresh(used)
    .then((tokens) => (session.tokens = tokens))
    .finally(() => (session.refreshing = undefined));
  return session.refreshing;
}

/** @type {(tokens: Tokens, request: ApiRequest) => Promise<Response>} */
function send({ accessToken }, { method, contentType, body }) {
  const headers = {
    authorization: `Bearer ${accessToken}`,
    ...(contentType !== undefined && { "content-type": contentType }),
  };
  const limits = { redirect: /** @type {const} */ ("error"), signal: AbortSignal.timeout(10_000) };
  return fetch(API_URL, { method, headers, ...(body && { body }), ...limits });
}

/**
 * Calls the API as the person. Renews the tokens ten seconds before they expire, and once more when the API refuses them.
 *
 * @type {(session: Session, request: ApiRequest) => Promise<Response>}
 */
export async function callApi(session, request) {
  const kept = session.tokens;
  const expires = kept.expiresAt - Date.now() < 10_000;
  const tokens = expires ? await replaceTokens(session, kept) : kept;
  const answer = await send(tokens, request);
  if (answer.status !== 401 || expires) return answer;
  return send(await replaceTokens(session, tokens), request);
}

/** Ends the tokens at the authorization server; the access token ends with the refresh token. @param {Session} session */
export async function revoke(session) {
  // a refresh that is under way brings another refresh token
  const { refreshToken } = await (session.refreshing?.catch(() => session.tokens) ?? session.tokens);
  await oauth.tokenRevocation(config, refreshToken);
}

/**
 * True for a refusal, false for a temporary failure: no answer, a 5xx, too many requests.
 *
 * @param {unknown} error
 */
export function isRefusal(error) {
  if (error instanceof oauth.ResponseBodyError) return error.error !== "temporarily_unavailable";
  return error instanceof oauth.AuthorizationResponseError;
}
