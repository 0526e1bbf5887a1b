// A page whose tokens are bound to a key that no script can read. bound-page.test.ts
import { IndexedDbDPoPStore, UserManager } from "oidc-client-ts";

const issuer = document.querySelector("meta[name=issuer]").content;
const store = new IndexedDbDPoPStore();

const manager = new UserManager({
  authority: issuer,
  client_id: "spa",
  redirect_uri: `${location.origin}/callback`,
  silent_redirect_uri: `${location.origin}/silent`,
  scope: "openid email",
  loadUserInfo: false,
  dpop: { store, bind_authorization_code: true },
});

export const start = () => manager.signinRedirect({ nonce: crypto.randomUUID() });

// at /callback
export async function finish(currentUrl) {
  const { access_token, token_type } = await manager.signinCallback(currentUrl);
  return { access_token, token_type };
}

// a new access token, in an iframe
export async function renew() {
  const { access_token, token_type } = await manager.signinSilent();
  return { access_token, token_type };
}

// at /silent, which is that iframe
export const finishRenewal = () => manager.signinSilentCallback();

// who the person is, by a request with a proof
export async function userinfo() {
  const user = await manager.getUser();
  const url = `${issuer}/userinfo`;
  const headers = {
    Authorization: `DPoP ${user.access_token}`,
    DPoP: await manager.dpopProof(url, user, "GET"),
  };
  const answer = await fetch(url, { headers });
  return { status: answer.status, body: await answer.json() };
}

// what a script of the page could take with it
export async function exportKey() {
  const { keys } = await store.get("spa");
  return crypto.subtle.exportKey("jwk", keys.privateKey).then(
    () => "exported",
    (error) => error.name,
  );
}
