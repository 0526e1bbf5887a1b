/** End marks as the server reads them, and the one that a client table stores itself. RFC 7009 §2.1. */
import { randomBytes } from "node:crypto";
import {
  clientEndKey,
  type CurrentMark,
  type CurrentMarks,
  type EndKeys,
  type EndMark,
  isBornUnder,
  longestPossibleLifeSeconds,
} from "../protocol/end-mark";
import { hostMistake } from "../protocol/mistake";
import { OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import { allStored } from "./calls";
import type { EndMarkStore, Storage } from "./port";

/** A new mark that ends everything that was issued to this client until now: what `ClientRegistry.delete` stores. */
export function newClientEnd(clientId: string, now: EpochSeconds): EndMark {
  const mark = randomBytes(16).toString("base64url");
  return { key: clientEndKey(clientId), mark, expiresAt: now + longestPossibleLifeSeconds };
}

/**
 * The marks under these keys, by the names of the keys.
 *
 * @throws TypeError for any other answer: it must not mean "nothing has ended".
 */
export async function findMarks<Name extends string>(
  endMarks: Pick<EndMarkStore, "find">,
  { keys, now }: { keys: Readonly<Partial<Record<Name, string>>>; now: EpochSeconds },
): Promise<Readonly<Record<Name, CurrentMark>>> {
  const names = Object.keys(keys);
  const found: unknown = await endMarks.find(Object.values(keys), now);
  // some databases return `null` where there is nothing
  if (!Array.isArray(found) || found.length !== names.length)
    throw hostMistake(
      "incomplete-end-marks",
      "storage.endMarks.find must return a list with one place for each key (docs/storage.md).",
    );
  const marks: Record<string, CurrentMark> = {};
  for (const [place, name] of names.entries()) marks[name] = (found[place] as CurrentMark) ?? undefined;
  return marks as Record<Name, CurrentMark>;
}

/** What looking again needs. */
export interface BirthPorts {
  readonly storage: Pick<Storage, "authorizations" | "endMarks">;
}

/** An authorization that is being stored. */
export interface Birth {
  readonly subject: string;
  readonly authorizationId: string;
  /** The keys of all marks that can end it, and those marks that were there before. */
  readonly endKeys: EndKeys;
  readonly endMarks: readonly string[];
  readonly now: EpochSeconds;
  /** What else was stored with it, and must go too. */
  readonly forget?: (marks: CurrentMarks) => Promise<void>;
  readonly refusal: () => OAuthError;
}

/**
 * Erases what was stored if the end user, the client, the API, or what the one has allowed the other was ended since the marks were read.
 * This is the last step: an end that begins after it finds what is already stored.
 *
 * @throws the refusal
 */
export async function checkBirth({ storage }: BirthPorts, birth: Birth): Promise<void> {
  const { subject, authorizationId, endKeys: keys, endMarks, now, forget, refusal } = birth;
  const marks = await findMarks(storage.endMarks, { keys, now });
  if (isBornUnder(endMarks, marks)) return;
  // both, also where one fails. Not only revoked: if the person was erased, nothing of them may stay
  await allStored([storage.authorizations.erase({ subject, authorizationId }, now), forget?.(marks)]);
  throw refusal();
}

/** Where storing has failed, nobody gets what it leads to: it is no sign-in, and nothing of the person may stay. A refusal has erased it already. */
export async function eraseAfter(
  failure: unknown,
  { storage, birth }: BirthPorts & { birth: Pick<Birth, "subject" | "authorizationId" | "now"> },
): Promise<void> {
  const { subject, authorizationId, now } = birth;
  if (!(failure instanceof OAuthError))
    await storage.authorizations.erase({ subject, authorizationId }, now).catch(() => undefined);
}
