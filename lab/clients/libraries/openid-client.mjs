import * as client from "openid-client";

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const proof = client.ClientSecretBasic(CLIENT_SECRET);
const config = await client.discovery(new URL(ISSUER), "web", CLIENT_SECRET, proof, {
  algorithm: "oauth2", // RFC 8414: without it the library asks for openid-configuration and gets a 404
});

// send the person to `url`, and keep `session` in their session
export async function start() {
  const code_verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: "read",
    state,
    code_challenge: await client.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, session: { code_verifier, state } };
}

// back at the redirect URI: `currentUrl` is the whole URL of the request
export function finish(currentUrl, { code_verifier, state }) {
  return client.authorizationCodeGrant(config, new URL(currentUrl), {
    pkceCodeVerifier: code_verifier,
    expectedState: state,
  });
}

export const refresh = (tokens) => client.refreshTokenGrant(config, tokens.refresh_token);
export const machine = () => client.clientCredentialsGrant(config, { scope: "read" });
export const revoke = (tokens) => client.tokenRevocation(config, tokens.refresh_token);
export const introspect = (tokens) => client.tokenIntrospection(config, tokens.access_token);
