/** Redirect URIs: which may be registered, and which a request may be answered at. RFC 6749 §3.1.2, 8252 §7, 9700 §2.1. */
import type { Client } from "./client";
import { parseUrl } from "./parsed-url";

declare const verified: unique symbol;

/**
 * A redirect URI that was matched with the client's registration. Only `verifyRedirectUri` creates one, and every redirect to a
 * client needs one, so an open redirect does not compile.
 */
export interface RedirectTarget {
  /** The URI exactly as it was requested or registered. */
  readonly uri: string;
  /** Where it leads, as people read it: the URI's origin, or its scheme if it has none, both in lower case. */
  readonly source: string;
  /** A `DeviceTarget` has one. */
  readonly device?: undefined;
  readonly [verified]: true;
}

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?(\/[^]*|\?[^]*)?$/;
const loopbackHost = /^(?:127\.0\.0\.1|\[::1\]|(?:.+\.)?localhost)$/;
const dottedScheme = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/;

/** Schemes that browsers open or execute themselves, and schemes that any web page may claim (HTML, registerProtocolHandler). */
const webSchemes = new Set(
  (
    "about acct bitcoin blob cid content data dict dns example feed file filesystem ftp ftps geo gopher hcp http https im intent irc ircs its jar " +
    "javascript ldap ldaps livescript magnet mailto market matrix mhtml mid mk mms mocha news nfs nntp openpgp4fpr pcast res resource " +
    "rtsp search sftp shell sip sips sms smsto smb snews ssh tag tel telnet urn vbs vbscript view-source webcal wss ws wtai wyciwyg xmpp"
  ).split(" "),
);
const browserSchemes =
  /^(?:android|brave|chrome|devtools|edge|ext|firefox|microsoft|ms|moz|opera|safari|search-ms|vivaldi|web)(?:$|[+-])/;

/** True for the host of a URL that is this machine, also for names below `localhost`. @rfc 6761 §6.3 */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackHost.test(hostname);
}

/** True for a lower-case scheme name without a dot. */
export function isDotlessScheme(scheme: string): boolean {
  return /^[a-z][a-z0-9+-]*$/.test(scheme);
}

/** True for a lower-case scheme without a dot that an app may have invented. Only the host knows whether one really did. */
export function isDotlessPrivateScheme(scheme: string): boolean {
  return isDotlessScheme(scheme) && !webSchemes.has(scheme) && !browserSchemes.test(scheme);
}

/** Which private-use schemes without a dot may be registered: those in a list, or all that an app may have invented. */
export type AllowedSchemes = readonly string[] | "any";

function isPrivateUse(scheme: string, redirectSchemes: AllowedSchemes): boolean {
  if (dottedScheme.test(scheme)) return true;
  return isDotlessPrivateScheme(scheme) && (redirectSchemes === "any" || redirectSchemes.includes(scheme));
}

/**
 * The host of an http or https URI, as the text has it. It must be the host that a browser goes to: without `//` and a host, a browser
 * resolves the URI against this server's origin, a lone `@` would disguise the host, and `0177.0.0.1` or `loc%61lhost` is this machine
 * for browsers and another one for other programs.
 */
function writtenHost(uri: string): string | undefined {
  return /^https?:\/\/(\[[^/?@]+\]|[^/?@:]+)(?::\d*)?(?:[/?]|$)/i.exec(uri)?.[1]?.toLowerCase();
}

type Registrable = Readonly<{ uri: string; redirectSchemes: AllowedSchemes }>;

/** Why a URI with this scheme, which is neither http nor https, may not be registered, or `undefined`. */
function schemeProblem(
  client: Client,
  { scheme, redirectSchemes }: { scheme: string; redirectSchemes: AllowedSchemes },
): string | undefined {
  if (client.confidential || client.platform !== "native")
    return 'has a custom scheme, which only a public client with platform "native" may use: write https';
  if (isPrivateUse(scheme, redirectSchemes)) return undefined;
  return isDotlessPrivateScheme(scheme)
    ? "has a scheme without a dot: list the scheme under redirectSchemes of createAuthServer, or use one with a dot"
    : "has a scheme that browsers open or run: write https, or a scheme with a dot, such as com.example.app";
}

