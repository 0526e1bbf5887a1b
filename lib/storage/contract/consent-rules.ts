/** The contract of remembered consents. RFC 6749 §10.2. */
import type { Consent } from "../../protocol/consent";
import { awkwardText, keysJoinedAlike, newConsent, newId, otherSubjects } from "./records";
import { assertNothing, assertRecord, assertSame, type Rule } from "./rule";

/** Keys that differ from this one, but become equal to it through careless concatenation. */
function otherKeys({ subject, clientId, apiId }: Consent): readonly Consent[] {
  const consent = newConsent(0);
  return [
    { ...consent, subject: newId(), clientId, apiId },
    { ...consent, subject, clientId: newId(), apiId },
    { ...consent, subject, clientId, apiId: "reports" },
    { ...consent, subject: `${subject}${clientId}`, clientId: "", apiId },
    { ...consent, subject: `${subject}:${clientId}`, clientId: apiId, apiId: "" },
    ...otherSubjects(subject).map((other) => ({ ...consent, subject: other, clientId, apiId })),
    { ...consent, subject: clientId, clientId: subject, apiId },
  ];
}

const byApi = (a: Consent, b: Consent): number => (a.apiId < b.apiId ? -1 : 1);

/** The rules of `consents`. @rfc 6749 §10.2 */
export const consentRules: readonly Rule[] = [
  {
    name: "consents.find returns what consents.save stored, with every field",
    async check({ storage, peer, now }) {
      for (const consent of [
        newConsent(now),
        newConsent(now, { scopes: [], endMark: newId() }),
        newConsent(now, { subject: `${newId()}${awkwardText}`, apiId: "a-b.c_d" }),
        newConsent(now, { subject: `${newId()}${"😀".repeat(110)}` }),
      ]) {
        await storage.consents.save(consent, now);
        assertRecord(await peer.consents.find(consent, now), consent, "consents.find");
      }
    },
  },
  {
    name: "consents.find returns nothing for a key that differs in any part",
    async check({ storage, now }) {
      const consent = newConsent(now, { subject: `a${newId()}` });
      await storage.consents.save(consent, now);
      for (const key of otherKeys(consent)) {
        assertNothing(await storage.consents.find(key, now), `found by ${JSON.stringify(key)}`);
      }
      for (const [key, other] of keysJoinedAlike()) {
        await storage.consents.save(newConsent(now, key), now);
        assertNothing(await storage.consents.find(other, now), `found by ${JSON.stringify(other)}`);
      }
    },
  },
  {
    name: "consents.save replaces the consent with the same key",
    async check({ storage, peer, now }) {
      const before = newConsent(now);
      const after = { ...before, scopes: ["orders:read"], grantedAt: now + 1, expiresAt: now + 900 };
      await storage.consents.save(before, now);
      await peer.consents.save(after, now);
      assertRecord(await storage.consents.find(before, now), after, "consents.find");
      assertRecord(await storage.consents.list(before.subject, now), [after], "consents.list");
    },
  },
  {
    name: "consents.list returns all living consents of one end user, and no others",
    async check({ storage, peer, now }) {
      const subject = `a${newId()}`;
      const own = ["a", "b", "c"].map((apiId) => newConsent(now, { subject, apiId }));
      const ended = newConsent(now, { subject, apiId: "d", expiresAt: now + 60 });
      const others = otherSubjects(subject).map((other) => newConsent(now, { subject: other }));
      for (const consent of [...own, ended, newConsent(now), ...others]) {
        await storage.consents.save(consent, now);
      }
      const listed = await peer.consents.list(subject, now + 60);
      assertRecord(listed.toSorted(byApi), own, "consents.list");
      assertRecord(await peer.consents.list(newId(), now), [], "consents.list of a stranger");
    },
  },
  {
    name: "a consent expires at its expiresAt, by the time that is passed in",
    async check({ storage, now }) {
      const consent = newConsent(now, { expiresAt: now + 120 });
      await storage.consents.save(consent, now);
      assertRecord(await storage.consents.find(consent, now + 119), consent, "one second before its end");
      assertNothing(await storage.consents.find(consent, now + 120), "found at its end");
      const late = newConsent(now, { expiresAt: now });
      await storage.consents.save(late, now);
      assertNothing(await storage.consents.find(late, now), "found though it was stored after its end");
    },
  },
  {
    name: "consents.delete deletes this one consent, and does nothing when there is none",
    async check({ storage, peer, now }) {
      const subject = `a${newId()}`;
      const exceptEndMark = newId();
      const [gone, kept] = [newConsent(now, { subject }), newConsent(now, { subject })];
      await storage.consents.save(gone, now);
      await storage.consents.save(kept, now);
      assertRecord(await peer.consents.find(gone, now), gone, "before it is deleted");
      const forget = (key: Consent): Promise<boolean> => storage.consents.delete({ key, exceptEndMark }, now);
      assertSame(await forget(gone), true, "consents.delete of one that exists");
      assertSame(await forget(gone), false, "consents.delete of one that is gone");
      assertSame(await forget(newConsent(now)), false, "consents.delete of one that never existed");
      assertNothing(await peer.consents.find(gone, now), "found though it was deleted");
      assertRecord(await peer.consents.find(kept, now), kept, "another consent of the same end user");
      for (const other of otherSubjects(subject)) {
        assertSame(await forget({ ...kept, subject: other }), false, `consents.delete for "${other}"`);
      }
      assertRecord(await peer.consents.find(kept, now), kept, "the consent of another end user");
    },
  },
  {
    name: "consents.delete keeps a consent that was given after the withdrawal",
    async check({ storage, peer, now }) {
      const [before, after] = [newId(), newId()];
      const consent = newConsent(now, { endMark: after });
      await storage.consents.save(consent, now);
      const left = await peer.consents.delete({ key: consent, exceptEndMark: after }, now);
      assertSame(left, false, "consents.delete of one that it must keep");
      assertRecord(await storage.consents.find(consent, now), consent, "given under this end mark");
      await peer.consents.delete({ key: consent, exceptEndMark: before }, now);
      assertNothing(await storage.consents.find(consent, now), "given under another end mark");
    },
  },
];
