/** Notes that an authorization is in use where its tokens call the host's API: seldom, and nobody waits for it. RFC 6749 §1.3. */
import type { EmitEvent } from "../events/port";
import type { AccessToken } from "../protocol/access-token";
import type { Clock } from "../protocol/time";
import { boundedCache } from "../recall/bounded-cache";
import { type Moment, momentsOf, secondsBetween } from "../recall/moment";
import type { Storage } from "../storage/port";

/** What noting uses needs. */
export interface UsePorts {
  readonly storage: { readonly authorizations: Pick<Storage["authorizations"], "noteUse"> };
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** Hears of a token with which a request has passed. It never throws. */
export type NoteUse = (accessToken: Pick<AccessToken, "authorizationId">) => void;

/** How long a use stands for all that follow, in seconds. */
const quietSeconds = 3_600;
/** Of more authorizations at once, those that called longest ago are written again at their next call. */
const maxNoted = 50_000;

/**
 * Writes each authorization's use to storage at most once an hour. A failure becomes a `server-error` event, and counts like a success: a
 * store that is down must not be asked at each request.
 */
export function useNotes({ storage: { authorizations }, emit, clock }: UsePorts): NoteUse {
  const noted = boundedCache<Moment>(maxNoted);
  const moment = momentsOf(clock);
  return ({ authorizationId }) => {
    // a client's own token has none
    if (authorizationId === undefined) return;
    const now = moment();
    const last = noted.get(authorizationId);
    if (last && secondsBetween(last, now) < quietSeconds) return;
    noted.set(authorizationId, now);
    authorizations.noteUse(authorizationId, clock()).catch((cause: unknown) => {
      emit({ kind: "server-error", authorizationId, cause });
    });
  };
}
