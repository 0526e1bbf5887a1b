/** Turns an approval into a code, unless the end user withdraws while it is stored. RFC 6749 §4.1.2, 7009 §2.1. */
import type { EmitEvent } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { successLocation } from "../protocol/authorization-response";
import { endedKey } from "../protocol/end-mark";
import type { RedirectResponse } from "../protocol/protocol-response";
import type { EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";
import { type CodeIssuePorts, issueAuthorizationCode } from "../tokens/issue-code";
import { consentKeyOf, type ConsentResult, withdrawn } from "./obtain-consent";
import type { EndUser } from "./port";

/** What an approval needs. */
export interface ApprovalPorts extends CodeIssuePorts {
  readonly storage: Pick<Storage, "authorizations" | "authorizationCodes" | "consents" | "endMarks">;
  readonly emit: EmitEvent;
}

/** A request that the end user allowed, or that the host allowed for them. */
export interface Approved {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  /** The granted scopes, what to remember of them, and the end mark that the approval relies on. */
  readonly consent: Extract<ConsentResult, { kind: "granted" }>;
  readonly now: EpochSeconds;
}

/**
 * Revokes what was stored if the end user has withdrawn meanwhile. This is the last step: a withdrawal that begins after it finds
 * what is already stored.
 */
async function checkNotWithdrawn(
  { storage }: Pick<ApprovalPorts, "storage">,
  { approved, authorizationId }: { approved: Approved; authorizationId: string },
): Promise<void> {
  const { request, endUser, consent, now } = approved;
  const { standing } = consent;
  const endMark = await storage.endMarks.find(standing.key, now);
  if (endMark === undefined || endMark === standing.endMark) return;
  await storage.authorizations.revoke(authorizationId, now);
  // a withdrawal in progress deletes the consent itself; after a failed one the consent must stay listed, to be withdrawn again
  const hasEnded = (await storage.endMarks.find(endedKey(endMark), now)) !== undefined;
  if (hasEnded && consent.remember)
    await storage.consents.delete({ key: consentKeyOf(request, endUser), exceptEndMark: endMark }, now);
  throw withdrawn();
}

/**
 * Stores what was approved and returns the redirect with the code. The consent is stored after the code: if storage fails before
 * that, no consent is remembered for a request that failed.
 *
 * @throws OAuthError `access_denied` when the end user has withdrawn meanwhile
 * @rfc 6749 §4.1.2
 */
export async function approve(ports: ApprovalPorts, approved: Approved): Promise<RedirectResponse> {
  const { request, endUser, consent, now } = approved;
  const { subject, facts } = endUser;
  const { issuer, client, target, state } = request;
  const { scopes, remember } = consent;
  const approval = { request, subject, facts, grantedScopes: scopes, now };
  const { code, authorizationId } = await issueAuthorizationCode(ports, approval);
  if (remember) await ports.storage.consents.save(remember, now);
  await checkNotWithdrawn(ports, { approved, authorizationId });
  const iss = issuer.identifier;
  ports.emit({ kind: "authorization-granted", issuer: iss, clientId: client.clientId, subject, scopes });
  return { kind: "redirect", location: successLocation(target, { code, state, iss }) };
}
