import * as oauth from "oauth4webapi";

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const issuer = new URL(ISSUER);
const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer));
const client = { client_id: "web" };
const proof = oauth.ClientSecretBasic(CLIENT_SECRET);

export async function start() {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const nonce = oauth.generateRandomNonce();
  const url = new URL(as.authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri,
    scope: "openid profile email",
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, session: { verifier, state, nonce } };
}

export async function finish(currentUrl, { verifier, state, nonce }) {
  const answer = oauth.validateAuthResponse(as, client, new URL(currentUrl), state);
  const grant = [answer, redirect_uri, verifier];
  const response = await oauth.authorizationCodeGrantRequest(as, client, proof, ...grant);
  const checks = { expectedNonce: nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, checks);
  // its signature, which TLS makes optional (Core §3.1.3.7)
  await oauth.validateApplicationLevelSignature(as, response);
  return { tokens, claims: oauth.getValidatedIdTokenClaims(tokens) };
}

export async function refresh({ refresh_token }) {
  const response = await oauth.refreshTokenGrantRequest(as, client, proof, refresh_token);
  const tokens = await oauth.processRefreshTokenResponse(as, client, response);
  return { tokens, claims: oauth.getValidatedIdTokenClaims(tokens) };
}

export async function userinfo({ access_token }, sub) {
  return oauth.processUserInfoResponse(
    as,
    client,
    sub,
    await oauth.userInfoRequest(as, client, access_token),
  );
}
