/** The contract of remembered consents. RFC 6749 §10.2. */
import { type Consent, type ConsentKey, maxConsents } from "../../protocol/consent";
import {
  awkwardText,
  keysJoinedAlike,
  longText,
  newConsent,
  newDigest,
  newId,
  newSubject,
  otherIds,
  otherTexts,
} from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule } from "./rule";

/** Keys that differ from this one, but become equal to it through careless concatenation. */
function otherKeys({ subject, clientId, apiId }: Consent): readonly Consent[] {
  const consent = newConsent(0);
  return [
    { ...consent, subject: newId(), clientId, apiId },
    { ...consent, subject, clientId: newId(), apiId },
    { ...consent, subject, clientId, apiId: "reports" },
    { ...consent, subject: `${subject}${clientId}`, clientId: "", apiId },
    { ...consent, subject: `${subject}:${clientId}`, clientId: apiId, apiId: "" },
    ...otherTexts(subject).map((other) => ({ ...consent, subject: other, clientId, apiId })),
    ...otherIds(clientId).map((other) => ({ ...consent, subject, clientId: other, apiId })),
    ...otherIds(apiId).map((other) => ({ ...consent, subject, clientId, apiId: other })),
    { ...consent, subject, clientId, apiId, contextKey: "acme" },
    { ...consent, subject, clientId, apiId: "", contextKey: apiId },
    { ...consent, subject: clientId, clientId: subject, apiId },
  ];
}

const byApi = (a: Consent, b: Consent): number => (a.apiId < b.apiId ? -1 : 1);

/** A text that is one character shorter than that. */
function almost(length: number): string {
  return newId().padEnd(length - 1, "x");
}

/** Keys as long as the server allows, of which each differs in the last character of one part. */
function longKeys(): readonly ConsentKey[] {
  const [subject, clientId, contextKey] = [almost(255), almost(255), almost(128)];
  const key = {
    subject: `${subject}1`,
    clientId: `${clientId}1`,
    apiId: "orders",
    contextKey: `${contextKey}1`,
  };
  return [
    key,
    { ...key, subject: `${subject}2` },
    { ...key, clientId: `${clientId}2` },
    { ...key, contextKey: `${contextKey}2` },
  ];
}

/** The rules of `consents`. @rfc 6749 §10.2 */
export const consentRules: readonly Rule[] = [
  {
    name: "consents.find returns what consents.save stored, with every field",
    async check({ storage, peer, now }) {
      for (const consent of [
        newConsent(now),
        newConsent(now, { scopes: [], endMarks: [] }),
        newConsent(now, { contextKey: `b${awkwardText}a`, endMarks: [newId(), newId()] }),
        newConsent(now, { clientDigest: newDigest() }),
        newConsent(now, { scopes: [longText, newId()] }),
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
      const consent = newConsent(now, { subject: newSubject() });
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
    name: "consents whose keys differ in the last character are different, also where the key is as long as it can be",
    async check({ storage, peer, now }) {
      const consents = longKeys().map((key) => newConsent(now, key));
      for (const consent of consents) await storage.consents.save(consent, now);
      for (const consent of consents)
        assertRecord(await peer.consents.find(consent, now), consent, "consents.find");
      const [first, ...others] = consents;
      if (first) await peer.consents.delete({ selection: first, exceptEndMark: newId() }, now);
      for (const consent of others)
        assertRecord(await storage.consents.find(consent, now), consent, "after another was deleted");
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
      // the last one counts, also where the clock of its process is behind
      const last = { ...after, scopes: [], grantedAt: now - 60, expiresAt: now + 300 };
      await storage.consents.save(last, now - 60);
      assertRecord(await peer.consents.find(before, now), last, "one that was given earlier by its clock");
    },
  },
  {
    name: "consents of two contexts are two consents, and one without a context is a third",
    async check({ storage, peer, now }) {
      const plain = newConsent(now, { scopes: ["plain"] });
      const { scopes: _, ...key } = plain;
      const contexts = ["acme", ...otherTexts("acme"), "b€"];
      const others = contexts.map((contextKey) => ({ ...key, contextKey, scopes: [contextKey] }));
      for (const consent of [plain, ...others]) await storage.consents.save(consent, now);
      assertRecord(await peer.consents.find(plain, now), plain, "without a context");
      for (const consent of others) {
        assertRecord(await peer.consents.find(consent, now), consent, `of "${consent.contextKey}"`);
      }
      assertNothing(
        await peer.consents.find({ ...key, contextKey: "other" }, now),
        "found by another context",
      );
      assertSame((await peer.consents.list(key.subject, now)).length, 1 + others.length, "consents.list");
    },
  },
  {
    name: "a consent whose contextKey is left out and one whose contextKey is empty are the same consent",
    async check({ storage, peer, now }) {
      const left = newConsent(now, { scopes: ["first"] });
      const empty = { ...left, contextKey: "", scopes: ["second"] };
      await storage.consents.save(left, now);
      assertRecord(await peer.consents.find(empty, now), left, "found by an empty contextKey");
      await storage.consents.save(empty, now);
      const found = await peer.consents.find(left, now);
      assertSame(found?.scopes.join(" "), "second", "found by a contextKey that is left out");
      assertSame((await peer.consents.list(left.subject, now)).length, 1, "consents.list");
    },
  },
  {
    name: "consents.list returns all living consents of one end user, and no others",
    async check({ storage, peer, now }) {
      const subject = newSubject();
      const own = Array.from({ length: 30 }, (_, index) =>
        newConsent(now, { subject, apiId: `${10 + index}` }),
      );
      const ended = newConsent(now, { subject, apiId: "ended", expiresAt: now + 60 });
      const others = otherTexts(subject).map((other) => newConsent(now, { subject: other }));
      for (const consent of [...own, ended, newConsent(now), ...others]) {
        await storage.consents.save(consent, now);
      }
      const listed = await peer.consents.list(subject, now + 60);
      assertRecord(listed.toSorted(byApi), own, "consents.list");
      assertRecord(await peer.consents.list(newId(), now), [], "consents.list of a stranger");
    },
  },
  {
    name: `consents.save keeps ${maxConsents} consents of one end user: those that expire first go, never the new one`,
    async check(test) {
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
      // the caller's clock may be behind that of the store, so the store's own time must not decide
      const past = newConsent(now, { expiresAt: now - 30 });
      await storage.consents.save(past, now - 60);
      assertRecord(await storage.consents.find(past, now - 31), past, "by a clock that is behind");
      assertRecord(await storage.consents.list(past.subject, now - 31), [past], "in the list of that clock");
      assertNothing(await storage.consents.find(past, now - 30), "found at its end by that clock");
    },
  },
];
