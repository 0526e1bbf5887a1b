/** What is said when a pending request has not come back. RFC 6265 §5.4 (which cookies a browser sends). */
import type { Request } from "express";
import type { NewEvent } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { OAuthError } from "../protocol/oauth-error";
import type { LostInteraction } from "./pending-request";

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

function lossReason(loss: LostInteraction, by: { req: Request; origin: string }): string {
  switch (loss) {
    case "no-id":
      return "the request has no interaction id: pages of the host are opened with ?interaction=… in their URL; keep it in the URL that the page's form is sent to, or in a hidden field named interaction";
    case "foreign-seal":
      return "the cookie of this interaction was sealed with other secrets, by another process or before a restart: give every process the same secrets (createAuthServer, option secrets); temporary secrets are lost with their process";
    case "over":
      return "no pending request has this interaction id: it has expired (lifetimes.interactionSeconds) or was answered before";
    case "no-cookie":
      return `no pending request has come back: it was answered before, or ${cookieProblem(by.req, by.origin)}`;
  }
}

/** The refusal of a person whose pending request has not come back. @param by `origin`: that of `baseUrl`. */
export function interactionLost(loss: LostInteraction, by: { req: Request; origin: string }): OAuthError {
  return new OAuthError("invalid_request", {
    description: "This sign-in took too long, was finished before, or the browser does not keep cookies.",
    reason: lossReason(loss, by),
  });
}

/** A session that the browser does not keep would otherwise lead people round in circles without a word. */
export function signInRepeated({ issuer, client }: AuthorizationRequest): NewEvent {
  return {
    kind: "sign-in-repeated",
    issuer: issuer.identifier,
    clientId: client.clientId,
    reason:
      "authenticate asks for a sign-in right after auth.resume, so it has not found the session that the sign-in page started. Check that the session is saved before auth.resume is called, and that the browser keeps its cookie: a Secure cookie is not kept over http, and a cookie of another host or path is not sent here",
  };
}
