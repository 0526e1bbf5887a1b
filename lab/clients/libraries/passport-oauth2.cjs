const express = require("express");
const session = require("express-session");
const passport = require("passport");
const OAuth2Strategy = require("passport-oauth2");

const { ISSUER, API, CLIENT_SECRET, SESSION_SECRET, ORIGIN } = process.env;

const settings = {
  authorizationURL: `${ISSUER}/authorize`,
  tokenURL: `${ISSUER}/token`,
  clientID: "web",
  clientSecret: CLIENT_SECRET,
  callbackURL: `${ORIGIN}/callback`,
  scope: "read",
  pkce: true,
  state: true, // needs a session
};

// ask your API who the person is
async function signIn(accessToken, refreshToken, profile, done) {
  const answer = await fetch(API, { headers: { authorization: `Bearer ${accessToken}` } });
  const { subject } = await answer.json();
  // an API that fails must not sign in anybody, and least of all several people as the same nobody
  if (!answer.ok || typeof subject !== "string") throw new Error(`no subject: ${answer.status}`);
  done(null, { subject, accessToken, refreshToken });
}

passport.use(new OAuth2Strategy(settings, (...given) => void signIn(...given).catch(given[3])));
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

// the strategy does not compare it
function fromOurIssuer(req, res, next) {
  if (req.query.iss === ISSUER) return next();
  res.status(400).send("another issuer");
}

const app = express();
app.use(session({ secret: SESSION_SECRET, resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get("/sign-in", passport.authenticate("oauth2"));
app.get("/callback", fromOurIssuer, passport.authenticate("oauth2"), (req, res) => res.redirect("/"));
app.get("/", (req, res) => res.json({ subject: req.user?.subject }));
app.listen(new URL(ORIGIN).port);
