/** The error for a browser that comes back without its pending request. RFC 6265 §5.4 (which cookies a browser sends). */
import type { Request } from "express";
import type { NewEvent } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { OAuthError } from "../protocol/oauth-error";
import type { LostInteraction } from "./pending-request";

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

function lossReason(loss: LostInteraction, { req, origin }: { req: Request; origin: string }): string {
  switch (loss) {
    case "no-id":
      return "the request has no interaction id. The host's page was opened with ?interaction=… in its URL: keep it in the URL that its form posts to, or in a hidden field named interaction";
    case "foreign-seal":
      return "the cookie of this interaction was sealed with other secrets, by another process or before a restart. Give every process the same secrets (option secrets of createAuthServer): temporary secrets are lost when their process ends";
    case "over":
      return "no pending request has this interaction id: it has expired (lifetimes.interactionSeconds) or was answered before";
    case "no-cookie":
      return `the browser sent no pending request: it was answered before, or ${cookieProblem(req, origin)}`;
  }
}

/**
 * The refusal when the pending request is gone. The description is the same for every cause; the reason names the likely one.
 *
 * @param by `origin` is that of `baseUrl`.
 */
export function interactionLost(loss: LostInteraction, by: { req: Request; origin: string }): OAuthError {
  return new OAuthError("invalid_request", {
    description: "This sign-in took too long, was already finished, or the browser does not keep cookies.",
    reason: lossReason(loss, by),
    situation: "lost",
  });
}

/** Without this event, a session cookie that the browser does not keep would send people round in a silent loop. */
export function signInRepeated({ issuer, client }: AuthorizationRequest): NewEvent {
  return {
    kind: "sign-in-repeated",
    issuer: issuer.identifier,
    clientId: client.clientId,
    reason:
      "authenticate asked for a sign-in right after auth.resume. In a sign-in of several steps this is normal. Otherwise the session of the sign-in page was not found: mount the middleware that reads it (cookie-parser, express-session) before auth.router, save the session before you call auth.resume, and check that the browser keeps its cookie (browsers drop a Secure cookie that is set over http, and do not send a cookie of another host or path). Or, for prompt=login and max_age, its authTime was not renewed",
  };
}
