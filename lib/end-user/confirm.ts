/** Looks again, before an approval, at what was read before the end marks that it is born under. RFC 6749 §2.2, 7009 §2.1. */
import { isDeepStrictEqual } from "node:util";
import type { ClientLookup, RegisteredClient } from "../clients/client-lookup";
import type { Client } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import {
  authenticateEndUser,
  type AuthenticationQuestion,
  type EndUserAuthenticationPorts,
} from "./authenticate-end-user";
import type { ConsentResult } from "./obtain-consent";
import type { EndUser } from "./port";
import { endedMeanwhile, type Standing } from "./standing";

/** What the approval relies on. Secrets may have changed before everything was ended: approvals do not use them. */
function withoutSecrets(client: Client | undefined): object | undefined {
  return client && { ...client, secretDigests: undefined, jwks: undefined };
}

/**
 * Refuses a client whose id was given to another one since this process has read its record. What is approved now is born under the
 * newest end mark, so it would count as the other one's.
 *
 * @param by `registered`: the client as it is remembered, with the end mark of that time.
 * @throws OAuthError `access_denied`
 */
export async function checkNotReplaced(
  { clients }: { readonly clients: Pick<ClientLookup, "findCurrent"> },
  {
    registered: { client, endMark },
    issuer,
    standing,
  }: { registered: Pick<RegisteredClient, "client" | "endMark">; issuer: Issuer; standing: Standing },
): Promise<void> {
  const [, current] = standing.marks.approval;
  if (current === endMark) return;
  const found = await clients.findCurrent(client.clientId, { issuer, mayFetch: () => true });
  if (!isDeepStrictEqual(withoutSecrets(found), withoutSecrets(client))) throw endedMeanwhile();
}

/** A person must not answer a page about a client that has become another one since. @throws OAuthError `access_denied` */
export function checkUnchanged(
  { selfDescription }: Client,
  {
    interactionBegan,
    shownClient,
  }: { interactionBegan: EpochSeconds | undefined; shownClient: string | undefined },
): void {
  if (interactionBegan === undefined || selfDescription?.digest === shownClient) return;
  throw new OAuthError("access_denied", {
    description: "The client has changed while the request was under way.",
    reason:
      "the client's metadata document has changed its redirect_uris or its client authentication since the first visit: start again",
  });
}

/** Who approves, and what. */
export interface Approver {
  readonly endUser: EndUser;
  readonly consent: Extract<ConsentResult, { kind: "granted" }>;
}

/**
 * The person and what they chose, as `authenticate` says again, where everything of theirs was ended before. The host may have looked up
 * the session before that: asked after the mark was read, it knows.
 *
 * @throws OAuthError `access_denied` when it is another person, or another context
 */
export async function confirmEndUser(
  ports: EndUserAuthenticationPorts,
  { question, approver }: { question: AuthenticationQuestion; approver: Approver },
): Promise<(Approver & { kind: "confirmed" }) | { kind: "interaction"; url: string }> {
  const { endUser, consent } = approver;
  if (consent.standing.marks.approval[0] === undefined) return { kind: "confirmed", ...approver };
  const again = await authenticateEndUser(ports, question);
  if (again.kind === "interaction") return again;
  const { subject, context } = again.endUser;
  if (subject !== endUser.subject || context?.key !== endUser.context?.key) throw endedMeanwhile();
  // the consent step may have set another one
  const isOfSession = consent.context === endUser.context;
  return {
    kind: "confirmed",
    endUser: again.endUser,
    consent: isOfSession ? { ...consent, context } : consent,
  };
}
