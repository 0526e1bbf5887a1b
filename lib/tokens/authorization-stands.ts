/** Tells whether an authorization still stands, whatever has ended since it was born. RFC 7009 §2.1. */
import type { ClientEnds } from "../clients/client-lookup";
import { type Authorization, isLive } from "../protocol/authorization";
import { apiEndKey, clientEndKey, isBornUnder } from "../protocol/end-mark";
import type { EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import type { Storage } from "../storage/port";

/** What telling needs. */
export interface StandsPorts {
  readonly storage: Pick<Storage, "endMarks">;
}

type Remembered = Pick<ClientEnds, "endMark" | "apiEnds">;

/** At which API, and when. */
interface Place {
  readonly audience: string;
  readonly now: EpochSeconds;
}

/**
 * True for what was issued to a client after everything of it, and of the API, was ended. The client may be remembered from before that,
 * and what was issued since carries a mark that its memory does not know. So storage is asked before the answer is no. A mark that is
 * remembered counts also where storage has lost it.
 *
 * @throws whatever storage rejects with
 */
export async function isBornUnderClient(
  { storage }: StandsPorts,
  {
    born,
    clientId,
    audience,
    remembered,
    now,
  }: Place & { born: readonly string[]; clientId: string; remembered: Remembered },
): Promise<boolean> {
  const ends = { client: remembered.endMark, api: remembered.apiEnds.get(audience) };
  if ((ends.client ?? ends.api) === undefined || isBornUnder(born, ends)) return true;
  if (born.length === 0) return false;
  const keys = { client: clientEndKey(clientId), api: apiEndKey(audience) };
  const { client = ends.client, api = ends.api } = await findMarks(storage.endMarks, { keys, now });
  return isBornUnder(born, { client, api });
}

/**
 * True while the authorization is in force: it was not revoked, and everything of its client or API was not ended since. What ends a
 * person's authorizations flags them.
 *
 * @param asked `registered`: the client of the authorization, `undefined` when it was deleted.
 * @throws whatever storage rejects with: a failure must not pass for "stands"
 */
export async function authorizationStands(
  { storage }: StandsPorts,
  {
    authorization,
    registered,
    ...place
  }: Place & { authorization: Authorization | undefined; registered: Remembered | undefined },
): Promise<boolean> {
  if (!isLive(authorization, place.now) || !registered) return false;
  const { endMarks: born, clientId } = authorization;
  return isBornUnderClient({ storage }, { born, clientId, remembered: registered, ...place });
}
