/** The error for a browser that comes back without its pending request. RFC 6265 §5.4 (which cookies a browser sends). */
import type { Request } from "express";
import type { NewEvent } from "../events/port";
import { checkKeys } from "../host/plain";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { hostMistake } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { parseUrl } from "../protocol/parsed-url";
import type { LostInteraction } from "./pending-request";

/** What is so when a request of the host's page has no interaction id. */
export const idMissing =
  "the request has no interaction id. The host's page was opened with ?interaction=… in its URL: keep it in the URL that its form posts to, or in a hidden field named interaction";

/** Why a visit or a form leads nowhere, and the note about a sign-in that is asked for twice. For the developer. */
export const interactionReasons = {
  "interaction-id-missing": (): string =>
    `${idMissing}. For a sign-in that no client asked for, write auth.resume(req, res, { otherwise: "/" })`,
  "interaction-of-other-secrets":
    "the cookie of this interaction was sealed with other secrets, by another process or before a restart. Give every process the same secrets (option secrets of createAuthServer): temporary secrets are lost when their process ends",
  "interaction-over":
    "no pending request has this interaction id: it has expired (lifetimes.interactionSeconds) or was answered before. Start a new authorization request",
  "cookie-lost-in-frame":
    "the browser sent no pending request: it was answered before, or the page is in a frame of another site, to which browsers send no SameSite=Lax cookies: open it at the top level",
  "cookie-lost-over-http":
    "the browser sent no pending request: it was answered before, or baseUrl is https, but this request came over http, and browsers send Secure cookies only over https. Open the site over https, or use an http baseUrl on localhost",
  "cookie-lost-at-other-host":
    "the browser sent no pending request: it was answered before, or the host of this request is not the host of baseUrl, to which the cookie belongs: open the site at baseUrl",
  "cookie-lost":
    "the browser sent no pending request: it was answered before, or the browser refuses authmount's cookie or has deleted it: allow cookies, and start a new authorization request",
  "form-of-another-site":
    "the Origin or Sec-Fetch-Site header names another site, as in cross-site request forgery, or Origin is null, as where a proxy sets Referrer-Policy: no-referrer on the page: send the form from a page of this site, with Referrer-Policy: same-origin",
  "form-without-answer": "decision in the form must be approve, deny or switch",
  "not-opened-as-page":
    "the person has to see a page, but Sec-Fetch-Mode says that fetch(), an image or the like sent the authorization request: open it in the browser, such as with location.assign(url)",
  "request-too-long": (longest: string): string =>
    `a pending request is kept in a cookie of at most 3,500 bytes (RFC 6265 §6.1), and ${longest} takes most of them: shorten it`,
  "sign-in-repeated":
    "authenticate asked for a sign-in right after auth.resume. In a sign-in of several steps this is normal. Otherwise the session of the sign-in page was not found: await it in authenticate, mount the middleware that reads it (cookie-parser, express-session) before auth.router, save the session before you call auth.resume, and check that the browser keeps its cookie (browsers drop a Secure cookie that is set over http, and do not send a cookie of another host or path). Or, for prompt=login and max_age, its authTime was not renewed",
} as const;

type InteractionProblem = Exclude<keyof typeof interactionReasons, "request-too-long">;

/** Where the browser has opened this site. Behind a proxy only what it forwards is used; the rest is taken from `origin`. */
export function openedOrigin(
  { headers, socket }: Pick<Request, "headers" | "socket">,
  origin: string,
): string {
  const { protocol, host } = new URL(origin);
  const { "x-forwarded-host": ofHost, "x-forwarded-proto": ofScheme, forwarded } = headers;
  const isDirect = ofHost === undefined && ofScheme === undefined && forwarded === undefined;
  const told = (header: string | string[] = "", name: string): string | undefined =>
    /^[^,\s]+/.exec(String(header))?.[0] ??
    new RegExp(`\\b${name}="?([^",;]+)`, "i").exec(forwarded ?? "")?.[1];
  const scheme =
    told(ofScheme, "proto") ?? (isDirect ? ("encrypted" in socket ? "https" : "http") : protocol);
  const name = told(ofHost, "host") ?? (isDirect ? headers.host : host);
  const opened = parseUrl(`${scheme.replace(":", "")}://${name}`);
  return opened && /^https?:$/.test(opened.protocol) ? opened.origin : origin;
}

/** The likely reason why the browser has sent no cookie of this library. */
function cookieProblem(req: Request, origin: string): InteractionProblem {
  if (req.headers["sec-fetch-dest"] === "iframe") return "cookie-lost-in-frame";
  const opened = openedOrigin(req, origin);
  if (origin.startsWith("https:") && opened.startsWith("http:")) return "cookie-lost-over-http";
  return new URL(opened).host === new URL(origin).host ? "cookie-lost" : "cookie-lost-at-other-host";
}

function lossProblem(
  loss: LostInteraction,
  { req, origin }: { req: Request; origin: string },
): InteractionProblem {
  switch (loss) {
    case "no-request":
    case "no-id":
      return "interaction-id-missing";
    case "foreign-seal":
      return "interaction-of-other-secrets";
    case "over":
      return "interaction-over";
    case "no-cookie":
      return cookieProblem(req, origin);
  }
}

/**
 * The refusal when the pending request is gone. The description is the same for every cause; code and reason name the likely one.
 *
 * @param by `origin` is that of `baseUrl`.
 */
export function interactionLost(loss: LostInteraction, by: { req: Request; origin: string }): OAuthError {
  return new OAuthError("invalid_request", {
    description: "This sign-in took too long, was already finished, or the browser does not keep cookies.",
    ...because(interactionReasons, lossProblem(loss, by)),
    situation: "lost",
  });
}

/** Without this event, a session cookie that the browser does not keep would send people round in a silent loop. */
export function signInRepeated({ issuer, client }: AuthorizationRequest): NewEvent {
  return {
    kind: "sign-in-repeated",
    issuer: issuer.identifier,
    clientId: client.clientId,
    ...because(interactionReasons, "sign-in-repeated"),
  };
}

/**
 * Where `auth.resume` sends a person who signs in for no client, or `undefined` when the host did not say.
 *
 * @throws TypeError unless it is a path of this site: a host may read it from a link, and anyone can write a link.
 */
export function readOtherwise(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  checkKeys(given, { by: "auth.resume", known: ["otherwise"] });
  const { otherwise } = given as { readonly otherwise?: unknown };
  if (typeof otherwise === "string" && /^\/(?![/\\])[\x21-\x7e]*$/.test(otherwise)) return otherwise;
  throw hostMistake(
    "otherwise-not-a-path",
    'auth.resume: otherwise must be a path of this site that begins with one slash, such as "/account", in visible ASCII characters. If it comes from a link, check it first: a link may hold the address of another site.',
  );
}