/** The parsed URI, or which rule it breaks and what to write: the end of a sentence, which quotes nothing of it. */
function parseRegistrable(client: Client, { uri, redirectSchemes }: Registrable): URL | string {
  if (!/^[\x21-\x7e]+$/.test(uri)) return "has characters other than visible ASCII: percent-encode them";
  if (uri.includes("#")) return "has a fragment: leave out # and what follows";
  const url = uri.includes("\\") ? undefined : parseUrl(uri);
  if (!url)
    return "is not an absolute URI, or has a backslash: write one such as https://app.example/callback";
  if (url.username || url.password) return "has a user name or password: leave it out";
  // a star means a wildcard, which would let anyone who owns any such subdomain receive codes
  if (uri.includes("*")) return "has a wildcard: register each URI in full";
  if (/^https?:/i.test(uri) && writtenHost(uri) !== url.hostname)
    return "has a host that browsers write in another way: write it as new URL(uri).host has it, behind //";
  if (url.protocol === "https:") return url;
  if (url.protocol === "http:")
    return isLoopbackHost(url.hostname) ? url : "is http, which only loopback hosts may use: write https";
  return schemeProblem(client, { scheme: url.protocol.slice(0, -1), redirectSchemes }) ?? url;
}

/** Which rule for redirect URIs this one breaks for this kind of client, or `undefined`. `javascript:` and similar schemes never pass. */
export function redirectUriProblem(client: Client, by: Registrable): string | undefined {
  const read = parseRegistrable(client, by);
  return typeof read === "string" ? read : undefined;
}

/** True when this kind of client may register the URI at all. */
export function isRegistrableRedirectUri(client: Client, by: Registrable): boolean {
  return redirectUriProblem(client, by) === undefined;
}

/**
 * True for loopback redirects that differ in nothing but their port: an app listens on whichever port it gets. The IPv4 address,
 * the IPv6 address and the name `localhost` are three different hosts.
 *
 * @rfc 8252 §7.3, OAuth 2.1 draft §2.3.1
 */
function differsInLoopbackPort(registered: string, requested: string): boolean {
  const [a, b] = [loopback.exec(registered), loopback.exec(requested)];
  if (!a || !b) return false;
  return a[1] === b[1] && (a[3] ?? "") === (b[3] ?? "");
}

/** True for clients that may be programs on the person's device. Without PKCE, what leads elsewhere could be injected into a confidential one. */
function mayUseAnyPort(client: Client, withPkce: boolean): boolean {
  return client.confidential ? withPkce : client.platform === "native";
}

function sourceOf({ origin, protocol }: URL): string {
  // a custom scheme has no origin
  return origin === "null" ? protocol : origin;
}

/**
 * The proven redirect target of an authorization request, or `undefined`. URIs are compared character for character, except for
 * the port of a loopback redirect of a native client, or of a confidential one whose request is `withPkce`. If the request leaves the URI out, the client's only registered URI is used.
 *
 * @rfc 6749 §3.1.2.3, 9700 §2.1
 */
export function verifyRedirectUri(
  client: Client,
  {
    requested,
    rule,
    redirectSchemes,
    withPkce = false,
  }: {
    requested: string | undefined;
    rule: "required" | "optional";
    redirectSchemes: AllowedSchemes;
    withPkce?: boolean;
  },
): RedirectTarget | undefined {
  const [only, ...others] = client.redirectUris;
  const uri = requested ?? (rule === "optional" && others.length === 0 ? only : undefined);
  if (uri === undefined) return undefined;
  // checked again, because the record may come from the host's own table and `redirectSchemes` may have changed since it was written
  const url = parseRegistrable(client, { uri, redirectSchemes });
  if (typeof url === "string") return undefined;
  const known =
    client.redirectUris.includes(uri) ||
    (mayUseAnyPort(client, withPkce) &&
      client.redirectUris.some((registered) => differsInLoopbackPort(registered, uri)));
  return known ? ({ uri, source: sourceOf(url) } as RedirectTarget) : undefined;
}

/**
 * True when the redirect proves who the client is: a confidential client needs its secret to redeem the code, which it may have given
 * away if it is a program that comes from any port of a device, and an https answer reaches only the client's own server. Any program on the device can claim a custom scheme or listen on a loopback port, so a
 * public client that uses those must not get an answer without asking the person. Nor must a client that nobody registered, whatever
 * it proves later: its document may name this device as well.
 *
 * @rfc 8252 §8.6, 9700 §4.11.2
 */
export function redirectProvesClient(client: Client, target: RedirectTarget): boolean {
  const isExact = client.confidential && client.redirectUris.includes(target.uri);
  return (isExact && !client.selfDescription) || target.source.startsWith("https:");
}
