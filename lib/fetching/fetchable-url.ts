/** Which URLs of strangers may be fetched at all. RFC 3986 §6.2 (normal form), RFC 6761 §6.3 (localhost), RFC 9110 §4.2.4 (user info). */
import { isIP } from "node:net";
import { parseUrl } from "../protocol/parsed-url";

/** What is allowed besides public https URLs. */
export interface UrlRules {
  /** Also allows `http:` and `https:` URLs of this machine (`localhost`, `127.0.0.1`, `[::1]`) on any port. For development and tests. */
  readonly insecureLoopback: boolean;
}

/** A URL is kept as the key of a cache, so its length is limited. */
const maxLength = 2_000;

/** At least two labels, so neither an IPv6 literal in brackets nor a dot at the end. */
const hostName = /^(?:[a-z\d_-]{1,63}\.)+[a-z\d_-]{1,63}$/;

function isHostName(host: string): boolean {
  return host.length <= 253 && hostName.test(host) && isIP(host) === 0 && !host.endsWith(".localhost");
}

/** The host that a connection leads to: its name or IP address, which a URL has in brackets if it is IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/[[\]]/g, "");
}

/** True if the URL names this machine itself, as `insecureLoopback` allows it. */
export function isLoopbackUrl({ protocol, hostname }: URL): boolean {
  return /^https?:/.test(protocol) && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}

/**
 * True for a URL that may be fetched: https on port 443, a host name with a dot and no IP address, no user info, no fragment, and
 * exactly as `new URL(text).href` writes it. In another form the same place would have several names, and a check by text
 * (an allow list, a remembered document) would see another one than the fetch.
 *
 * @rfc 3986 §6.2
 */
export function isFetchableUrl(text: string, { insecureLoopback }: UrlRules): boolean {
  // an empty fragment or user info leaves no trace in the fields of a URL; the former stays in its href
  if (text.length > maxLength || text.includes("#")) return false;
  const url = parseUrl(text);
  if (url?.href !== text || url.username !== "" || url.password !== "") return false;
  if (insecureLoopback && isLoopbackUrl(url)) return true;
  return url.protocol === "https:" && url.port === "" && isHostName(url.hostname);
}
