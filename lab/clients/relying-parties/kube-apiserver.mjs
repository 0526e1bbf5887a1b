// what kube-apiserver does with the token of a request, as its source says:
// https://github.com/kubernetes/kubernetes/blob/02058680c5712f85b03b20d78f591d58a49c0f47/staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go
import { createRemoteJWKSet, jwtVerify } from "jose";

const { ISSUER } = process.env; // --oidc-issuer-url, https only
const clientId = "kubectl"; // --oidc-client-id
const usernameClaim = "email"; // --oidc-username-claim
const groupsClaim = "groups"; // --oidc-groups-claim

const document = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json();
if (document.issuer !== ISSUER) throw new Error("issuer did not match the issuer returned by provider");
const keys = createRemoteJWKSet(new URL(document.jwks_uri));

export async function authenticate(token) {
  // --oidc-signing-algs is RS256 unless told otherwise
  const checks = { issuer: ISSUER, audience: clientId, algorithms: ["RS256"], requiredClaims: ["exp"] };
  const { payload } = await jwtVerify(token, keys, checks);
  const { [usernameClaim]: username, [groupsClaim]: groups = [], email_verified } = payload;
  if (typeof username !== "string") throw new Error(`oidc: parse username claims "${usernameClaim}"`);
  if (usernameClaim === "email" && email_verified !== undefined && email_verified !== true)
    throw new Error("oidc: email not verified");
  return { username, groups: [groups].flat() };
}
