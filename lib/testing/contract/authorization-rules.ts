/** What holds for the authorizations of an end user alone: their list, their last use, and how many there may be. RFC 6749 §6. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { maxAuthorizations, type Storage } from "../../storage/port";
import { spoil } from "./kind-rules";
import { brokenText, newAuthorization, newId, newSubject, otherIds, otherTexts } from "./records";
import {
  assertAll,
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
import { type Single, storedUses } from "./single-use-rules";

const idOf = ({ authorizationId }: Authorization): string => authorizationId;

/** Authorizations of one end user that end so many seconds from now. */
function endingAfter(
  seconds: readonly number[],
  { subject, now }: { subject: string; now: EpochSeconds },
): readonly Authorization[] {
  return seconds.map((after) => newAuthorization(now, { subject, expiresAt: now + after }));
}

/** Goes through all pages, and fails unless each but the last is full and together they hold each of these once. */
async function checkPages(
  { peer, now }: RuleSubject,
  { records, limit }: { records: readonly Authorization[]; limit: number },
): Promise<void> {
  const subject = records[0]?.subject ?? "";
  const left = new Map(records.map((record) => [record.authorizationId, record]));
  let after: Authorization | undefined;
  for (;;) {
    const full = Math.min(limit, left.size);
    const page = await peer.authorizations.list(
      subject,
      { limit, ...(after && { after: idOf(after) }) },
      now,
    );
    assertSame(page.length, full, `the number of authorizations in a page of ${limit}`);
    for (const listed of page) {
      assertRecord(left.get(idOf(listed)), listed, "listed twice, or changed");
      left.delete(idOf(listed));
      if (after)
        assertSame(after.expiresAt >= listed.expiresAt, true, "the one that expires last comes first");
      after = listed;
    }
    if (page.length < limit) return;
  }
}

/** The rules of `authorizations.list`. */
const listRules: Rules = {
  async "authorizations.list returns the living authorizations of one end user, the one that expires last first"(
    test,
  ) {
    const { storage, peer, now } = test;
    const subject = newSubject();
    const later = now + 60;
    const own = [
      newAuthorization(now, { subject, expiresAt: now + 500 }),
      newAuthorization(now, {
        subject,
        expiresAt: now + 9_000_000,
        context: { key: "acme", data: { deep: [brokenText] } },
      }),
      newAuthorization(now, { subject, expiresAt: now + 61, apiId: "reports" }),
      newAuthorization(now, { subject, expiresAt: now + 70_000, amr: ["pwd"], endMarks: [newId()] }),
    ];
    const ended = newAuthorization(now, { subject, expiresAt: later });
    const revoked = newAuthorization(now, { subject, expiresAt: now + 800 });
    const others = otherTexts(subject).map((other) => newAuthorization(now, { subject: other }));
    await createAll(storage, [...own, ended, revoked, ...others, newAuthorization(now)], now);
    await storage.authorizations.revoke(revoked.authorizationId, now);
    const expected = own.toSorted((a, b) => b.expiresAt - a.expiresAt);
    for (const message of ["authorizations.list", "the list after changing the one that was returned"]) {
      const listed = await peer.authorizations.list(subject, { limit: 50 }, later);
      assertTexts(listed.map(idOf), expected.map(idOf), `the order of ${message}`);
      assertRecord(listed, expected, message);
      spoil(listed);
    }
    assertRecord(await peer.authorizations.list(newId(), { limit: 50 }, now), [], "the list of a stranger");
    // the caller's clock may be behind that of the store
    const past = newAuthorization(now, { expiresAt: now - 30 });
    await createAll(storage, [past], now - 60);
    const earlier = await peer.authorizations.list(past.subject, { limit: 50 }, now - 31);
    assertTexts(earlier.map(idOf), [idOf(past)], "the list by a clock that is behind");
  },
  async "authorizations.list has pages that follow each other, also where several expire at the same time"(
    test,
  ) {
    const { storage, now } = test;
    for (const seconds of [
      [100, 300, 200, 300, 300, 300, 400],
      [100, 300, 200, 100, 400, 100],
    ]) {
      const records = endingAfter(seconds, { subject: newId(), now });
      await createAll(storage, records, now);
      for (const limit of [1, 2, 3, 4, 50]) await checkPages(test, { records, limit });
    }
  },
  async "authorizations.list continues behind one that was revoked, and has nothing behind one that is gone"(
    test,
  ) {
    const { storage, peer, now } = test;
    const subject = newId();
    const [last, middle, first] = endingAfter([300, 200, 100], { subject, now });
    const [stranger] = endingAfter([400], { subject: newId(), now });
    if (!last || !middle || !first || !stranger) return;
    await createAll(storage, [first, last, middle, stranger], now);
    await storage.authorizations.revoke(middle.authorizationId, now);
    const behind = async (after: string, at: EpochSeconds): Promise<readonly string[]> =>
      (await peer.authorizations.list(subject, { after, limit: 50 }, at)).map(idOf);
    assertTexts(await behind(idOf(last), now), [idOf(first)], "behind a living one");
    assertTexts(await behind(idOf(middle), now), [idOf(first)], "behind a revoked one");
    assertTexts(await behind(idOf(first), now), [], "behind the last one");
    assertTexts(await behind(newId(), now), [], "behind an unknown one");
    assertTexts(await behind(idOf(stranger), now), [], "behind one of another end user");
    assertTexts(await behind(idOf(middle), now + 200), [], "behind one that has expired");
    await storage.authorizations.erase({ subject, authorizationId: idOf(middle) }, now);
    assertTexts(await behind(idOf(middle), now), [], "behind one that was erased");
  },
  async "authorizations.list no longer has those that revokeAll has revoked"({ storage, peer, now }) {
    const subject = newId();
    const records = endingAfter([100, 200, 300], { subject, now });
    await createAll(storage, records, now);
    for (const [place, { clientId, apiId }] of records.entries()) {
      await storage.authorizations.revokeAll({ subject, clientId, apiId }, now);
      const left = (await listAll(peer, { subject, now })).map(idOf);
      assertTexts(
        left,
        records
          .slice(place + 1)
          .map(idOf)
          .toReversed(),
        "after revokeAll for a client",
      );
    }
  },
};

