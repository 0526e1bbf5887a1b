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
};
const strategy = new OpenIDConnectStrategy(settings, (_issuer, { displayName: name, emails }, done) =>
  done(null, { name, email: emails?.[0]?.value }),
);

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
