/** What is revoked one by one: authorizations, access tokens, consents, and the end marks beside them. RFC 7009 §2.1, 6749 §10.2. */
import type { Authorization } from "../../protocol/authorization";
import { life } from "./kind-rules";
import {
  newAccessToken,
  newAuthorization,
  newConsent,
  newDigest,
  newEndKey,
  newEndMark,
  newId,
} from "./records";
import {
  assertAll,
  assertGone,
  assertNothing,
  assertRecord,
  assertSame,
  assertTexts,
  createAll,
  createSeveral,
  listAll,
  race,
  type Rules,
  type RuleSubject,
} from "./rule";

/** Creates authorizations of one end user at both ends of the store, and revokes all of them again and again meanwhile. */
async function revokeDuringCreation(test: RuleSubject, key: Partial<Authorization>): Promise<void> {
  const { now } = test;
  const created: Authorization[] = [];
  const { subject = "", clientId, apiId } = key;
  const selection = clientId === undefined || apiId === undefined ? {} : { clientId, apiId };
  await race(test, {
    runners: 8,
    run: async (store, runner) => {
      // so that the runners are at different steps
      for (let wait = 0; wait < runner; wait += 1) await store.authorizations.find(newId(), now);
      let checked = 0;
      for (let step = 0; step < 4; step += 1) {
        const record = newAuthorization(now, key);
        await store.authorizations.create(record, now);
        created.push(record);
        if (runner % 4 > 1) continue;
        const before = created.slice(checked);
        checked = created.length;
        await store.authorizations.revokeAll({ subject, ...selection }, now);
        await assertAll(store, { records: before, now, revoked: true });
      }
    },
  });
}

/** So many authorizations of one end user, for a client of their own. No context has more than may live. */
async function createMany(
  test: RuleSubject,
  { subject, count }: { subject: string; count: number },
): Promise<{ readonly clientId: string; readonly records: readonly Authorization[] }> {
  const key = { subject, clientId: newId() };
  const records = Array.from({ length: count }, (_, index) =>
    newAuthorization(test.now, { ...key, context: { key: `context ${Math.floor(index / 90)}` } }),
  );
  await createSeveral(test, records);
  return { clientId: key.clientId, records };
}

/** Some of them, from the first to the last. To look at each would take a slow store too long. */
function someOf(records: readonly Authorization[]): readonly Authorization[] {
  return records.filter((_, index) => index % 41 === 0 || index === records.length - 1);
}

/** The rules of `authorizations.revoke`, and of `revokeAll` beside other calls. */
const revocationRules: Rules = {
  async "authorizations.revoke is visible everywhere, affects this authorization only, can be repeated, and lasts 100 days"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const gone = newAuthorization(now, { expiresAt: now + life });
    const kept = newAuthorization(now, { subject: gone.subject, clientId: gone.clientId });
    await createAll(storage, [gone, kept], now);
    await assertAll(peer, { records: [gone, kept], now, revoked: false });
    await storage.authorizations.revoke(gone.authorizationId, now);
    await assertAll(peer, { records: [gone], now, revoked: true });
    await race(subject, {
      // an odd number, so that an adapter that toggles the flag ends at "not revoked"
      runners: 7,
      run: (store) => store.authorizations.revoke(gone.authorizationId, now),
    });
    await assertAll(storage, { records: [gone], now, revoked: true });
    await assertAll(storage, { records: [gone], now: gone.expiresAt - 1, revoked: true });
    await assertAll(peer, { records: [kept], now, revoked: false });
  },
  async "authorizations.revoke does nothing when there is none"({ storage, now }) {
    const unknown = newId();
    await storage.authorizations.revoke(unknown, now);
    assertNothing(await storage.authorizations.find(unknown, now), "revoking created one");
  },
  async "authorizations.revokeAll revokes what was stored before it began, while others are being stored"(
    subject,
  ) {
    const { subject: first, clientId, apiId } = newAuthorization(subject.now);
    await revokeDuringCreation(subject, { subject: first, clientId, apiId });
    await revokeDuringCreation(subject, { subject: newId() });
  },
  async "authorizations.revokeAll and erase reach all that an end user has, however many"(test) {
    const { storage, peer, now } = test;
    const { authorizations } = peer;
    const subject = newId();
    const first = await createMany(test, { subject, count: 270 });
    const second = await createMany(test, { subject, count: 1_600 });
    const { clientId } = first;
    const own = await authorizations.revokeAll({ subject, clientId, apiId: "orders" }, now);
    assertSame(own, 270, "revokeAll of a client");
    await assertAll(storage, { records: first.records, now, revoked: true });
    assertSame(await authorizations.revokeAll({ subject }, now), 1_600, "revokeAll of the rest");
    assertSame((await listAll(storage, { subject, now })).length, 0, "the number of living ones");
    await assertAll(storage, { records: someOf(second.records), now, revoked: true });
    const third = await createMany(test, { subject, count: 160 });
    assertSame(await authorizations.erase({ subject }, now), 2_030, "erase");
    const records = [first, second, third].flatMap((each) => someOf(each.records));
    await assertGone(storage, { records, now });
  },
};

