const { generators, Issuer } = require("openid-client-5");

const { ISSUER, CLIENT_SECRET } = process.env;
const redirect_uri = "https://client.example/callback";

const discovered = Issuer.discover(ISSUER).then(
  (issuer) => new issuer.Client({ client_id: "web", client_secret: CLIENT_SECRET }),
);

exports.start = async () => {
  const client = await discovered;
  const [code_verifier, state, nonce] = [generators.codeVerifier(), generators.state(), generators.nonce()];
  const url = client.authorizationUrl({
    redirect_uri,
    scope: "openid profile email",
    state,
    nonce,
    code_challenge: generators.codeChallenge(code_verifier),
    code_challenge_method: "S256",
  });
  return { url, session: { code_verifier, state, nonce } };
};

exports.finish = async (currentUrl, session) => {
  const client = await discovered;
  const tokens = await client.callback(redirect_uri, client.callbackParams(currentUrl), session);
  return { tokens, claims: tokens.claims() };
};

exports.refresh = async ({ refresh_token }) => {
  const tokens = await (await discovered).refresh(refresh_token);
  return { tokens, claims: tokens.claims() };
};

exports.userinfo = async ({ access_token }) => (await discovered).userinfo(access_token);
