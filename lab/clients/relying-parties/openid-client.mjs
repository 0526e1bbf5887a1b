import * as client from "openid-client";

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const proof = client.ClientSecretBasic(CLIENT_SECRET);
const config = await client.discovery(new URL(ISSUER), "web", CLIENT_SECRET, proof, {
  execute: [client.enableNonRepudiationChecks], // the signature too
});

// send the person to `url`, and keep `session` in their session
export async function start() {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const expectedNonce = client.randomNonce();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: "openid profile email",
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, session: { pkceCodeVerifier, expectedState, expectedNonce } };
}

// back at the redirect URI: `currentUrl` is the whole URL
export async function finish(currentUrl, session) {
  const tokens = await client.authorizationCodeGrant(config, new URL(currentUrl), session);
  return { tokens, claims: tokens.claims() };
}

export async function refresh({ refresh_token }) {
  const tokens = await client.refreshTokenGrant(config, refresh_token);
  return { tokens, claims: tokens.claims() };
}

export const userinfo = ({ access_token }, sub) => client.fetchUserInfo(config, access_token, sub);
