/** The contract of withdrawn consents: everything that was given before goes, and nothing else. RFC 6749 §10.2, 7009 §2.1. */
import type { Consent, ConsentSelection } from "../../protocol/consent";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";
import { keysJoinedAlike, newConsent, newId, newSubject, otherIds, otherTexts } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule } from "./rule";

/** Saves one consent for each of these contexts, and one without any. */
async function saveContexts(
  { consents }: Storage,
  { contexts, now }: { contexts: readonly string[]; now: EpochSeconds },
): Promise<readonly Consent[]> {
  const plain = newConsent(now);
  const saved = [plain, ...contexts.map((contextKey) => ({ ...plain, contextKey }))];
  for (const consent of saved) await consents.save(consent, now);
  return saved;
}

/** The rules of `consents.delete`. @rfc 6749 §10.2, 7009 §2.1 */
export const consentDeleteRules: readonly Rule[] = [
  {
    name: "consents.delete deletes this one consent, and does nothing when there is none",
    async check({ storage, peer, now }) {
      const subject = newSubject();
      const [gone, kept] = [newConsent(now, { subject }), newConsent(now, { subject })];
      const otherApi = { ...gone, apiId: "reports" };
      for (const consent of [gone, kept, otherApi]) await storage.consents.save(consent, now);
      assertRecord(await peer.consents.find(gone, now), gone, "before it is deleted");
      const forget = ({ subject: of, clientId, apiId }: Consent): Promise<boolean> =>
        storage.consents.delete({ selection: { subject: of, clientId, apiId }, exceptEndMark: newId() }, now);
      assertSame(await forget(gone), true, "consents.delete of one that exists");
      assertSame(await forget(gone), false, "consents.delete of one that is gone");
      assertSame(await forget(newConsent(now)), false, "consents.delete of one that never existed");
      assertNothing(await peer.consents.find(gone, now), "found though it was deleted");
      for (const other of otherTexts(subject)) {
        assertSame(await forget({ ...kept, subject: other }), false, `consents.delete for "${other}"`);
      }
      for (const clientId of otherIds(kept.clientId))
        assertSame(await forget({ ...kept, clientId }), false, `consents.delete for "${clientId}"`);
      for (const apiId of otherIds(kept.apiId))
        assertSame(await forget({ ...kept, apiId }), false, `consents.delete for "${apiId}"`);
      assertRecord(await peer.consents.find(kept, now), kept, "the consent for another client");
      assertRecord(await peer.consents.find(otherApi, now), otherApi, "the consent for another API");
    },
  },
  {
    name: "consents.delete with a contextKey deletes the consent of this context only, and without one those of every context",
    async check({ storage, peer, now }) {
      const [plain, acme, ...others] = await saveContexts(storage, {
        contexts: ["acme", ...otherTexts("acme")],
        now,
      });
      const { subject, clientId, apiId } = plain ?? newConsent(now);
      const forget = (contextKey: Pick<ConsentSelection, "contextKey">): Promise<boolean> =>
        peer.consents.delete(
          { selection: { subject, clientId, apiId, ...contextKey }, exceptEndMark: newId() },
          now,
        );
      const assertLeft = async (left: number, message: string): Promise<void> =>
        assertSame((await storage.consents.list(subject, now)).length, left, message);
      assertSame(await forget({ contextKey: "another" }), false, "a context without a consent");
      assertSame(await forget({ contextKey: "acme" }), true, "one context");
      assertNothing(await storage.consents.find(acme ?? newConsent(now), now), "the consent of that context");
      await assertLeft(1 + others.length, "the consents of other contexts");
      assertSame(await forget({ contextKey: "" }), true, "no context");
      assertNothing(
        await storage.consents.find({ subject, clientId, apiId }, now),
        "the one without a context",
      );
      await assertLeft(others.length, "the consents of contexts");
      assertSame(await forget({}), true, "every context");
      await assertLeft(0, "the consents of every context");
      for (const [joined, other] of keysJoinedAlike()) {
        const consent = newConsent(now, other);
        await storage.consents.save(consent, now);
        await peer.consents.delete({ selection: joined, exceptEndMark: newId() }, now);
        assertRecord(
          await storage.consents.find(other, now),
          consent,
          `deleted by ${JSON.stringify(joined)}`,
        );
      }
    },
  },
  {
    name: "consents.delete with a subject alone deletes all consents of this end user that were given before, and nobody else's",
    async check({ storage, peer, now }) {
      const subject = newSubject();
      const mark = newId();
      const others = [newId(), ...otherTexts(subject)].map((other) => newConsent(now, { subject: other }));
      const own = Array.from({ length: 30 }, (_, index) =>
        newConsent(now, { subject, contextKey: index % 3 === 0 ? "" : `${index}` }),
      );
      const expired = newConsent(now, { subject, expiresAt: now - 30 });
      const kept = [
        newConsent(now, { subject, endMarks: [newId(), mark] }),
        newConsent(now, { subject, endMarks: [mark], contextKey: "acme" }),
      ];
      await storage.consents.save(expired, now - 60);
      for (const consent of [...own, ...kept, ...others]) await storage.consents.save(consent, now);
      const withdrawal = { selection: { subject }, exceptEndMark: mark };
      assertSame(await peer.consents.delete(withdrawal, now), true, "consents.delete of many");
      assertSame(await peer.consents.delete(withdrawal, now), false, "consents.delete of none");
      const left = await storage.consents.list(subject, now - 31);
      assertSame(left.length, kept.length, "the number of those that are left");
      for (const consent of [...kept, ...others])
        assertRecord(await storage.consents.find(consent, now), consent, "one that must stay");
    },
  },
  {
    name: "consents.delete keeps a consent that was given after the withdrawal",
    async check({ storage, peer, now }) {
      const [before, after] = [newId(), newId()];
      const consent = newConsent(now, { endMarks: [newId(), after] });
      await storage.consents.save(consent, now);
      const left = await peer.consents.delete({ selection: consent, exceptEndMark: after }, now);
      assertSame(left, false, "consents.delete of one that it must keep");
      assertRecord(await storage.consents.find(consent, now), consent, "given under this end mark");
      const older = { ...consent, contextKey: "acme", endMarks: [before] };
      await storage.consents.save(older, now);
      const { subject, clientId, apiId } = consent;
      const selection = { subject, clientId, apiId };
      const some = await peer.consents.delete({ selection, exceptEndMark: after }, now);
      assertSame(some, true, "consents.delete of one to keep and one to delete");
      assertNothing(await storage.consents.find(older, now), "given under an older end mark");
      assertRecord(await storage.consents.find(consent, now), consent, "given under this end mark");
      await peer.consents.delete({ selection, exceptEndMark: before }, now);
      assertNothing(await storage.consents.find(consent, now), "given under another end mark");
    },
  },
  {
    name: "consents.delete does not delete what is saved at the same time under the mark of the withdrawal",
    async check(subject) {
      const { storage, peer, now } = subject;
      for (let round = 0; round < 5; round += 1) {
        const mark = newId();
        const before = newConsent(now, { endMarks: [newId()] });
        const after = { ...before, scopes: ["given again"], endMarks: [mark] };
        await storage.consents.save(before, now);
        await race(subject, {
          runners: 8,
          run: async (store, runner) => {
            if (runner === 3) return store.consents.save(after, now);
            await store.consents.delete({ selection: before, exceptEndMark: mark }, now);
          },
        });
        assertRecord(await peer.consents.find(after, now), after, "given again during the withdrawal");
      }
    },
  },
  {
    name: "consents.delete also reaches what has expired at `now`",
    async check({ storage, peer, now }) {
      const consent = newConsent(now, { expiresAt: now + 120 });
      await storage.consents.save(consent, now);
      // the caller's clock may be ahead
      const withdrawal = { selection: consent, exceptEndMark: newId() };
      assertSame(await peer.consents.delete(withdrawal, now + 300), true, "consents.delete");
      assertNothing(await storage.consents.find(consent, now), "found though it was deleted");
      // or behind that of the store
      const past = newConsent(now, { expiresAt: now - 30 });
      await storage.consents.save(past, now - 60);
      const earlier = { selection: past, exceptEndMark: newId() };
      assertSame(await peer.consents.delete(earlier, now - 31), true, "consents.delete by a slow clock");
      assertNothing(await storage.consents.find(past, now - 31), "found by that clock");
    },
  },
];