const erasureRules: Rules = {
  async "authorizations.erase with an authorizationId deletes this one, revoked or not, if it is the end user's"(
    test,
  ) {
    const { storage, peer, now } = test;
    const subject = newId();
    const [gone, revoked, kept] = [1, 2, 3].map(() => newAuthorization(now, { subject })) as [
      Authorization,
      Authorization,
      Authorization,
    ];
    const stranger = newAuthorization(now);
    await createAll(storage, [gone, revoked, kept, stranger], now);
    await storage.authorizations.revoke(revoked.authorizationId, now);
    for (const record of [gone, revoked]) {
      const { authorizationId } = record;
      const target = { subject, authorizationId };
      assertSame(await peer.authorizations.erase(target, now), 1, "the number of deleted ones");
      assertSame(await peer.authorizations.erase(target, now), 0, "the number at the second call");
      await assertGone(storage, { records: [record], now });
    }
    for (const authorizationId of [newId(), stranger.authorizationId]) {
      const count = await peer.authorizations.erase({ subject, authorizationId }, now);
      assertSame(count, 0, "the number of deleted ones of others");
    }
    await assertAll(storage, { records: [kept, stranger], now, revoked: false });
    const listed = await listAll(peer, { subject, now });
    assertTexts(
      listed.map(({ authorizationId }) => authorizationId),
      [kept.authorizationId],
      "the list",
    );
  },
  async "authorizations.erase can be called by many at once, leaves nothing to list or revoke, and lets the person begin anew"(
    test,
  ) {
    const { storage, peer, now } = test;
    const subject = newId();
    const [one, revoked] = [newAuthorization(now, { subject }), newAuthorization(now, { subject })];
    await createAll(storage, [one, revoked], now);
    await storage.authorizations.revoke(revoked.authorizationId, now);
    await race(test, { runners: 6, run: (store) => store.authorizations.erase({ subject }, now) });
    await assertGone(peer, { records: [one, revoked], now });
    await storage.authorizations.revoke(one.authorizationId, now);
    await assertGone(peer, { records: [one], now });
    assertSame((await listAll(storage, { subject, now })).length, 0, "the number of listed ones");
    assertSame(
      await storage.authorizations.revokeAll({ subject }, now),
      0,
      "the number that revokeAll finds",
    );
    const again = newAuthorization(now, { subject });
    await createAll(storage, [again], now);
    await assertAll(peer, { records: [again], now, revoked: false });
    assertSame((await listAll(peer, { subject, now })).length, 1, "the list after a new approval");
  },
};

