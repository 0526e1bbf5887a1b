/** End marks: whatever began before an end is refused after it, without comparing clocks. RFC 7009 §2.1, 6749 §10.2. */
import { hash } from "node:crypto";
import { clockDriftSeconds, type EpochSeconds } from "./time";
import type { ConsentKey, ConsentSelection } from "./consent";

/** The record that ends something. */
export interface EndMark {
  /**
   * What was ended: a digest of 22 characters, a dot, and a digest of 43. The part before the dot is the same for everything of one end
   * user. It names no person, because the mark may outlive the person's records.
   */
  readonly key: string;
  /** 128 random bits as base64url; a new value for each end. */
  readonly mark: string;
  /** By then, everything older than the mark has expired. */
  readonly expiresAt: EpochSeconds;
}

/** How long, in seconds, anything can live under the longest lifetimes that the options allow: ten years for a consent. */
export const longestPossibleLifeSeconds: number = 10 * 365 * 86_400 + clockDriftSeconds;

function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value), "base64url");
}

/** The part of the keys that says whose they are. */
function ownerPart(owner: string): string {
  return digestOf(owner).slice(0, 22);
}

function keyIn(ownersPart: string, ...parts: readonly string[]): string {
  return `${ownersPart}.${digestOf(parts)}`;
}

function keyOf(owner: string, ...parts: readonly string[]): string {
  return keyIn(ownerPart(owner), ...parts);
}

/** The part of a key that says whose it is. */
export function ownerOfMark({ key }: Pick<EndMark, "key">): string {
  return key.split(".", 1).join();
}

const wholeEnds: ReadonlySet<string | undefined> = new Set(
  ["client", "subject", "consents"].map((part) => digestOf([part])),
);

/** True for the mark that ends everything of a client, or of an end user, or all consents of an end user: each has one at most. */
export function endsEverything({ key }: Pick<EndMark, "key">): boolean {
  return wholeEnds.has(key.split(".", 2)[1]);
}

/**
 * The key of the second mark, which is stored once everything older than this first mark has been revoked. It belongs to the same owner,
 * who so takes no room of others.
 */
export function endedKey(first: Pick<EndMark, "key" | "mark">): string {
  return keyIn(ownerOfMark(first), first.mark, "ended");
}

/** The key of the mark that ends everything issued to a client. */
export function clientEndKey(clientId: string): string {
  return keyOf(clientId, "client");
}

/** The key of the mark that ends every authorization of an end user. */
export function subjectEndKey(subject: string): string {
  return keyOf(subject, "subject");
}

/** The key of the mark that ends every consent of an end user. */
export function subjectConsentsEndKey(subject: string): string {
  return keyOf(subject, "consents");
}

/** The key of the mark that ends the consents of this selection. */
export function consentEndKey({ subject, clientId, apiId, contextKey }: ConsentSelection): string {
  return keyOf(subject, "consent", clientId, apiId, ...(contextKey === undefined ? [] : [contextKey]));
}

/** The key of the mark that ends approvals of this end user for this client at this API, whatever their context. */
export function approvalEndKey({ subject, clientId, apiId }: ConsentSelection): string {
  return keyOf(subject, "approval", clientId, apiId);
}

/** The keys of all marks that can end what an end user allows a client at an API. */
export interface EndKeys {
  /** Those that end an approval under way: the end user's, the client's, and that of the two at the API, whatever the context. */
  readonly approval: readonly [subject: string, client: string, approval: string];
  /**
   * Those that end a consent: that of all of the end user's, that of the two at the API, that of its context, and that of a consent to
   * less, which is no withdrawal and must not take the place of one.
   */
  readonly consent: readonly [ofSubject: string, everyContext: string, oneContext: string, narrowed: string];
  /** That of a no on the consent page; none where no page was shown. */
  readonly page: readonly [] | readonly [no: string];
}

/** The keys for this consent and the approvals that rely on it. `page` names the consent page that was shown. */
export function endKeysOf({
  subject,
  clientId,
  apiId,
  contextKey = "",
  page,
}: ConsentKey & { readonly page?: string | undefined }): EndKeys {
  // the keys of the functions above, with the part that they share computed once
  const owner = ownerPart(subject);
  return {
    approval: [keyIn(owner, "subject"), clientEndKey(clientId), keyIn(owner, "approval", clientId, apiId)],
    consent: [
      keyIn(owner, "consents"),
      keyIn(owner, "consent", clientId, apiId),
      keyIn(owner, "consent", clientId, apiId, contextKey),
      keyIn(owner, "narrowed", clientId, apiId, contextKey),
    ],
    page: page === undefined ? [] : [keyIn(owner, "no", page)],
  };
}

/** The key of the mark of an answer to a consent page. `page` names it, `subject` is the end user who was shown it. */
export function answerKey(
  { subject, page }: { readonly subject: string; readonly page: string },
  answer: "yes" | "no",
): string {
  return keyOf(subject, answer, page);
}

/**
 * True for what was born after every end: the marks that are in force now are those that it was born under. Compares marks, not
 * clocks, which differ between processes.
 */
export function isBornUnder(
  born: readonly string[] | undefined,
  current: readonly (string | undefined)[],
): boolean {
  return current.every((mark) => mark === undefined || born?.includes(mark) === true);
}
