/** Sending the person to the page that is theirs to answer, with the request kept in its cookie. RFC 6749 §3.1. */
import type { Request } from "express";
import { type AuthorizationOutcome, refuseByPage, refuseByRedirect } from "../endpoints/authorization";
import type { EmitEvent } from "../events/port";
import { OAuthError } from "../protocol/oauth-error";
import type { ProtocolResponse } from "../protocol/protocol-response";
import { consentFormToken } from "./consent-form";
import type { Pages } from "../pages/pages";
import type { PendingRequest, PendingRequests } from "./pending-request";
import { summarize } from "../pages/summary";

/** What showing a page uses. */
export interface ShowPageOptions {
  readonly ports: { readonly emit: EmitEvent; readonly randomId: () => string };
  readonly pendingRequests: PendingRequests;
  readonly secrets: readonly [string, ...string[]];
  readonly pages: Pages;
}

/** The URL of a page with the interaction id added to its query. */
export function withInteraction(url: string, interactionId: string): string {
  const [beforeFragment = "", ...fragment] = url.split("#");
  const separator = beforeFragment.includes("?") ? "&" : "?";
  return [`${beforeFragment}${separator}interaction=${interactionId}`, ...fragment].join("#");
}

/** CSP sources. Browsers hold the whole chain of redirects to them, and a client may lead on to another origin of its own. */
function formTargets(destination: string): readonly string[] {
  if (destination.startsWith("https:")) return ["https:"];
  return destination.startsWith("http:") ? ["http:", "https:"] : [destination];
}

type Unanswered = Exclude<AuthorizationOutcome, { kind: "answered" }>;

function showConsent(
  { secrets, pages }: ShowPageOptions,
  {
    req,
    outcome,
    pending,
  }: { req: Request; outcome: Extract<Unanswered, { kind: "ask" }>; pending: PendingRequest },
): { readonly html: string; readonly formTargets: readonly string[] } {
  const { request, endUser, endMark } = outcome;
  const { interactionId } = pending;
  const summary = summarize(req, request);
  const html = pages.consent(req, {
    summary,
    requestedScopes: request.requestedScopes,
    displayName: endUser.displayName,
    action: `${request.issuer.identifier}/authorize/consent`,
    interactionId,
    formToken: consentFormToken({ interactionId, subject: endUser.subject, endMark }, secrets[0]),
  });
  return { html, formTargets: formTargets(summary.destination) };
}

/** Keeps the request in its cookie and sends the person to the page that is theirs to answer. */
export function showPage(
  options: ShowPageOptions,
  { req, outcome, pending: last }: { req: Request; outcome: Unanswered; pending: PendingRequest },
): ProtocolResponse {
  const { request, endUser, endMark } = outcome;
  // a page that was shown before a withdrawal must not be answered under the id of the one after it
  const isOutdated = endUser !== undefined && last.consentSubject !== undefined && last.endMark !== endMark;
  const pending = isOutdated ? { ...last, interactionId: options.ports.randomId() } : last;
  const kept: PendingRequest = endUser ? { ...pending, consentSubject: endUser.subject, endMark } : pending;
  const sealed = options.pendingRequests.seal(kept, req);
  const ended = isOutdated ? options.pendingRequests.end(last, { req, answer: undefined }) : [];
  const cookies = sealed && [...sealed, ...ended];
  if (!cookies) {
    const error = new OAuthError("invalid_request", {
      description: "The authorization request is too long.",
      reason:
        "a pending request is kept in a cookie of at most 3,500 bytes (RFC 6265 §6.1): shorten state, or ask for fewer scopes",
    });
    return refuseByRedirect(options.ports, { ...request, error });
  }
  if (outcome.kind === "interaction")
    return { kind: "redirect", location: withInteraction(outcome.url, pending.interactionId), cookies };
  try {
    return { kind: "page", ...showConsent(options, { req, outcome, pending }), cookies };
  } catch (thrown) {
    return refuseByPage(options.ports, { issuer: request.issuer, thrown });
  }
}
