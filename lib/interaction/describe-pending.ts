/** What a page of the host may show of a pending request. RFC 6749 §3.1. */
import type { Request } from "express";
import type { RecognitionPorts } from "../clients/recognise-client";
import { readAuthorizationRequest } from "../endpoints/authorization";
import { summarize } from "../pages/summary";
import { OAuthError } from "../protocol/oauth-error";
import { findPending, type FindPendingOptions } from "./find-pending";
import { parametersOf, shownScopesOf } from "./pending-request";
import type { Interaction } from "./port";

/**
 * What a page of the host may show of the request that is pending. `undefined` when there is none, or it is no longer valid.
 *
 * @throws whatever storage rejects with
 */
export async function describePending(
  options: FindPendingOptions & { readonly ports: RecognitionPorts },
  { req, interactionId }: { req: Request; interactionId: string | undefined },
): Promise<Interaction | undefined> {
  const found = findPending(options, { req, interactionId });
  if (typeof found === "string") return undefined;
  const { pending, issuer } = found;
  try {
    const request = await readAuthorizationRequest(options.ports, {
      issuer,
      parameters: parametersOf(pending),
      shown: shownScopesOf(pending),
    });
    return { interactionId: pending.interactionId, expiresAt: pending.expiresAt, ...summarize(req, request) };
  } catch (error) {
    // what was valid at the first visit may have changed since: for example, the client was deleted
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}
