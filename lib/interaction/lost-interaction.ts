/** The error for a browser that comes back without its pending request. RFC 6265 §5.4 (which cookies a browser sends). */
import type { Request } from "express";
import { OAuthError } from "../protocol/oauth-error";

/** The likely reason why the browser has sent no cookie of this library, for the developer. */
function cookieProblem({ headers, socket }: Request, origin: string): string {
  const { protocol, host } = new URL(origin);
  if (headers["sec-fetch-dest"] === "iframe") {
    return "the page is in a frame, and browsers send no SameSite=Lax cookies to a page framed by another site: open it at the top level";
  }
  // behind a proxy, scheme and host of this connection say nothing about the browser's
  const isForwarded =
    headers["x-forwarded-proto"] !== undefined ||
    headers["x-forwarded-host"] !== undefined ||
    headers.forwarded !== undefined;
  if (protocol === "https:" && !("encrypted" in socket) && !isForwarded) {
    return "baseUrl is https, but this request came over http, and browsers send Secure cookies only over https. Open the site over https, or use an http baseUrl on localhost";
  }
  if (headers.host !== host && !isForwarded) {
    return "the host of this request is not the host of baseUrl, and cookies belong to one host: open the site at baseUrl";
  }
  return "the browser sent no authmount cookie: it refuses cookies, or has deleted this one";
}

/**
 * The refusal when the pending request is gone. The description is the same for every cause; the reason names the likely one.
 *
 * @param origin of `baseUrl`.
 */
export function interactionLost(req: Request, origin: string): OAuthError {
  const hasCookies = req.headers.cookie?.includes("authmount.") === true;
  return new OAuthError("invalid_request", {
    description: "This sign-in took too long, was already finished, or the browser does not keep cookies.",
    reason: hasCookies
      ? "no pending request has this interaction id: it has expired (lifetimes.interactionSeconds) or was answered before"
      : `the browser sent no pending request: it was answered before, or ${cookieProblem(req, origin)}`,
  });
}
