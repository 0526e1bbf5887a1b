import { randomUUID } from "node:crypto";
import { OAuth2Client } from "google-auth-library";

const { ISSUER, CLIENT_SECRET } = process.env;

const newClient = () =>
  new OAuth2Client({
    clientId: "web",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://client.example/callback",
    endpoints: { oauth2AuthBaseUrl: `${ISSUER}/authorize`, oauth2TokenUrl: `${ISSUER}/token` },
  });

// send the person to `url`, and keep `session` in their session
export async function start() {
  const client = newClient();
  const { codeVerifier, codeChallenge } = await client.generateCodeVerifierAsync();
  const pkce = { code_challenge: codeChallenge, code_challenge_method: "S256" };
  const state = randomUUID();
  return { url: client.generateAuthUrl({ scope: "read", state, ...pkce }), session: { codeVerifier, state } };
}

// back at the redirect URI: `currentUrl` is the whole URL of the request
export async function finish(currentUrl, { codeVerifier, state }) {
  const query = new URL(currentUrl).searchParams;
  // the library compares neither
  if (query.get("state") !== state || query.get("iss") !== ISSUER) throw new Error("not our answer");
  const { tokens } = await newClient().getToken({ code: query.get("code"), codeVerifier });
  return tokens;
}

export async function refresh({ refresh_token }) {
  const client = newClient(); // one for each person: it keeps their tokens
  client.setCredentials({ refresh_token });
  const { credentials } = await client.refreshAccessToken();
  return credentials;
}
