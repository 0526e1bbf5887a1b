import { UserManager } from "oidc-client-ts";

const issuer = document.querySelector("meta[name=issuer]").content; // as your page has it

const manager = new UserManager({
  authority: issuer,
  metadataUrl: `${issuer}/.well-known/oauth-authorization-server`,
  client_id: "spa",
  redirect_uri: `${location.origin}/callback`,
  silent_redirect_uri: `${location.origin}/silent`,
  scope: "read", // the default is "openid"
  loadUserInfo: false,
});

export const start = () => manager.signinRedirect();

// at /callback
export function finish(currentUrl) {
  // the library does not compare it
  if (new URL(currentUrl).searchParams.get("iss") !== issuer) throw new Error("another issuer");
  return manager.signinCallback(currentUrl);
}

// a new access token, in an iframe
export const renew = () => manager.signinSilent();

// at /silent, which is that iframe
export const finishRenewal = () => manager.signinSilentCallback();

export const revoke = () => manager.revokeTokens(["access_token"]);
