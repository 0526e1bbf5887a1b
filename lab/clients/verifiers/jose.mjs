import { createRemoteJWKSet, jwtVerify } from "jose";

const { ISSUER, AUDIENCE, KEYS_URL } = process.env;

const keys = createRemoteJWKSet(new URL(KEYS_URL));

export async function verify(token) {
  const { payload } = await jwtVerify(token, keys, {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ["ES256"],
    typ: "at+jwt",
  });
  return payload;
}