const withdrawalRules: Rules = {
  async "consents.delete keeps a consent that was given after the withdrawal"({ storage, peer, now }) {
    const [before, after] = [newId(), newId()];
    const consent = newConsent(now, { endMarks: [newId(), after] });
    const { subject, clientId, apiId } = consent;
    const older = { ...consent, contextKey: "acme", endMarks: [before] };
    await storage.consents.save(consent, now);
    for (const selection of [{ subject }, { subject, clientId, apiId }]) {
      const withdrawal = { selection, exceptEndMark: after };
      assertSame(
        await peer.consents.delete(withdrawal, now),
        false,
        "consents.delete of one that it must keep",
      );
      await storage.consents.save(older, now);
      assertSame(await peer.consents.delete(withdrawal, now), true, "consents.delete of one beside it");
      assertNothing(await storage.consents.find(older, now), "given under an older end mark");
      assertRecord(await storage.consents.find(consent, now), consent, "given under this end mark");
    }
    await peer.consents.delete({ selection: { subject, clientId, apiId }, exceptEndMark: before }, now);
    assertNothing(await storage.consents.find(consent, now), "given under another end mark");
  },
  async "consents.delete does not delete what is saved at the same time under the mark of the withdrawal"(
    subject,
  ) {
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
};

const accessTokenRules: Rules = {
  async "accessTokens.isRevoked is true after accessTokens.revoke, for this id only, until the token expires 100 days later"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const { tokenId, expiresAt } = newAccessToken(now, { expiresAt: now + life });
    assertSame(await peer.accessTokens.isRevoked(tokenId, now), false, "before");
    await storage.accessTokens.revoke({ tokenId, expiresAt }, now);
    // asked before the peer revokes it too, which would hide a revocation that only this process knows
    assertSame(await peer.accessTokens.isRevoked(tokenId, now), true, "to the other process");
    await race(subject, {
      runners: 8,
      run: (store) => store.accessTokens.revoke({ tokenId, expiresAt }, now),
    });
    for (const at of [now, now + 61, expiresAt - 1])
      assertSame(await peer.accessTokens.isRevoked(tokenId, at), true, "until its end");
    assertSame(await peer.accessTokens.isRevoked(newId(), now), false, "another id");
    const otherCase = tokenId.toLowerCase();
    if (otherCase !== tokenId) assertSame(await peer.accessTokens.isRevoked(otherCase, now), false, "case");
  },
  async "accessTokens.revoke revokes no other token of the same authorization, and a revoked token can still be found"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const token = newAccessToken(now, { subject: newId(), authorizationId: newId() });
    const sibling = { ...token, digest: newDigest(), tokenId: newId() };
    await storage.accessTokens.create(token, now);
    await storage.accessTokens.create(sibling, now);
    await storage.accessTokens.revoke(token, now);
    assertSame(await peer.accessTokens.isRevoked(token.tokenId, now), true, "the token");
    assertSame(await peer.accessTokens.isRevoked(sibling.tokenId, now), false, "its sibling");
    assertRecord(await peer.accessTokens.find(token.digest, now), token, "accessTokens.find");
  },
  async "accessTokens.revoke also remembers a token that has expired at `now`, or by the clock of the store"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    // the caller's clock may be ahead, and the others still take the token
    const token = newAccessToken(now, { expiresAt: now + 120 });
    await storage.accessTokens.create(token, now);
    await storage.accessTokens.revoke(token, now + 300);
    assertSame(
      await peer.accessTokens.isRevoked(token.tokenId, now),
      true,
      "by a clock that is behind the caller",
    );
    // or behind that of the store, so the store's own time must not decide
    const past = newAccessToken(now, { expiresAt: now - 30 });
    await storage.accessTokens.revoke(past, now - 60);
    assertSame(await peer.accessTokens.isRevoked(past.tokenId, now - 31), true, "one second before its end");
  },
};

/** Of a thousand keys, some have a mark, the last one too. */
const isSaved = (place: number): boolean => place % 37 === 0;

const endMarkRules: Rules = {
  async "endMarks.find returns the marks of several keys in the order of the keys"({ storage, peer, now }) {
    const [first, second] = [newEndMark(now), newEndMark(now)];
    const ended = newEndMark(now, { expiresAt: now + 60 });
    const missing = newEndMark(now);
    for (const endMark of [second, ended, first]) await storage.endMarks.save(endMark, now);
    const keys = [missing, first, ended, second, first, missing].map(({ key }) => key);
    const marks = [undefined, first.mark, undefined, second.mark, first.mark, undefined];
    assertTexts(await peer.endMarks.find(keys, now + 60), marks, "endMarks.find");
    const other = [second.mark, first.mark];
    assertTexts(await peer.endMarks.find([second.key, first.key], now), other, "in another order");
    assertTexts(await peer.endMarks.find([], now), [], "endMarks.find of no keys");
  },
  async "endMarks.find shows a new mark in every process at once, also where it has found none before"(
    subject,
  ) {
    const { storage, peer, now } = subject;
    const { key, mark, expiresAt } = newEndMark(now);
    for (const store of [peer, storage])
      assertTexts(await store.endMarks.find([key], now), [undefined], "before");
    await storage.endMarks.save({ key, mark, expiresAt }, now);
    for (const store of [peer, storage])
      assertTexts(await store.endMarks.find([key], now), [mark], "endMarks.find");
  },
  async "endMarks.find keeps all marks of one owner apart, and answers for any number of keys"(subject) {
    const { storage, peer, now } = subject;
    const owner = newId();
    const asked = Array.from({ length: 1_000 }, () => newEndMark(now, { key: newEndKey(owner) }));
    for (const [place, endMark] of asked.entries())
      if (isSaved(place)) await storage.endMarks.save(endMark, now);
    const keys = asked.map(({ key }) => key);
    const marks = asked.map(({ mark }, place) => (isSaved(place) ? mark : undefined));
    assertTexts(await peer.endMarks.find(keys, now), marks, "endMarks.find");
  },
};

/** The rules of ends that only one kind of record has. @rfc 7009 §2.1, 6749 §10.2 */
export const endingRules: Rules = {
  ...revocationRules,
  ...erasureRules,
  ...withdrawalRules,
  ...accessTokenRules,
  ...endMarkRules,
};
