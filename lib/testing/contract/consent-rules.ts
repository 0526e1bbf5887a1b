/** What holds for consents alone: their contexts, their list, and how many there may be. RFC 6749 §10.2. */
import { type Consent, maxConsents } from "../../protocol/consent";
import { spoil } from "./kind-rules";
import { newConsent, newId, newSubject, otherTexts } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rules } from "./rule";

const byApi = (a: Consent, b: Consent): number => (a.apiId < b.apiId ? -1 : 1);

/** The rules of `consents`. @rfc 6749 §10.2 */
export const consentRules: Rules = {
  async "a consent whose contextKey is left out and one whose contextKey is empty are the same consent"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const left = newConsent(now, { scopes: ["first"] });
    const empty = { ...left, contextKey: "", scopes: ["second"] };
    await storage.consents.save(left, now);
    assertRecord(await peer.consents.find(empty, now), left, "found by an empty contextKey");
    await storage.consents.save(empty, now);
    const found = await peer.consents.find(left, now);
    assertSame(found?.scopes.join(" "), "second", "found by a contextKey that is left out");
    assertSame((await peer.consents.list(left.subject, now)).length, 1, "consents.list");
  },
  async "consents.list returns all living consents of one end user, and no others"({ storage, peer, now }) {
    const subject = newSubject();
    const own = Array.from({ length: 30 }, (_, index) =>
      newConsent(now, { subject, apiId: `${10 + index}` }),
    );
    const ended = newConsent(now, { subject, apiId: "ended", expiresAt: now + 60 });
    const others = otherTexts(subject).map((other) => newConsent(now, { subject: other }));
    // the first one is saved once more, and must not be listed twice
    for (const consent of [...own.slice(0, 1), ended, ...others, ...own, newConsent(now)])
      await storage.consents.save(consent, now);
    for (const message of ["consents.list", "the list after changing the one that was returned"]) {
      const listed = await peer.consents.list(subject, now + 60);
      assertRecord(listed.toSorted(byApi), own, message);
      spoil(listed);
    }
    assertRecord(await peer.consents.list(newId(), now), [], "consents.list of a stranger");
    // the caller's clock may be behind that of the store
    const past = newConsent(now, { expiresAt: now - 30 });
    await storage.consents.save(past, now - 60);
    assertRecord(
      await peer.consents.list(past.subject, now - 31),
      [past],
      "the list by a clock that is behind",
    );
  },
  async [`consents.save keeps ${maxConsents} consents of one end user: those that expire first go, never the new one`](
    test,
  ) {
    const { storage, peer, now } = test;
    const subject = newId();
    const newOne = (seconds: number): Consent =>
      newConsent(now, {
        subject,
        ...(seconds % 2 === 0 && { contextKey: "acme" }),
        expiresAt: now + seconds,
      });
    const first = Array.from({ length: 9 }, (_, index) => newOne(100 + index));
    const last = newOne(109);
    const other = newConsent(now, { expiresAt: now + 60 });
    const count = maxConsents - first.length - 1;
    for (const consent of [other, ...first, last]) await storage.consents.save(consent, now);
    for (let from = 0; from < count; from += 50)
      await race(test, {
        runners: Math.min(50, count - from),
        run: ({ consents }, index) => consents.save(newOne(1_000 + from + index), now),
      });
    await peer.consents.save({ ...last, expiresAt: now + 5_000 }, now);
    const assertCount = async (): Promise<void> =>
      assertSame((await peer.consents.list(subject, now)).length, maxConsents, "the number of consents");
    await assertCount();
    // the person has just given it, so it counts even if it ends before all others
    const next = [newOne(6_000), newOne(6_001), newOne(50)];
    for (const consent of next) await storage.consents.save(consent, now);
    for (const consent of first.slice(0, next.length))
      assertNothing(await peer.consents.find(consent, now), "one of the first to expire");
    for (const consent of [...first.slice(next.length), ...next, other])
      assertRecord(await peer.consents.find(consent, now), consent, "one that must stay");
    await assertCount();
  },
};
