const { createHash, randomBytes } = require("node:crypto");
const { AuthorizationCode, ClientCredentials } = require("simple-oauth2");

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const { origin, pathname } = new URL(ISSUER);
const client = { id: "web", secret: CLIENT_SECRET };
const auth = { tokenHost: origin, tokenPath: `${pathname}/token`, revokePath: `${pathname}/revoke` };
const code = new AuthorizationCode({ client, auth: { ...auth, authorizePath: `${pathname}/authorize` } });
const ownToken = new ClientCredentials({ client, auth });

// send the person to `url`, and keep `session` in their session
exports.start = () => {
  const code_verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("base64url");
  const code_challenge = createHash("sha256").update(code_verifier).digest("base64url");
  const pkce = { code_challenge, code_challenge_method: "S256" };
  const url = code.authorizeURL({ redirect_uri, scope: "read", state, ...pkce });
  return { url, session: { code_verifier, state } };
};

// back at the redirect URI: `currentUrl` is the whole URL of the request
exports.finish = (currentUrl, { code_verifier, state }) => {
  const query = new URL(currentUrl).searchParams;
  // the library compares neither
  if (query.get("state") !== state || query.get("iss") !== ISSUER) throw new Error("not our answer");
  return code.getToken({ code: query.get("code"), redirect_uri, code_verifier });
};

exports.refresh = (token) => code.createToken(token).refresh();
exports.machine = () => ownToken.getToken({ scope: "read" });
exports.revoke = (token) => code.createToken(token).revoke("refresh_token");
