/** The end user takes a consent back: everything that descends from it ends. RFC 6749 §10.2, 7009 §2.1. */
import type { ConsentKey } from "../protocol/consent";
import { endMarkKey } from "../protocol/end-mark";
import type { GrantContext } from "./grant";

/**
 * Ends the consent, and every authorization of this end user for this client at this API. It wins against an approval that is
 * under way: that one stores what it makes and then looks at the end mark, and here the mark is stored before anything is
 * looked for. So one of the two always sees the other. It may be repeated after a failure.
 *
 * @param withdrawal `longestLifeSeconds`: how long anything that is older than the withdrawal may live.
 */
export async function withdrawConsent(
  { storage, emit, now, randomId }: GrantContext,
  { key, longestLifeSeconds }: { key: ConsentKey; longestLifeSeconds: number },
): Promise<void> {
  const { subject, clientId, apiId } = key;
  const at = now();
  const mark = randomId();
  await storage.endMarks.save({ key: endMarkKey(key), mark, expiresAt: at + longestLifeSeconds }, at);
  const revoked = await storage.authorizations.revokeAll({ subject, clientId, apiId }, at);
  // last: while anything may live on, the consent is listed and the person can try again
  const forgotten = await storage.consents.delete(
    { key: { subject, clientId, apiId }, exceptEndMark: mark },
    at,
  );
  const kind = revoked > 0 || forgotten ? "consent-revoked" : "nothing-to-revoke";
  emit({ kind, subject, clientId, apiId });
}
