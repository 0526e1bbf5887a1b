/** End marks as the server reads them, and the one that a client table stores itself. RFC 7009 §2.1. */
import { randomBytes } from "node:crypto";
import { clientEndKey, type EndMark, longestPossibleLifeSeconds } from "../protocol/end-mark";
import type { EpochSeconds } from "../protocol/time";
import type { EndMarkStore } from "./port";

/** A new mark that ends everything that was issued to this client until now: what `ClientRegistry.delete` stores. */
export function newClientEnd(clientId: string, now: EpochSeconds): EndMark {
  const mark = randomBytes(16).toString("base64url");
  return { key: clientEndKey(clientId), mark, expiresAt: now + longestPossibleLifeSeconds };
}

/**
 * The marks of these keys, in their order.
 *
 * @throws TypeError when the adapter was written for another version: no answer must not mean "nothing has ended".
 */
export async function findMarks(
  endMarks: Pick<EndMarkStore, "find">,
  { keys, now }: { keys: readonly string[]; now: EpochSeconds },
): Promise<readonly (string | undefined)[]> {
  const found: unknown = await endMarks.find(keys, now);
  // some databases return `null` where there is nothing
  if (Array.isArray(found) && found.length === keys.length)
    return found.map((mark: string | undefined) => mark ?? undefined);
  throw new TypeError(
    "storage.endMarks.find must return a list with one place for each key. Update the adapter: see the upgrade steps in CHANGELOG.",
  );
}
