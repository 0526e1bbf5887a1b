import * as oauth from "oauth4webapi";

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const issuer = new URL(ISSUER);
const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2" });
const as = await oauth.processDiscoveryResponse(issuer, found);
const client = { client_id: "web" };
const proof = oauth.ClientSecretBasic(CLIENT_SECRET);

// send the person to `url`, and keep `session` in their session
export async function start() {
  const code_verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri,
    scope: "read",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, session: { code_verifier, state } };
}

// back at the redirect URI: `currentUrl` is the whole URL of the request
export async function finish(currentUrl, { code_verifier, state }) {
  const answer = oauth.validateAuthResponse(as, client, new URL(currentUrl), state);
  const grant = [answer, redirect_uri, code_verifier];
  const response = await oauth.authorizationCodeGrantRequest(as, client, proof, ...grant);
  return oauth.processAuthorizationCodeResponse(as, client, response);
}

export async function refresh(tokens) {
  const response = await oauth.refreshTokenGrantRequest(as, client, proof, tokens.refresh_token);
  return oauth.processRefreshTokenResponse(as, client, response);
}

export async function machine() {
  const response = await oauth.clientCredentialsGrantRequest(as, client, proof, { scope: "read" });
  return oauth.processClientCredentialsResponse(as, client, response);
}

export async function revoke(tokens) {
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, proof, tokens.refresh_token),
  );
}

export async function introspect(tokens) {
  const response = await oauth.introspectionRequest(as, client, proof, tokens.access_token);
  return oauth.processIntrospectionResponse(as, client, response);
}