/** Stores a code and a refresh token of this authorization. */
export async function usesOf(
  storage: Storage,
  { authorization: { authorizationId }, now }: { authorization: Authorization; now: EpochSeconds },
): Promise<readonly [Single, Single]> {
  const [code, token] = storedUses;
  const uses = [code.begin(now, { authorizationId }), token.begin(now, { authorizationId })] as const;
  for (const use of uses) await use.store(storage, now);
  return uses;
}

/** Fails unless this is the last use of the authorization in its list, and nothing else has changed. */
export async function assertLastUse(
  { storage, peer, now }: RuleSubject,
  { record, lastUsedAt }: { record: Authorization; lastUsedAt: EpochSeconds | undefined },
): Promise<void> {
  const listed = await peer.authorizations.list(record.subject, { limit: 50 }, now);
  const own = listed.find(({ authorizationId }) => authorizationId === record.authorizationId);
  assertRecord(own, { ...record, lastUsedAt }, "authorizations.list");
  const found = await storage.authorizations.find(record.authorizationId, now);
  assertRecord(found, record, "authorizations.find, which is without lastUsedAt");
}

/** The rules of `lastUsedAt`. @rfc 6749 §6 */
const lastUseRules: Rules = {
  async "consuming a code and rotating a refresh token set the authorization's lastUsedAt, and a lost call changes nothing"(
    test,
  ) {
    const { storage, peer, now } = test;
    const record = newAuthorization(now);
    const other = newAuthorization(now, { subject: record.subject, clientId: record.clientId });
    await createAll(storage, [record, other], now);
    const uses = await usesOf(storage, { authorization: record, now });
    let lastUsedAt: EpochSeconds | undefined;
    for (const [place, use] of uses.entries()) {
      await assertLastUse(test, { record, lastUsedAt });
      lastUsedAt = now + 5 + 10 * place;
      await use.use(peer, lastUsedAt);
      await assertLastUse(test, { record, lastUsedAt });
      await use.use(storage, lastUsedAt + 2);
      const unknown = storedUses[place]?.begin(now, { authorizationId: record.authorizationId });
      await unknown?.use(storage, lastUsedAt + 3);
      await assertLastUse(test, { record, lastUsedAt });
    }
    await assertLastUse(test, { record: other, lastUsedAt: undefined });
  },
  async "of simultaneous uses of one code or refresh token, the winner sets lastUsedAt"(test) {
    const { storage, now } = test;
    for (const kind of [0, 1] as const) {
      const record = newAuthorization(now);
      await createAll(storage, [record], now);
      const use = (await usesOf(storage, { authorization: record, now }))[kind];
      const outcomes = await race(test, {
        runners: 8,
        run: (store, runner) => use.use(store, now + runner),
      });
      const winner = outcomes.indexOf(true);
      await assertLastUse(test, { record, lastUsedAt: now + winner });
    }
  },
  async "a use does not undo a simultaneous revocation"(test) {
    const { storage, peer, now } = test;
    const key = { subject: newId(), clientId: newId(), apiId: "orders" };
    for (let round = 0; round < 10; round += 1) {
      const record = newAuthorization(now, key);
      await createAll(storage, [record], now);
      const uses = await usesOf(storage, { authorization: record, now });
      await race(test, {
        runners: 7,
        run: async (store, runner) => {
          const turn = (runner + round) % 7;
          const use = turn < 4 ? uses[turn % 2] : undefined;
          if (use) await use.use(store, now);
          else if (turn === 6) await store.authorizations.noteUse(record.authorizationId, now + 1);
          else if (turn === 4) await store.authorizations.revoke(record.authorizationId, now);
          else await store.authorizations.revokeAll(key, now);
        },
      });
      await assertAll(peer, { records: [record], now, revoked: true });
    }
  },
  async "a use of what was stored without its authorization, or whose authorization was erased, creates none"(
    test,
  ) {
    const { storage, peer, now } = test;
    const erased = newAuthorization(now);
    const missing = newAuthorization(now);
    await createAll(storage, [erased], now);
    for (const record of [erased, missing]) {
      const { authorizationId, subject } = record;
      const uses = await usesOf(storage, { authorization: record, now });
      await storage.authorizations.erase({ subject }, now);
      for (const use of uses) await use.use(storage, now);
      assertNothing(await peer.authorizations.find(authorizationId, now), "authorizations.find");
      assertSame((await listAll(peer, { subject, now })).length, 0, "authorizations.list");
    }
  },
};

