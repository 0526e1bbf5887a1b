const { JwtVerifier } = require("aws-jwt-verify");

const { ISSUER, AUDIENCE, KEYS_URL } = process.env;

const verifier = JwtVerifier.create({
  issuer: ISSUER,
  audience: AUDIENCE,
  jwksUri: KEYS_URL,
  customJwtCheck({ header }) {
    if (header.typ !== "at+jwt") throw new Error("not an access token");
  },
});

exports.verify = (token) => verifier.verify(token);
