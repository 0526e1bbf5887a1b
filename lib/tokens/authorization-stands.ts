/** Tells whether an authorization still stands, whatever has ended since it was born. RFC 7009 §2.1. */
import type { RegisteredClient } from "../clients/client-lookup";
import { type Authorization, isLive } from "../protocol/authorization";
import { clientEndKey } from "../protocol/end-mark";
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
  const { endMark } = remembered;
  if (endMark === undefined || born.includes(endMark)) return true;
  if (born.length === 0) return false;
  const { client } = await findMarks(storage.endMarks, { keys: { client: clientEndKey(clientId) }, now });
  return client !== undefined && born.includes(client);
}

/**
 * True while the authorization is in force: it was not revoked, and everything of its client was not ended since. What ends a person's
 * authorizations flags them.
 *
 * @param asked `registered`: the client of the authorization, `undefined` when it was deleted.
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
  const { endMarks: born, clientId } = authorization;
  return isBornUnderClient({ storage }, { born, clientId, remembered: registered, now });
}
