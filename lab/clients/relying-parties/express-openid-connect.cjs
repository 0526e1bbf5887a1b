const express = require("express");
const { auth } = require("express-openid-connect");

const { ISSUER, CLIENT_SECRET, SESSION_SECRET, ORIGIN } = process.env;

const app = express();
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: ORIGIN,
    clientID: "web",
    clientSecret: CLIENT_SECRET,
    secret: SESSION_SECRET,
    authRequired: false,
    authorizationParams: { response_type: "code", scope: "openid profile email" },
  }),
);
app.get("/", (req, res) => res.json({ name: req.oidc.user?.name, email: req.oidc.user?.email }));
app.get("/userinfo", async (req, res) => res.json(await req.oidc.fetchUserInfo()));
app.get("/refresh", async (req, res) => {
  const before = req.oidc.idToken;
  await req.oidc.accessToken.refresh();
  res.json({ ...req.oidc.idTokenClaims, isNew: req.oidc.idToken !== before });
});
app.listen(new URL(ORIGIN).port);
