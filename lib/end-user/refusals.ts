/** Why an approval is refused that the request itself allows. RFC 6749 §4.1.2.1; OpenID Connect Core §3.1.2.1, §3.1.2.6. */
import { OAuthError } from "../protocol/oauth-error";
import { quoted } from "../protocol/parameters";

/** For events. */
export const endUserReasons = {
  "end-user-denied": "The end user did not grant access.",
  "sign-in-denied": "The end user was not signed in.",
  "not-signed-in":
    "prompt=none, but authenticate found nobody signed in (OpenID Connect Core §3.1.2.6): send the request without prompt=none. In an iframe on another site, the browser does not send the host's session cookie",
  "sign-in-too-old": "authenticate returned an old sign-in despite reauthenticate: true: return interaction",
  "sign-in-too-weak": (held?: string): string =>
    `authenticate returned ${held === undefined ? "no acr" : `acr ${quoted(held)}`}, none of the acrValues that it was called with (RFC 9470 §5), after a page or despite reauthenticate: true: return interaction, to a page where the person signs in in such a way, and then its acr. With prompt=none: send the request without it`,
  "not-the-hinted-person":
    "somebody else than the person of id_token_hint is signed in (OpenID Connect Core §3.1.2.1), after a page or although authenticate was called with reauthenticate: true, where it must return interaction. To let anyone sign in, send the request without id_token_hint",
  "account-not-chosen":
    "authenticate was called with reauthenticate: true, for prompt=select_account or because the person asked for another account on the consent page, but returned a signed-in end user (OpenID Connect Core §3.1.2.1): return interaction",
  "consent-not-remembered":
    "prompt=none, but no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): send the request without prompt=none, or mark the client as trusted",
  "consent-always-asked":
    "prompt=none, but any program on the device could use the client's redirect URI, http on localhost or a custom scheme, so people are always asked (RFC 8252 §8.6). Use an https redirect URI, or mark the client as trusted",
  "consent-page-needed":
    "prompt=none, but consent.decide returned interaction (OpenID Connect Core §3.1.2.6): send the request without prompt=none",
  "page-answered-before":
    "the consent page was already answered the other way, perhaps at the same moment, and the first answer stands: start a new authorization request. The browser did not wait for the response, so its cookie does not say so",
  "request-uri-used-before":
    "another approval has used the request_uri up (RFC 9126 §4): push a new request each time, and open its URL in one browser",
  "device-request-over":
    "the request of the device has expired, or was answered before, perhaps by somebody else who had its code (RFC 8628 §3.3): start again on the device",
  "client-changed":
    "the client's metadata document has changed its redirect_uris or its client authentication since the first visit: start a new authorization request",
  "registration-expired":
    "nobody approved the client within an hour of its registration, so it has expired (RFC 7591): register again",
  "ended-meanwhile":
    "while this request was under way, auth.subjects, auth.clients or auth.consents.revoke ended what it relies on: start a new authorization request",
} as const;

/** The no of the end user. */
export function denied(): OAuthError {
  const code = "end-user-denied";
  return new OAuthError("access_denied", { description: endUserReasons[code], code });
}
