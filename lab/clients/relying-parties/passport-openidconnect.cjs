const express = require("express");
const session = require("express-session");
const passport = require("passport");
const OpenIDConnectStrategy = require("passport-openidconnect");

const { ISSUER, CLIENT_SECRET, SESSION_SECRET, ORIGIN } = process.env;

// it has no discovery
const settings = {
  issuer: ISSUER,
  authorizationURL: `${ISSUER}/authorize`,
  tokenURL: `${ISSUER}/token`,
  userInfoURL: `${ISSUER}/userinfo`,
  clientID: "web",
  clientSecret: CLIENT_SECRET,
  callbackURL: `${ORIGIN}/callback`,
  scope: "profile email",
  nonce: true,
  skipUserProfile: false, // asks userinfo
};

// with nine parameters it gives what userinfo has said
function signIn(
  _issuer,
  { _json: said },
  _idToken,
  _context,
  _jwt,
  _accessToken,
  _refreshToken,
  _answer,
  done,
) {
  const { name, email, email_verified } = said;
  // people are found by their address here: only one that they have proved
  done(null, email_verified === true && { name, email });
}

const strategy = new OpenIDConnectStrategy(settings, signIn);

passport.use(strategy);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = express();
app.use(session({ secret: SESSION_SECRET, resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get("/sign-in", passport.authenticate("openidconnect"));
app.get("/callback", passport.authenticate("openidconnect"), (_req, res) => res.redirect("/"));
app.get("/", (req, res) => res.json(req.user ?? {}));
app.listen(new URL(ORIGIN).port);
