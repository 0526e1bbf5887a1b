import * as oauth from "oauth4webapi";

const { ISSUER, AUDIENCE } = process.env;

const issuer = new URL(ISSUER);
const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2" });
const as = await oauth.processDiscoveryResponse(issuer, found);

// `request` is a Request of the Fetch API
export const verifyRequest = (request) => oauth.validateJwtAccessToken(as, request, AUDIENCE);

export const verify = (token) =>
  verifyRequest(new Request(AUDIENCE, { headers: { authorization: `Bearer ${token}` } }));
