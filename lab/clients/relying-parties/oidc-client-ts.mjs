import { UserManager } from "oidc-client-ts";

const manager = new UserManager({
  authority: document.querySelector("meta[name=issuer]").content, // as your page has it
  client_id: "spa",
  redirect_uri: `${location.origin}/callback`,
  silent_redirect_uri: `${location.origin}/silent`,
  post_logout_redirect_uri: `${location.origin}/app`,
  scope: "openid profile email",
  loadUserInfo: true,
});

// it compares the nonce if there is one
export const start = () => manager.signinRedirect({ nonce: crypto.randomUUID() });

// at /callback
export const finish = (currentUrl) => manager.signinCallback(currentUrl);

// a new ID token, in an iframe
export const renew = () => manager.signinSilent();

// at /silent, which is that iframe
export const finishRenewal = () => manager.signinSilentCallback();

export const signOut = () => manager.signoutRedirect();
