/** What is said when a pending request has not come back. RFC 6265 §5.4 (which cookies a browser sends). */
import type { Request } from "express";
import { OAuthError } from "../protocol/oauth-error";

/** A likely reason why the browser has sent no cookie of ours, for the developer. */
function cookieProblem({ headers, socket }: Request, origin: string): string {
  const { protocol, host } = new URL(origin);
  if (headers["sec-fetch-dest"] === "iframe") {
    return "the page is in a frame, where SameSite=Lax cookies of another site are not sent: open it at the top level";
  }
  const isForwarded =
    headers["x-forwarded-proto"] !== undefined ||
    headers["x-forwarded-host"] !== undefined ||
    headers.forwarded !== undefined;
  if (protocol === "https:" && !("encrypted" in socket) && !isForwarded) {
    return "baseUrl is https, but this request came by http: Secure cookies are not sent then. Open the site by https, or write an http baseUrl on localhost";
  }
  if (headers.host !== host && !isForwarded) {
    return "this request is for another host than that of baseUrl, and cookies belong to one host: open the site at baseUrl";
  }
  return "the browser has sent no cookies: it refuses them, or has dropped them";
}

/** @param origin that of `baseUrl`. */
export function interactionLost(req: Request, origin: string): OAuthError {
  const hasCookies = req.headers.cookie?.includes("authmount.") === true;
  return new OAuthError("invalid_request", {
    description: "This sign-in took too long, was finished before, or the browser does not keep cookies.",
    reason: hasCookies
      ? "no pending request has this interaction id: it has expired (lifetimes.interactionSeconds) or was answered before"
      : `no pending request has come back: it was answered before, or ${cookieProblem(req, origin)}`,
  });
}
