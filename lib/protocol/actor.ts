/** Who acts for an end user: the clients through whose hands a token has come. RFC 8693 §4.1. */
import { frozen, isPlain } from "./host-json";

/** A client that acts for an end user. @rfc 8693 §4.1 */
export interface Actor {
  /** The id of the client. */
  readonly subject: string;
  /** The client whose token it has exchanged; `undefined` where that was a token of the client that the end user approved. */
  readonly actor?: Actor;
}

/** How many clients can act one after the other. */
const mostActors = 4;

/** True while one more client may follow. */
export function mayPassOn(actor: Actor | undefined, more: number = mostActors): boolean {
  return more > 0 && (!actor || mayPassOn(actor.actor, more - 1));
}

/** The actor as the claim `act`. @rfc 8693 §4.1 */
export function actorClaim({ subject, actor }: Actor): object {
  return { sub: subject, ...(actor && { act: actorClaim(actor) }) };
}

/** The actor that a claim `act` describes, frozen, or `undefined` when this server cannot have issued it. @rfc 8693 §4.1 */
export function readActor(act: unknown, more: number = mostActors): Actor | undefined {
  if (!isPlain(act) || more === 0) return undefined;
  const { sub, act: before, ...others } = act;
  if (typeof sub !== "string" || Object.keys(others).length > 0) return undefined;
  if (before === undefined) return frozen({ subject: sub });
  const actor = readActor(before, more - 1);
  return actor && frozen({ subject: sub, actor });
}
