/** Why an approval is refused that the request itself allows. RFC 6749 §4.1.2.1; OpenID Connect Core §3.1.2.1, §3.1.2.6. */
import { OAuthError } from "../protocol/oauth-error";

/** For events. */
export const endUserReasons = {
  "end-user-denied": "The end user did not grant access.",
  "sign-in-denied": "The end user was not signed in.",
  "not-signed-in":
    "prompt=none, but authenticate found nobody signed in (OpenID Connect Core §3.1.2.6): send the request without prompt=none. In an iframe on another site, the browser does not send the host's session cookie",
  "sign-in-too-old": "authenticate returned an old session although it was called with reauthenticate: true",
  "account-not-chosen":
    "prompt=select_account, or the person asked for another account on the consent page, but authenticate returned a signed-in end user although it was called with reauthenticate: true (OpenID Connect Core §3.1.2.1): return interaction",
  "consent-not-remembered":
    "prompt=none, but no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): send the request without prompt=none, or mark the client as trusted",
  "consent-always-asked":
    "prompt=none, but people are always asked for a client whose redirect URI any program on the device could use: http on localhost, or a scheme of its own (RFC 8252 §8.6). Use an https redirect URI, or mark the client as trusted",
  "consent-page-needed":
    "prompt=none, but consent.decide returned interaction (OpenID Connect Core §3.1.2.6): send the request without prompt=none",
  "page-answered-before":
    "the consent page has the other answer, which came before or at the same moment. The browser did not wait for the response, so its cookie does not say so",
  "client-changed":
    "the client's metadata document has changed its redirect_uris or its client authentication since the first visit: start again",
  "registration-expired":
    "nobody approved the client within an hour of its registration, so it has expired (RFC 7591): register again",
  "ended-meanwhile":
    "while this request was under way, what it relies on was ended (auth.consents.revoke, auth.subjects, auth.clients)",
} as const;

/** The no of the end user. */
export function denied(): OAuthError {
  const code = "end-user-denied";
  return new OAuthError("access_denied", { description: endUserReasons[code], code });
}
