import { randomUUID } from "node:crypto";
import { generateCodeVerifier, OAuth2Client } from "@badgateway/oauth2-client";

const { ISSUER, CLIENT_SECRET } = process.env;
const redirectUri = "https://client.example/callback";

const client = new OAuth2Client({
  server: ISSUER,
  discoveryEndpoint: `${ISSUER}/.well-known/oauth-authorization-server`, // the whole URL
  clientId: "web",
  clientSecret: CLIENT_SECRET,
});

// send the person to `url`, and keep `session` in their session
export async function start() {
  const session = { codeVerifier: await generateCodeVerifier(), state: randomUUID() };
  const url = await client.authorizationCode.getAuthorizeUri({ redirectUri, scope: ["read"], ...session });
  return { url, session };
}

// back at the redirect URI: `currentUrl` is the whole URL of the request
export function finish(currentUrl, session) {
  // the library does not compare it
  if (new URL(currentUrl).searchParams.get("iss") !== ISSUER) throw new Error("another issuer");
  return client.authorizationCode.getTokenFromCodeRedirect(currentUrl, { redirectUri, ...session });
}

export const refresh = (token) => client.refreshToken(token);
export const machine = () => client.clientCredentials({ scope: ["read"] });
export const revoke = (token) => client.revoke(token, "refresh_token");
export const introspect = (token) => client.introspect(token);
