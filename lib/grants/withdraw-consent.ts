/** The end user takes a consent back: everything that descends from it ends. RFC 6749 §10.2, 7009 §2.1. */
import { clockDriftSeconds } from "../protocol/clock-drift";
import type { ConsentKey } from "../protocol/consent";
import { endedKey, endMarkKey } from "../protocol/end-mark";
import type { GrantContext } from "./grant";

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
  { storage, emit, now, randomId }: GrantContext,
  { key, longestLifeSeconds }: { key: ConsentKey; longestLifeSeconds: number },
): Promise<void> {
  checkKey(key);
  const { subject, clientId, apiId } = key;
  const at = now();
  const [mark, expiresAt] = [randomId(), at + longestLifeSeconds];
  await storage.endMarks.save({ key: endMarkKey(key), mark, expiresAt }, at);
  const revoked = await storage.authorizations.revokeAll({ subject, clientId, apiId }, at);
  // until here the consent stays listed, so that the person can try again; from here on anybody may forget it. Only an approval
  // that began before the mark asks for this, so it need not live long
  const ended = { key: endedKey(mark), mark, expiresAt: at + 2 * clockDriftSeconds };
  await storage.endMarks.save(ended, at);
  const withdrawal = { key: { subject, clientId, apiId }, exceptEndMark: mark };
  const forgotten = await storage.consents.delete(withdrawal, at);
  checkAnswers({ revoked, forgotten });
  const kind = revoked > 0 || forgotten ? "consent-revoked" : "nothing-to-revoke";
  emit({ kind, subject, clientId, apiId });
}
