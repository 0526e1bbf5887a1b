const express = require("express");
const { expressjwt } = require("express-jwt");
const { expressJwtSecret } = require("jwks-rsa");

const { ISSUER, AUDIENCE, KEYS_URL, PORT } = process.env;

const forPeople = expressjwt({
  secret: expressJwtSecret({ jwksUri: KEYS_URL }),
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ["ES256"],
  isRevoked: (req, token) => token.header.typ !== "at+jwt",
});

const app = express();
app.get("/orders", forPeople, (req, res) => res.json(req.auth));
app.listen(PORT);
