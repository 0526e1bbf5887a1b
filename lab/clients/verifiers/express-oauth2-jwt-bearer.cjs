const express = require("express");
const { auth, requiredScopes } = require("express-oauth2-jwt-bearer");

const { ISSUER, AUDIENCE, PORT } = process.env;

const forPeople = auth({
  issuerBaseURL: ISSUER, // finds the metadata, and there the keys
  audience: AUDIENCE,
  tokenSigningAlg: "ES256",
  strict: true, // RFC 9068: `typ` is "at+jwt"
});

const app = express();
app.get("/orders", forPeople, requiredScopes("read"), (req, res) => res.json(req.auth.payload));
app.listen(PORT);
