/** The pending request that a page answers, with the issuer it is pending at. RFC 6749 §3.1. */
import type { Request } from "express";
import type { Issuer } from "../protocol/issuer";
import type { LostInteraction, PageAnswer, PendingRequest, PendingRequests } from "./pending-request";

/** A pending request with the issuer it is pending at. */
export interface Found {
  readonly pending: PendingRequest;
  readonly issuer: Issuer;
}

/** What finding uses. */
export interface FindPendingOptions {
  readonly pendingRequests: Pick<PendingRequests, "open">;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
}

/** Which request is looked for, and what its page has answered. */
export interface Wanted {
  readonly req: Request;
  readonly interactionId: string | undefined;
  readonly answer?: PageAnswer | undefined;
}

/** The pending request, or what has become of it. One that was answered is found by the same answer only. */
export function findPending(
  { pendingRequests, findIssuer }: FindPendingOptions,
  { req, interactionId, answer }: Wanted,
): Found | LostInteraction {
  const pending = pendingRequests.open(req, interactionId);
  if (typeof pending === "string") return pending;
  // after an answer only the same answer counts again, for an impatient second click: never the other one
  if (pending.answered !== undefined && pending.answered !== answer) return "over";
  const issuer = findIssuer(pending.authMethodId, pending.apiId);
  return issuer ? { pending, issuer } : "over";
}
