/** Sends the person to the page that they must answer, and keeps the request in its cookie. RFC 6749 §3.1. */
import type { Request } from "express";
import {
  type AskedEndUser,
  type AuthorizationOutcome,
  refuseAtOnce,
  refuseByPage,
} from "../endpoints/authorization";
import { approvalsEndedSince } from "../end-user/approval-basis";
import type { EmitEvent } from "../events/port";
import { because, OAuthError } from "../protocol/oauth-error";
import { isSignIn } from "../protocol/openid";
import type { Issuer } from "../protocol/issuer";
import type { ProtocolResponse } from "../protocol/protocol-response";
import { consentFormToken } from "./consent-answers";
import type { Pages } from "../pages/pages";
import { interactionReasons } from "./lost-interaction";
import type { PendingRequest, PendingRequests } from "./pending-request";
import { scopeSentences, summarize } from "../pages/summary";

/** What showing a page uses. */
export interface ShowPageOptions {
  /** Events, and new interaction ids. */
  readonly ports: { readonly emit: EmitEvent; readonly randomId: () => string };
  readonly pendingRequests: PendingRequests;
  /** The first one signs form tokens, all of them verify. */
  readonly secrets: readonly [string, ...string[]];
  readonly pages: Pages;
}

/**
 * The refusal of a request that would lead to a page, but was sent by something that shows none, such as an image. Each would leave a cookie,
 * and a page with many images would make the browser's headers longer than servers accept. `undefined` for a browser that opens a page, and
 * for what is no browser: those send all such headers or none, but `fetch()` of Node.js sends `Sec-Fetch-Mode` alone.
 */
export function notOpened({ headers }: Request): OAuthError | undefined {
  const isByBrowser = headers["sec-fetch-dest"] !== undefined;
  if (!isByBrowser || headers["sec-fetch-mode"] === "navigate") return undefined;
  return new OAuthError("invalid_request", {
    description: "The request was not opened as a page.",
    ...because(interactionReasons, "not-opened-as-page"),
  });
}

/** The URL of a page with `interaction` added to its query, ahead of a fragment. */
export function withInteraction(url: string, interactionId: string): string {
  const [beforeFragment = "", ...fragment] = url.split("#");
  const separator = beforeFragment.includes("?") ? "&" : "?";
  return [`${beforeFragment}${separator}interaction=${interactionId}`, ...fragment].join("#");
}

/**
 * The CSP sources that a form's POST may lead to: a scheme, not an origin. Chromium applies them to the whole chain of redirects,
 * and a client's callback may redirect to another of its origins. The host's sign-in page may have another origin, too.
 */
function formTargets(destination: string, issuer: string): readonly string[] {
  const isPlain = [destination, issuer].some((url) => url.startsWith("http:"));
  return [...(/^https?:|^$/.test(destination) ? [] : [destination]), ...(isPlain ? ["http:"] : []), "https:"];
}

type Unanswered = Exclude<AuthorizationOutcome, { kind: "answered" }>;

/**
 * The pending request, although somebody has answered it. Its page is shown again when another person repeats that answer: they can
 * answer as they like, and have the time that any page has.
 */
function reopened({ answered, ...pending }: PendingRequest, { api }: Issuer): PendingRequest {
  return answered === undefined
    ? pending
    : { ...pending, expiresAt: pending.began + api.lifetimes.interactionSeconds };
}

/** The pending request once it is known who is asked, and under which end marks. */
function askedPending(pending: PendingRequest, { endUser, basis }: AskedEndUser): PendingRequest {
  const { key, endMarks } = basis;
  return {
    ...pending,
    consentSubject: endUser.subject,
    // undefined where there is none, so that nothing of an earlier page stays
    contextKey: key.contextKey === "" ? undefined : key.contextKey,
    endMarks: endMarks.length === 0 ? undefined : endMarks,
  };
}

/** True when the page before was shown to this person, in this context. */
function isForSame(
  { consentSubject, contextKey = "" }: PendingRequest,
  { endUser, basis }: AskedEndUser,
): boolean {
  return consentSubject === endUser.subject && contextKey === (basis.key.contextKey ?? "");
}

function showConsent(
  { secrets, pages }: ShowPageOptions,
  {
    req,
    outcome,
    pending,
  }: { req: Request; outcome: Extract<Unanswered, { kind: "ask" }>; pending: PendingRequest },
): { readonly html: string; readonly formTargets: readonly string[] } {
  const { request, asked } = outcome;
  const { endUser, basis } = asked;
  const { interactionId } = pending;
  const summary = summarize(req, request);
  const html = pages.consent(req, {
    summary,
    sentences: scopeSentences(req, { request, tell: (sentence) => sentence }),
    requestedScopes: request.requestedScopes,
    signInScope: request.requestedScopes.find((scope) => isSignIn(request.issuer.api, scope)),
    isFirstVisit: basis.isFirstVisit,
    displayName: endUser.displayName,
    action: `${request.issuer.identifier}/authorize/consent`,
    interactionId,
    formToken: consentFormToken(pending, secrets[0]),
  });
  return { html, formTargets: formTargets(summary.destination, request.issuer.identifier) };
}

/** The refusal of a request that does not fit into a cookie. It names the longest part. */
export function tooLong({ parameters, shownScopes }: PendingRequest): OAuthError {
  const parts = Object.entries({ ...parameters, scope: shownScopes.join(" ") });
  const [name] = parts.reduce((longest, part) => (part[1].length > longest[1].length ? part : longest));
  return new OAuthError("invalid_request", {
    description: `The authorization request is too long, especially its ${name}.`,
    ...because(interactionReasons, "request-too-long", name),
  });
}

/**
 * Keeps the request in its cookie and sends the person to the host's page or the built-in consent page. A request that does not
 * fit into a cookie is refused; a consent page that the host's `render` cannot render becomes an error page.
 */
export function showPage(
  options: ShowPageOptions,
  { req, outcome, pending: before }: { req: Request; outcome: Unanswered; pending: PendingRequest },
): ProtocolResponse {
  const { request, asked } = outcome;
  const last = reopened(before, request.issuer);
  const wasShown = asked !== undefined && last.consentSubject !== undefined;
  // a new id after an end, so that a page from before it can no longer be answered
  const isOutdated = wasShown && approvalsEndedSince(last.endMarks, asked.basis);
  // and for another person or context: a page of the host has nothing else that binds it to whom it was shown
  const isForOthers = wasShown && outcome.kind === "interaction" && !isForSame(last, asked);
  const isNewPage = isOutdated || isForOthers;
  const current = isNewPage ? { ...last, interactionId: options.ports.randomId() } : last;
  const pending = asked ? askedPending(current, asked) : current;
  const sealed = options.pendingRequests.seal(pending, req);
  const ended = isOutdated ? options.pendingRequests.end(last, { req, answer: undefined }) : [];
  const cookies = sealed && [...sealed, ...ended];
  if (!cookies) {
    return refuseAtOnce(options.ports, { ...request, error: tooLong(pending) });
  }
  if (outcome.kind === "interaction")
    return { kind: "redirect", location: withInteraction(outcome.url, pending.interactionId), cookies };
  try {
    return { kind: "page", ...showConsent(options, { req, outcome, pending }), cookies };
  } catch (thrown) {
    return refuseByPage(options.ports, { issuer: request.issuer, thrown });
  }
}
