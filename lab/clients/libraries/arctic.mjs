import * as arctic from "arctic";

const { ISSUER, CLIENT_SECRET } = process.env;

const client = new arctic.OAuth2Client("web", CLIENT_SECRET, "https://client.example/callback");

// send the person to `url`, and keep `session` in their session
export function start() {
  const state = arctic.generateState();
  const codeVerifier = arctic.generateCodeVerifier();
  const s256 = arctic.CodeChallengeMethod.S256;
  const authorize = `${ISSUER}/authorize`;
  const url = client.createAuthorizationURLWithPKCE(authorize, state, s256, codeVerifier, ["read"]);
  return { url: url.href, session: { codeVerifier, state } };
}

// back at the redirect URI: `currentUrl` is the whole URL of the request
export async function finish(currentUrl, { codeVerifier, state }) {
  const query = new URL(currentUrl).searchParams;
  // the library compares neither
  if (query.get("state") !== state || query.get("iss") !== ISSUER) throw new Error("not our answer");
  return read(await client.validateAuthorizationCode(`${ISSUER}/token`, query.get("code"), codeVerifier));
}

export async function refresh({ refreshToken }) {
  return read(await client.refreshAccessToken(`${ISSUER}/token`, refreshToken, []));
}

export const revoke = ({ refreshToken }) => client.revokeToken(`${ISSUER}/revoke`, refreshToken);

const read = (tokens) => ({ accessToken: tokens.accessToken(), refreshToken: tokens.refreshToken() });
