/** What is in force between an end user and a client at an API, as a request relies on it. RFC 6749 §2.2, §10.2, 7009 §2.1. */
import { isDeepStrictEqual } from "node:util";
import type { ClientLookup, RegisteredClient } from "../clients/client-lookup";
import type { Client } from "../protocol/client";
import type { Consent, ConsentKey } from "../protocol/consent";
import { answerKey, type CurrentMarks, type EndKeys, endKeysOf, isBornUnder } from "../protocol/end-mark";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { type EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import { type Storage } from "../storage/port";
import { answeredBefore } from "./page-answers";
import type { BackFromPage } from "./port";
import { endUserReasons } from "./refusals";

/** What reading it needs. */
export interface BasisPorts {
  readonly storage: Pick<Storage, "consents" | "endMarks">;
}

/** What is in force between an end user and a client at an API. */
export interface ApprovalBasis {
  readonly key: ConsentKey;
  /** The keys of the end marks that concern it. */
  readonly endKeys: EndKeys;
  readonly marks: CurrentMarks;
  /** The key of the mark of a no on the consent page; `undefined` where no page was shown. */
  readonly noKey: string | undefined;
  /** All end marks: what is approved now is born under them. */
  readonly endMarks: readonly string[];
  /** The remembered consent, unless it was ended or is not looked up. */
  readonly consent: Consent | undefined;
  /** True when it was looked up and there is none, ended or not. */
  readonly isFirstVisit: boolean;
}

/** The refusal of a request whose person, client or API was ended while it was under way, or who has withdrawn: that is a no. */
export function endedMeanwhile(): OAuthError {
  return new OAuthError("access_denied", {
    description: "The end user did not grant access.",
    ...because(endUserReasons, "ended-meanwhile"),
  });
}

/** Those that end consents. The others end authorizations only. */
export function consentMarks({
  subject: _subject,
  approval: _approval,
  ...marks
}: CurrentMarks): Partial<CurrentMarks> {
  return marks;
}

/** True when the person, the client, the API, or what the one allowed the other was ended after these marks were read. */
export function approvalsEndedSince(born: readonly string[] | undefined, { marks }: ApprovalBasis): boolean {
  const { subject, client, api, approval, lessened } = marks;
  return !isBornUnder(born ?? [], { subject, client, api, approval, lessened });
}

/**
 * What is in force. To be read before anything that an approval relies on: an end in between is then noticed when the marks are read
 * again.
 *
 * @throws OAuthError `invalid_request` when the page was answered with a no
 */
export async function findBasis(
  ports: BasisPorts,
  {
    key,
    audience,
    page,
    withConsent,
    clientDigest,
    now,
  }: {
    key: ConsentKey;
    /** Of the API. */
    audience: string;
    /** Names the consent page that the end user was shown. */
    page?: string | undefined;
    withConsent: boolean;
    /** What a client that nobody registered says of itself now. */
    clientDigest: string | undefined;
    now: EpochSeconds;
  },
): Promise<ApprovalBasis> {
  const endKeys = endKeysOf(key, audience);
  const noKey = page === undefined ? undefined : answerKey({ subject: key.subject, page }, "no");
  const keys = { ...endKeys, ...(noKey !== undefined && { no: noKey }) };
  const [{ no, ...marks }, found] = await Promise.all([
    findMarks(ports.storage.endMarks, { keys, now }),
    withConsent ? ports.storage.consents.find(key, now) : undefined,
  ]);
  if (no !== undefined) throw answeredBefore();
  const counts = ({ endMarks, clientDigest: digest }: Consent): boolean =>
    isBornUnder(endMarks, consentMarks(marks)) && digest === clientDigest;
  return {
    key,
    endKeys,
    marks,
    noKey,
    endMarks: Object.values(marks).filter((mark) => mark !== undefined),
    consent: found && counts(found) ? found : undefined,
    isFirstVisit: withConsent && !found,
  };
}

/** What the approval relies on. Secrets may have changed before everything was ended: approvals do not use them. */
function withoutSecrets(client: Client | undefined): object | undefined {
  return client && { ...client, secretDigests: undefined, oldSecretUntil: undefined, jwks: undefined };
}

interface KnownClient {
  /** The client as it is remembered, with the end mark of that time. */
  readonly registered: Pick<RegisteredClient, "client" | "endMark">;
  readonly issuer: Issuer;
  readonly basis: ApprovalBasis;
}

interface ReplacementPorts {
  readonly clients: Pick<ClientLookup, "findCurrent">;
}

/**
 * True for a client whose id was given to another one since this process has read its record. What is approved now is born under the newest
 * end mark, so it would belong to the other client.
 */
export async function isClientReplaced(
  { clients }: ReplacementPorts,
  { registered: { client, endMark }, issuer, basis }: KnownClient,
): Promise<boolean> {
  if (basis.marks.client === endMark) return false;
  const found = await clients.findCurrent(client.clientId, { issuer, mayFetch: () => true });
  return !isDeepStrictEqual(withoutSecrets(found), withoutSecrets(client));
}

/** A person must not answer a page about a client that has become another one since. @throws OAuthError `access_denied` */
export function checkClientUnchanged(
  { selfDescription }: Client,
  { shownClient }: Pick<BackFromPage, "shownClient">,
): void {
  if (selfDescription?.digest === shownClient) return;
  throw new OAuthError("access_denied", {
    description: "The client has changed while the request was under way.",
    ...because(endUserReasons, "client-changed"),
  });
}
