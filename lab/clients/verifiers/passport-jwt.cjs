const express = require("express");
const { passportJwtSecret } = require("jwks-rsa");
const passport = require("passport");
const { ExtractJwt, Strategy } = require("passport-jwt");

const { ISSUER, AUDIENCE, KEYS_URL, PORT } = process.env;

const findKey = passportJwtSecret({ jwksUri: KEYS_URL });
const typOf = (token) => JSON.parse(Buffer.from(token.split(".")[0], "base64url")).typ;

const settings = {
  jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
  secretOrKeyProvider(req, token, done) {
    if (typOf(token) !== "at+jwt") return done(new Error("not an access token"));
    findKey(req, token, done);
  },
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ["ES256"],
};

passport.use(new Strategy(settings, (claims, done) => done(null, claims)));
const forPeople = passport.authenticate("jwt", { session: false });

const app = express();
app.get("/orders", forPeople, (req, res) => res.json(req.user));
app.listen(PORT);
