/** Checks the URLs in options. RFC 3986 §6.2 (normal form), RFC 8414 §2, RFC 8707 §2. */
import { parseUrl } from "../protocol/parsed-url";
import { isLoopbackHost } from "../protocol/redirect-uri";

/** Why a URL cannot be a `baseUrl` or an audience, or `undefined`. http is only for development on this machine. */
export function urlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return "is not an absolute URL";
  const local = url.protocol === "http:" && isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !local) return "must be https";
  if (/[?#]/.test(text)) return "must have neither query nor fragment";
  if (url.username || url.password) return "must not contain a user name or password";
  // clients and tokens compare URLs as text, so two spellings of one URL would not match
  const normal = text.endsWith("/") ? url.href : url.href.replace(/\/$/, "");
  return normal === text ? undefined : `is not in its normal form, ${normal}`;
}

/** Why a text cannot be a `baseUrl`, or `undefined`. */
export function baseUrlProblem(baseUrl: string): string | undefined {
  return urlProblem(baseUrl) ?? (baseUrl.endsWith("/") ? "ends with a slash" : undefined);
}
