/** Withdraws a consent: everything that descends from it ends. RFC 6749 §10.2, 7009 §2.1. */
import type { EmitEvent } from "../events/port";
import type { ConsentKey } from "../protocol/consent";
import { endedKey, endMarkKey } from "../protocol/end-mark";
import { type Clock, clockDriftSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";

/** What a withdrawal needs. */
export interface WithdrawalPorts {
  readonly storage: Pick<Storage, "endMarks" | "authorizations" | "consents">;
  readonly emit: EmitEvent;
  readonly clock: Clock;
  /** Returns 128 random bits as base64url: a new end mark. */
  readonly randomId: () => string;
}

/** @throws TypeError when a part of the key is missing: a withdrawal that ends nothing must not look like a success. */
function checkKey(key: ConsentKey | undefined): asserts key is ConsentKey {
  for (const name of ["subject", "clientId", "apiId"] as const) {
    if (typeof key?.[name] === "string" && key[name] !== "") continue;
    throw new TypeError(
      `auth.consents.revoke: ${name} must be a non-empty string. Pass { subject, clientId, apiId } as auth.consents.list returns them.`,
    );
  }
}

/** Refuses an adapter written for a version without end marks: it revokes nothing, or does not say what it revoked. */
function checkAnswers({ revoked, forgotten }: { revoked: unknown; forgotten: unknown }): void {
  if (typeof revoked === "number" && typeof forgotten === "boolean") return;
  throw new TypeError(
    "storage.authorizations.revokeAll must return a number, and storage.consents.delete a boolean. Update the adapter: see the upgrade steps in CHANGELOG.",
  );
}

/**
 * Deletes the consent and revokes every authorization of this end user for this client at this API. It wins against an approval
 * that is in progress: the approval first stores its records and then reads the end mark, while the withdrawal first stores the
 * mark and then looks for records. So one of the two always sees the other. After a failure it can be repeated.
 *
 * @param withdrawal `longestLifeSeconds`: how long anything older than the withdrawal may live.
 * @throws TypeError when the key is incomplete or the adapter was written for another version. Rejects with whatever storage
 * rejects with.
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
  // until here the consent stays listed, so that the person can try again; from here on anybody may delete it. Only an approval
  // that began before the first mark reads this second one, so it need not live long
  const ended = { key: endedKey(mark), mark, expiresAt: now + 2 * clockDriftSeconds };
  await storage.endMarks.save(ended, now);
  const withdrawal = { key: { subject, clientId, apiId }, exceptEndMark: mark };
  const forgotten = await storage.consents.delete(withdrawal, now);
  checkAnswers({ revoked, forgotten });
  const kind = revoked > 0 || forgotten ? "consent-revoked" : "nothing-to-revoke";
  emit({ kind, subject, clientId, apiId });
}
