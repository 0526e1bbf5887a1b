/** Tells whether an authorization still stands, whatever has ended since it was born. RFC 7009 §2.1. */
import type { RegisteredClient } from "../clients/client-lookup";
import { type Authorization, isLive } from "../protocol/authorization";
import { clientEndKey, isBornUnder, subjectEndKey } from "../protocol/end-mark";
import type { EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";

/** What telling needs. */
export interface StandsPorts {
  readonly storage: Pick<Storage, "endMarks">;
}

/**
 * True for what was issued to a client after everything of it was ended. The client may be remembered from before that, and what was
 * issued since carries a mark that its memory does not know. So storage is asked before the answer is no.
 *
 * @throws whatever storage rejects with
 */
export async function isBornUnderClient(
  { storage }: StandsPorts,
  {
    born,
    clientId,
    remembered,
    now,
  }: {
    born: readonly string[];
    clientId: string;
    remembered: Pick<RegisteredClient, "endMark">;
    now: EpochSeconds;
  },
): Promise<boolean> {
  if (isBornUnder(born, [remembered.endMark])) return true;
  if (born.length === 0) return false;
  const [current] = await findMarks(storage.endMarks, { keys: [clientEndKey(clientId)], now });
  return current !== undefined && isBornUnder(born, [current]);
}

/**
 * True while the authorization is in force: it was not revoked, and everything of its client was not ended since. What ends a person's
 * authorizations flags them. Versions before 0.2 stored some of them where a person's end cannot find them, so these ask for the
 * person's mark.
 *
 * @param standing `registered`: the client of the authorization, `undefined` when it was deleted.
 * @throws whatever storage rejects with: a failure must not pass for "stands"
 */
export async function authorizationStands(
  { storage }: StandsPorts,
  {
    authorization,
    registered,
    now,
  }: {
    authorization: Authorization | undefined;
    registered: Pick<RegisteredClient, "endMark"> | undefined;
    now: EpochSeconds;
  },
): Promise<boolean> {
  if (!isLive(authorization, now) || !registered) return false;
  const { endMarks, subject, clientId } = authorization;
  const born = endMarks ?? [];
  if (!(await isBornUnderClient({ storage }, { born, clientId, remembered: registered, now }))) return false;
  if (endMarks !== undefined) return true;
  const [subjectMark] = await findMarks(storage.endMarks, { keys: [subjectEndKey(subject)], now });
  return subjectMark === undefined;
}
