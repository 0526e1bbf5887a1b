/** End marks as the server reads them, and the one that a client table stores itself. RFC 7009 §2.1. */
import { randomBytes } from "node:crypto";
import {
  clientEndKey,
  type CurrentMark,
  type EndMark,
  longestPossibleLifeSeconds,
} from "../protocol/end-mark";
import { hostMistake } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";
import type { EndMarkStore } from "./port";

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
  if (Array.isArray(found) && found.length === names.length)
    return Object.fromEntries(
      names.map((name, place) => [name, (found[place] as CurrentMark) ?? undefined]),
    ) as Record<Name, CurrentMark>;
  throw hostMistake(
    "incomplete-end-marks",
    "storage.endMarks.find must return a list with one place for each key (docs/storage.md).",
  );
}
