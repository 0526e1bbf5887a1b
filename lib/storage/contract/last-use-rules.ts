/** The contract of `lastUsedAt`: the step that uses a code or refresh token records it, and disturbs nothing else. RFC 6749 §6. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";
import { newAuthorization, newCode, newDigest, newId, newRefreshToken } from "./records";
import { assertNothing, assertRecord, assertSame, race, type Rule, type RuleSubject } from "./rule";
import { assertAll, createAll } from "./stored-authorizations";

/** Uses something of this authorization; true for the one call that wins. */
type Use = (store: Storage, now: EpochSeconds) => Promise<boolean>;

/** Stores a code and a refresh token of this authorization, and returns what uses each. */
async function usesOf(
  { authorizationCodes, refreshTokens }: Storage,
  { authorization: { authorizationId }, now }: { authorization: Authorization; now: EpochSeconds },
): Promise<readonly [Use, Use]> {
  const code = newCode(now, { authorizationId });
  const from = newRefreshToken(now, { authorizationId });
  await authorizationCodes.create(code, now);
  await refreshTokens.create(from, now);
  return [
    async (store, at) => (await store.authorizationCodes.consume(code, at)) === "consumed",
    async (store, at) => {
      const to = { ...from, digest: newDigest() };
      return (await store.refreshTokens.rotate({ from, to }, at)) === "rotated";
    },
  ];
}

async function assertLastUse(
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
export const lastUseRules: readonly Rule[] = [
  {
    name: "consuming a code and rotating a refresh token set the authorization's lastUsedAt, and a lost call changes nothing",
    async check(test) {
      const { storage, peer, now } = test;
      const record = newAuthorization(now);
      const other = newAuthorization(now, { subject: record.subject, clientId: record.clientId });
      await createAll(storage, [record, other], now);
      const [consume, rotate] = await usesOf(storage, { authorization: record, now });
      await assertLastUse(test, { record, lastUsedAt: undefined });
      assertSame(await consume(peer, now + 5), true, "consume");
      await assertLastUse(test, { record, lastUsedAt: now + 5 });
      assertSame(await consume(peer, now + 7), false, "consume, second call");
      await assertLastUse(test, { record, lastUsedAt: now + 5 });
      assertSame(await rotate(storage, now + 9), true, "rotate");
      await assertLastUse(test, { record, lastUsedAt: now + 9 });
      assertSame(await rotate(peer, now + 11), false, "rotate, second call");
      const unknown = newRefreshToken(now, { authorizationId: record.authorizationId });
      await storage.refreshTokens.rotate(
        { from: unknown, to: { ...unknown, digest: newDigest() } },
        now + 13,
      );
      await storage.authorizationCodes.consume(unknown, now + 13);
      await assertLastUse(test, { record, lastUsedAt: now + 9 });
      await assertLastUse(test, { record: other, lastUsedAt: undefined });
    },
  },
  {
    name: "of simultaneous uses of one code or refresh token, the winner sets lastUsedAt",
    async check(test) {
      const { storage, now } = test;
      for (const kind of [0, 1] as const) {
        const record = newAuthorization(now);
        await createAll(storage, [record], now);
        const use = (await usesOf(storage, { authorization: record, now }))[kind];
        const won = await race(test, { runners: 8, run: (store, runner) => use(store, now + runner) });
        await assertLastUse(test, { record, lastUsedAt: now + won.indexOf(true) });
      }
    },
  },
  {
    name: "a use does not undo a simultaneous revocation",
    async check(test) {
      const { storage, peer, now } = test;
      const key = { subject: newId(), clientId: newId(), apiId: "orders" };
      for (let round = 0; round < 10; round += 1) {
        const record = newAuthorization(now, key);
        await createAll(storage, [record], now);
        const uses = await usesOf(storage, { authorization: record, now });
        await race(test, {
          runners: 6,
          run: async (store, runner) => {
            const turn = (runner + round) % 6;
            const use = turn < 4 ? uses[turn % 2] : undefined;
            if (use) await use(store, now);
            else if (turn === 4) await store.authorizations.revoke(record.authorizationId, now);
            else await store.authorizations.revokeAll(key, now);
          },
        });
        await assertAll(peer, { records: [record], now, revoked: true });
      }
    },
  },
  {
    name: "a use of what was stored without its authorization, or whose authorization was erased, creates none",
    async check({ storage, peer, now }) {
      const erased = newAuthorization(now);
      const missing = newAuthorization(now);
      await createAll(storage, [erased], now);
      for (const record of [erased, missing]) {
        const { authorizationId, subject } = record;
        const uses = await usesOf(storage, { authorization: record, now });
        await storage.authorizations.erase({ subject }, now);
        for (const use of uses) await use(storage, now);
        assertNothing(await peer.authorizations.find(authorizationId, now), "authorizations.find");
        assertSame(
          (await peer.authorizations.list(subject, { limit: 1 }, now)).length,
          0,
          "authorizations.list",
        );
      }
    },
  },
];
