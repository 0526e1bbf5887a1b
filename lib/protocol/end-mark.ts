/** End marks: what began before something was revoked is never valid after it. RFC 7009 §2.1, 6749 §10.2.
 *
 * When a person withdraws a consent, or a client is deleted, it is not enough to revoke what storage has. At that moment another process
 * may be about to store a code, a token or a consent that relies on what ends, and the clocks of two processes do not tell which of the two
 * came first. So a process that ends something first stores a mark, a random value under a key that says what it ends, and only then
 * revokes what it finds. A process that approves first reads the marks, stores what is approved together with the marks that were there (it
 * is born under them), and then reads the marks again. A new mark means that something was ended meanwhile: what was just stored is erased.
 * So either the end finds what was stored, or the approval finds the mark. The same comparison tells later whether a stored record is
 * valid: it is while it carries every mark that is there. A mark is kept until all that can be older than it has expired.
 */
import { hash } from "node:crypto";
import { clockDriftSeconds, type EpochSeconds } from "./time";
import type { ConsentKey, ConsentSelection } from "./consent";

/** A record that revokes something: what does not carry this mark began before the revocation, and is no longer valid. */
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

/** The second parts of the keys of those marks that an owner has one of at most. */
const wholeEnd = {
  client: digestOf(["client"]),
  api: digestOf(["api"]),
  subject: digestOf(["subject"]),
  consents: digestOf(["consents"]),
} as const;

const wholeEnds: ReadonlySet<string | undefined> = new Set(Object.values(wholeEnd));

function wholeKey(ownersPart: string, what: keyof typeof wholeEnd): string {
  return `${ownersPart}.${wholeEnd[what]}`;
}

/** True for the mark that ends everything of a client, an API or an end user, or all consents of an end user: each has one at most. */
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
  return wholeKey(ownerPart(clientId), "client");
}

/** The key of the mark that ends everything issued for an API. Two servers with one storage tell their APIs apart by the audience. */
export function apiEndKey(audience: string): string {
  return wholeKey(ownerPart(audience), "api");
}

/** The key of the mark that ends every authorization of an end user. */
export function subjectEndKey(subject: string): string {
  return wholeKey(ownerPart(subject), "subject");
}

/** The key of the mark that ends every consent of an end user. */
export function subjectConsentsEndKey(subject: string): string {
  return wholeKey(ownerPart(subject), "consents");
}

/** The key of the mark that ends the consents of this selection. */
export function consentEndKey({ subject, clientId, apiId, contextKey }: ConsentSelection): string {
  return keyOf(subject, "consent", clientId, apiId, ...(contextKey === undefined ? [] : [contextKey]));
}

/** The key of the mark that ends approvals of this end user for this client at this API, whatever their context. */
export function approvalEndKey({ subject, clientId, apiId }: ConsentSelection): string {
  return keyOf(subject, "approval", clientId, apiId);
}

/** The key of the mark that ends consents of the two at the API which were given before the end user took back a part of them. */
export function lessenedKey({ subject, clientId, apiId }: ConsentSelection): string {
  return keyOf(subject, "lessened", clientId, apiId);
}

/** The keys of all marks that can end what an end user allows a client at an API. The first four end approvals, the others consents. */
export interface EndKeys {
  /** Ends everything of the end user. */
  readonly subject: string;
  /** Ends everything of the client. */
  readonly client: string;
  /** Ends everything of the API, consents too. */
  readonly api: string;
  /** Ends approvals of the two at the API, whatever their context. */
  readonly approval: string;
  /** Ends all consents of the end user. */
  readonly consents: string;
  /** Ends the consents of the two at the API. */
  readonly everyContext: string;
  /** Ends the consent in this context. */
  readonly oneContext: string;
  /** Ends it because of a consent to less, which is no withdrawal and must not take the place of one. */
  readonly narrowed: string;
  /** Ends approvals and consents of the two at the API because a part of them was taken back. What stays is stored again under it. */
  readonly lessened: string;
}

/** A mark as it was read; `undefined` where nothing was ended. */
export type CurrentMark = string | undefined;

/** The marks under these keys, as they were read at one time. */
export type CurrentMarks = { readonly [Name in keyof EndKeys]: CurrentMark };

/** The keys for this consent, at the API with this audience, and the approvals that rely on it. */
export function endKeysOf(key: ConsentKey, audience: string): EndKeys {
  const { subject, clientId, apiId, contextKey = "" } = key;
  // the keys of the functions above, with the part that they share computed once
  const owner = ownerPart(subject);
  return {
    subject: wholeKey(owner, "subject"),
    client: clientEndKey(clientId),
    api: apiEndKey(audience),
    approval: keyIn(owner, "approval", clientId, apiId),
    consents: wholeKey(owner, "consents"),
    everyContext: keyIn(owner, "consent", clientId, apiId),
    oneContext: keyIn(owner, "consent", clientId, apiId, contextKey),
    narrowed: keyIn(owner, "narrowed", clientId, apiId, contextKey),
    lessened: keyIn(owner, "lessened", clientId, apiId),
  };
}

/** The key of the mark of an answer to a consent page. `page` names it, `subject` is the end user who was shown it. */
export function answerKey(
  { subject, page }: { readonly subject: string; readonly page: string },
  answer: "yes" | "no",
): string {
  return keyOf(subject, answer, page);
}

/** True for what carries every mark that is there now: nothing was ended since. */
export function isBornUnder(
  born: readonly string[],
  current: Readonly<Record<string, CurrentMark>>,
): boolean {
  return Object.values(current).every((mark) => mark === undefined || born.includes(mark));
}
