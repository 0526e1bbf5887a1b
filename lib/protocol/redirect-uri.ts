/** Redirect URIs: what may be registered, and which requests may be answered there. RFC 6749 §3.1.2, 8252 §7, 9700 §2.1. */
import type { Client } from "./client";

declare const verified: unique symbol;

/** A redirect URI that was matched with the client's registration. Only `verifyRedirectUri` makes one. */
export interface RedirectTarget {
  readonly uri: string;
  /** The CSP source that lets a form's answer redirect there: its origin, or its scheme. */
  readonly source: string;
  readonly [verified]: true;
}

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?(\/[^]*|\?[^]*)?$/;
const loopbackHosts = ["127.0.0.1", "[::1]", "localhost"];
const dottedScheme = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/;

/** What browsers open or run themselves, and what any web page may claim (HTML, registerProtocolHandler). */
const webSchemes = new Set(
  (
    "about acct bitcoin blob cid content data dict dns example feed file filesystem ftp ftps geo gopher hcp http https im intent irc ircs its jar " +
    "javascript ldap ldaps livescript magnet mailto market matrix mhtml mid mk mms mocha news nfs nntp openpgp4fpr pcast res resource " +
    "rtsp search sftp shell sip sips sms smsto smb snews ssh tag tel telnet urn vbs vbscript view-source webcal wss ws wtai wyciwyg xmpp"
  ).split(" "),
);
const browserSchemes =
  /^(?:android|brave|chrome|devtools|edge|ext|firefox|microsoft|ms|moz|opera|safari|search-ms|vivaldi|web)(?:$|[+-])/;

/** True for the name of a scheme in lower case that has no dot. */
export function isDotlessScheme(scheme: string): boolean {
  return /^[a-z][a-z0-9+-]*$/.test(scheme);
}

/** True for a scheme without a dot that an app may have made up, in lower case. Only the host knows whether it has. */
export function isDotlessPrivateScheme(scheme: string): boolean {
  return isDotlessScheme(scheme) && !webSchemes.has(scheme) && !browserSchemes.test(scheme);
}

/** Which private-use schemes without a dot may be registered: those of a list, or all that an app may have made up. */
export type DotlessSchemes = readonly string[] | "any";

function isPrivateUse(scheme: string, dotless: DotlessSchemes): boolean {
  if (dottedScheme.test(scheme)) return true;
  return isDotlessPrivateScheme(scheme) && (dotless === "any" || dotless.includes(scheme));
}

function parseUrl(uri: string): URL | undefined {
  try {
    return new URL(uri);
  } catch {
    return undefined;
  }
}

function isRegistrable(
  client: Client,
  { uri, url, dotless }: { uri: string; url: URL; dotless: DotlessSchemes },
): boolean {
  if (url.username || url.password) return false;
  // nobody means a star as it is: it is compared like any other character, so it would match nothing
  if (uri.includes("*")) return false;
  // without `//` and a host after it a browser resolves the URI against our own origin; a lone `@` would hide the host
  if (/^https?:/i.test(uri) && !/^https?:\/\/[^/?@]+(?:[/?]|$)/i.test(uri)) return false;
  if (url.protocol === "https:") return !url.hostname.includes("*");
  if (url.protocol === "http:") return loopbackHosts.includes(url.hostname);
  const scheme = url.protocol.slice(0, -1);
  return !client.confidential && client.platform === "native" && isPrivateUse(scheme, dotless);
}

function parseRegistrable(
  client: Client,
  { uri, dotless }: { uri: string; dotless: DotlessSchemes },
): URL | undefined {
  const url = /^[\x21-\x7e]+$/.test(uri) && !/[#\\]/.test(uri) ? parseUrl(uri) : undefined;
  return url && isRegistrable(client, { uri, url, dotless }) ? url : undefined;
}

/** True when this kind of client may register the URI at all. `javascript:` and its like never pass. */
export function isRegistrableRedirectUri(
  client: Client,
  by: { readonly uri: string; readonly dotless: DotlessSchemes },
): boolean {
  return parseRegistrable(client, by) !== undefined;
}

/**
 * True for equal loopback redirects that differ in their port only: an app listens on the port that it is given. An address, the
 * other address and the name `localhost` are three hosts.
 *
 * @rfc 8252 §7.3, OAuth 2.1 draft §2.3.1
 */
function differsInLoopbackPort(registered: string, requested: string): boolean {
  const [a, b] = [loopback.exec(registered), loopback.exec(requested)];
  if (!a || !b) return false;
  return a[1] === b[1] && (a[3] ?? "") === (b[3] ?? "");
}

function redirectUriMatches(client: Client, uris: { registered: string; requested: string }): boolean {
  if (uris.registered === uris.requested) return true;
  if (client.confidential || client.platform !== "native") return false;
  return differsInLoopbackPort(uris.registered, uris.requested);
}

function sourceOf({ origin, hostname, protocol }: URL): string {
  // CSP has no form for an IPv6 address, and a custom scheme has no origin
  return origin === "null" || hostname.startsWith("[") ? protocol : origin;
}

/**
 * The proven redirect target of an authorization request, or `undefined`. Comparison is character for character; the one
 * exception is the port of a native client's loopback redirect. Left out, it is the client's only registered URI.
 *
 * @rfc 6749 §3.1.2.3, 9700 §2.1
 */
export function verifyRedirectUri(
  client: Client,
  {
    requested,
    rule,
    dotless,
  }: { requested: string | undefined; rule: "required" | "optional"; dotless: DotlessSchemes },
): RedirectTarget | undefined {
  if (requested === undefined && (rule === "required" || client.redirectUris.length !== 1)) return undefined;
  const uri = requested ?? client.redirectUris[0] ?? "";
  const url = parseRegistrable(client, { uri, dotless });
  if (!url) return undefined;
  const known = client.redirectUris.some((registered) =>
    redirectUriMatches(client, { registered, requested: uri }),
  );
  return known ? ({ uri, source: sourceOf(url) } as RedirectTarget) : undefined;
}

/**
 * True when the redirect proves who the client is: only the client itself redeems a code that asks for its secret, and only its
 * own server is answered at https. Any program on the device can claim a custom scheme or listen on a loopback port, so such
 * requests of a public client must not be answered without a person.
 *
 * @rfc 8252 §8.6, 9700 §4.11.2
 */
export function redirectProvesClient(client: Client, target: RedirectTarget): boolean {
  return client.confidential || target.uri.startsWith("https:");
}