/** As many as may wait for their clients. Each is a second younger than the one before it, and ends sooner: an end does not say an age. */
function asManyAsMayWait(call: { key: Partial<Authorization>; now: EpochSeconds }): readonly Authorization[] {
  const { key, now } = call;
  return Array.from({ length: maxAuthorizations }, (_, index) =>
    newAuthorization(now, { ...key, createdAt: now - 500 + index, expiresAt: now + 2_000 - index }),
  );
}

/** Uses a code of each, or a refresh token, one a second later than the one before it. */
async function useAll(
  { storage }: RuleSubject,
  { records, from, by = 0 }: { records: readonly Authorization[]; from: EpochSeconds; by?: 0 | 1 },
): Promise<void> {
  for (const [index, { authorizationId }] of records.entries()) {
    const single = storedUses[by].begin(from, { authorizationId });
    await single.store(storage, from + index);
    const isUsed = await single.use(storage, from + index);
    assertSame(isUsed, true, "a code or refresh token of a living authorization is used");
  }
}

/** The rules of `maxAuthorizations`. */
const limitRules: Rules = {
  async "authorizations.create revokes the oldest one never used when there is one too many, and only among its own"(
    test,
  ) {
    const { storage, peer, now } = test;
    const { subject, clientId, apiId } = newAuthorization(now);
    const key = { subject, clientId, apiId, context: { key: "acme" } };
    const own = asManyAsMayWait({ key, now });
    const old = { createdAt: now - 900, expiresAt: now + 600 };
    const others = [
      newAuthorization(now, { ...key, ...old, subject: newId() }),
      newAuthorization(now, { ...key, ...old, clientId: newId() }),
      newAuthorization(now, { ...key, ...old, apiId: "reports" }),
      ...otherIds(clientId).map((other) => newAuthorization(now, { ...key, ...old, clientId: other })),
      ...otherIds(apiId).map((other) => newAuthorization(now, { ...key, ...old, apiId: other })),
      newAuthorization(now, { ...key, ...old, context: { key: "acme2" } }),
      newAuthorization(now, { subject, clientId, apiId, ...old }),
    ];
    const revoked = newAuthorization(now, { ...key, ...old });
    const expired = newAuthorization(now, { ...key, ...old, expiresAt: now - 30 });
    await peer.authorizations.create(expired, now - 60);
    await peer.authorizations.create(revoked, now);
    await peer.authorizations.revoke(revoked.authorizationId, now);
    await createSeveral(test, [...own, ...others]);
    await assertAll(peer, { records: [...own, ...others], now, revoked: false });
    // it is given to somebody who waits for it, so it stays even if a clock that is behind calls it the oldest
    const next = newAuthorization(now, { ...key, ...old });
    await storage.authorizations.create(next, now);
    await assertAll(peer, { records: own.slice(0, 1), now, revoked: true });
    await assertAll(peer, { records: [...own.slice(1), next, ...others], now, revoked: false });
    const last = newAuthorization(now, key);
    await peer.authorizations.create(last, now);
    await assertAll(storage, { records: [next], now, revoked: true });
    await assertAll(storage, { records: [...own.slice(1), last, ...others], now, revoked: false });
  },
  async "authorizations.create returns to the limit after simultaneous calls"(test) {
    const { storage, peer, now } = test;
    const { subject, clientId } = newAuthorization(now);
    const key = { subject, clientId };
    await createSeveral(test, asManyAsMayWait({ key, now }));
    const more = Array.from({ length: 16 }, () => newAuthorization(now, key));
    await createSeveral(test, more);
    const last = newAuthorization(now, key);
    await storage.authorizations.create(last, now);
    const listed = await listAll(peer, { subject, now });
    assertSame(listed.length, maxAuthorizations, "the number of living ones");
    await assertAll(peer, { records: [...more, last], now, revoked: false });
  },
  async "authorizations.create leaves what a slower clock calls living where revokeAll finds it"(test) {
    const { storage, peer, now } = test;
    const soon = newAuthorization(now, { expiresAt: now + 200 });
    const { subject, clientId, apiId } = soon;
    const key = { subject, clientId, apiId };
    await storage.authorizations.create(soon, now);
    // another process calls it expired, and has too many in two contexts
    const ahead = now + 240;
    for (let count = 0; count <= maxAuthorizations; count += 1) {
      const context = { key: `context ${count % 2}` };
      const record = newAuthorization(ahead, { ...key, context });
      await peer.authorizations.create(record, ahead);
    }
    await assertAll(storage, { records: [soon], now, revoked: false });
    assertSame(
      await storage.authorizations.revokeAll(key, now),
      maxAuthorizations + 2,
      "the number of revoked ones",
    );
    await assertAll(storage, { records: [soon], now, revoked: true });
  },
  async "authorizations.create counts what is in use apart from what was never used, and ends those used longest ago"(
    test,
  ) {
    const { storage, peer, now } = test;
    const { subject, clientId } = newAuthorization(now);
    const key = { subject, clientId };
    const used = asManyAsMayWait({ key, now });
    await createSeveral(test, used);
    await useAll(test, { records: used.toReversed(), from: now });
    const waiting = asManyAsMayWait({ key, now });
    await createSeveral(test, waiting);
    await assertAll(peer, { records: [...used, ...waiting], now, revoked: false });
    const flood = [1, 2, 3].map(() => newAuthorization(now, key));
    for (const record of flood) await storage.authorizations.create(record, now);
    await assertAll(peer, { records: [...used, ...waiting.slice(3), ...flood], now, revoked: false });
    await assertAll(peer, { records: waiting.slice(0, 3), now, revoked: true });
    // one is used again, three for the first time
    await useAll(test, { records: used.slice(-1), from: now + 200, by: 1 });
    await useAll(test, { records: flood, from: now + 200 });
    const next = newAuthorization(now, key);
    await peer.authorizations.create(next, now);
    await assertAll(storage, { records: used.slice(-4, -1), now, revoked: true });
    const others = [...used.slice(0, -4), ...used.slice(-1), ...waiting.slice(3), ...flood, next];
    await assertAll(storage, { records: others, now, revoked: false });
  },
  async "authorizations.create leaves each of 16 simultaneous sign-ins until its code is consumed, however many are in use"(
    test,
  ) {
    const { storage, now } = test;
    const { subject, clientId } = newAuthorization(now);
    const key = { subject, clientId };
    const used = asManyAsMayWait({ key, now });
    await createSeveral(test, used);
    await useAll(test, { records: used, from: now - 150 });
    for (let round = 0; round < 3; round += 1) {
      const signIns = Array.from({ length: 16 }, () => newAuthorization(now, key));
      const run = (store: Storage, runner: number): Promise<void> =>
        createAll(store, signIns.slice(runner, runner + 1), now);
      await race(test, { runners: 16, run });
      await assertAll(storage, { records: signIns, now, revoked: false });
      await useAll(test, { records: signIns, from: now + round });
    }
  },
};

/** The rules of the authorizations of an end user. @rfc 6749 §6 */
export const authorizationRules: Rules = { ...listRules, ...lastUseRules, ...limitRules };
