/** The end user takes a consent back: everything that descends from it ends. RFC 6749 §10.2, 7009 §2.1. */
import type { EmitEvent } from "../events/port";
import type { ConsentKey } from "../protocol/consent";
import { endedKey, endMarkKey } from "../protocol/end-mark";
import { type Clock, clockDriftSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";

/** What a withdrawal uses. */
export interface WithdrawalPorts {
  readonly storage: Pick<Storage, "endMarks" | "authorizations" | "consents">;
  readonly emit: EmitEvent;
  readonly clock: Clock;
  /** 128 random bits, base64url. */
  readonly randomId: () => string;
}

/** @throws TypeError when a part of the key is missing: a withdrawal that ends nothing must not look like one. */
function checkKey(key: ConsentKey | undefined): asserts key is ConsentKey {
  for (const name of ["subject", "clientId", "apiId"] as const) {
    if (typeof key?.[name] === "string" && key[name] !== "") continue;
    throw new TypeError(
      `auth.consents.revoke: ${name} is not text. Write { subject, clientId, apiId }, as auth.consents.list gives them.`,
    );
  }
}

/** An adapter that was written for a version without end marks ends nothing, or does not say what it has ended. */
function checkAnswers({ revoked, forgotten }: { revoked: unknown; forgotten: unknown }): void {
  if (typeof revoked === "number" && typeof forgotten === "boolean") return;
  throw new TypeError(
    "storage.authorizations.revokeAll must give a number, and storage.consents.delete a boolean. Update the adapter: CHANGELOG, upgrade steps.",
  );
}

/**
 * Ends the consent, and every authorization of this end user for this client at this API. It wins against an approval that is
 * under way: that one stores what it makes and then looks at the end mark, and here the mark is stored before anything is
 * looked for. So one of the two always sees the other. It may be repeated after a failure.
 *
 * @param withdrawal `longestLifeSeconds`: how long anything that is older than the withdrawal may live.
 * @throws TypeError when the key is not whole, or the adapter is of another version
 */
export async function withdrawConsent(
  { storage, emit, clock, randomId }: WithdrawalPorts,
  { key, longestLifeSeconds }: { key: ConsentKey; longestLifeSeconds: number },
): Promise<void> {
  checkKey(key);
  const { subject, clientId, apiId } = key;
  const now = clock();
  const [mark, expiresAt] = [randomId(), now + longestLifeSeconds];
  await storage.endMarks.save({ key: endMarkKey(key), mark, expiresAt }, now);
  const revoked = await storage.authorizations.revokeAll({ subject, clientId, apiId }, now);
  // until here the consent stays listed, so that the person can try again; from here on anybody may forget it. Only an approval
  // that began before the mark asks for this, so it need not live long
  const ended = { key: endedKey(mark), mark, expiresAt: now + 2 * clockDriftSeconds };
  await storage.endMarks.save(ended, now);
  const withdrawal = { key: { subject, clientId, apiId }, exceptEndMark: mark };
  const forgotten = await storage.consents.delete(withdrawal, now);
  checkAnswers({ revoked, forgotten });
  const kind = revoked > 0 || forgotten ? "consent-revoked" : "nothing-to-revoke";
  emit({ kind, subject, clientId, apiId });
}
