/** The contract of the limit of living authorizations: what nobody redeems never ends what is in use, nor the other way round. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { maxAuthorizations, type Storage } from "../port";
import { newAuthorization, newCode, newDigest, newId, newRefreshToken, otherIds } from "./records";
import { assertSame, race, type Rule, type RuleSubject } from "./rule";
import { assertAll, createSeveral, listAll } from "./stored-authorizations";

interface Kind {
  readonly key: Partial<Authorization>;
  readonly now: EpochSeconds;
}

/** As many as may wait for their clients. Each is a second younger than the one before it, and ends sooner: an end does not say an age. */
function asManyAsMayWait({ key, now }: Kind): readonly Authorization[] {
  return Array.from({ length: maxAuthorizations }, (_, index) =>
    newAuthorization(now, { ...key, createdAt: now - 500 + index, expiresAt: now + 2_000 - index }),
  );
}

/** Marks this one as used, by a code. */
async function use(
  { authorizationCodes }: Storage,
  { authorization: { authorizationId }, now }: { authorization: Authorization; now: EpochSeconds },
): Promise<void> {
  const code = newCode(now, { authorizationId });
  await authorizationCodes.create(code, now);
  assertSame(await authorizationCodes.consume(code, now), "consumed", "a code of a living authorization");
}

/** Marks these as used, each a second later than the one before it. */
async function useAll(
  { storage }: RuleSubject,
  { records, from }: { records: readonly Authorization[]; from: EpochSeconds },
): Promise<void> {
  for (const [index, authorization] of records.entries())
    await use(storage, { authorization, now: from + index });
}

/** Rotates a refresh token of this one. */
async function refresh(
  { refreshTokens }: Storage,
  { authorization: { authorizationId }, now }: { authorization: Authorization; now: EpochSeconds },
): Promise<void> {
  const from = newRefreshToken(now, { authorizationId });
  await refreshTokens.create(from, now);
  await refreshTokens.rotate({ from, to: { ...from, digest: newDigest() } }, now);
}

/** The rules of `maxAuthorizations`. */
export const authorizationLimitRules: readonly Rule[] = [
  {
    name: "authorizations.create revokes the oldest one never used when there is one too many, and only among its own",
    async check(test) {
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
  },
  {
    name: "authorizations.create returns to the limit after simultaneous calls",
    async check(test) {
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
  },
  {
    name: "authorizations.create leaves what a slower clock calls living where revokeAll finds it",
    async check({ storage, peer, now }) {
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
  },
  {
    name: "authorizations.create counts what is in use apart from what was never used, and ends those used longest ago",
    async check(test) {
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
      for (const authorization of used.slice(-1)) await refresh(peer, { authorization, now: now + 200 });
      await useAll(test, { records: flood, from: now + 200 });
      const next = newAuthorization(now, key);
      await peer.authorizations.create(next, now);
      await assertAll(storage, { records: used.slice(-4, -1), now, revoked: true });
      const others = [...used.slice(0, -4), ...used.slice(-1), ...waiting.slice(3), ...flood, next];
      await assertAll(storage, { records: others, now, revoked: false });
    },
  },
  {
    name: "authorizations.create leaves each of 16 simultaneous sign-ins until its code is consumed, however many are in use",
    async check(test) {
      const { storage, now } = test;
      const { subject, clientId } = newAuthorization(now);
      const key = { subject, clientId };
      const used = asManyAsMayWait({ key, now });
      await createSeveral(test, used);
      for (const authorization of used) await use(storage, { authorization, now: now - 30 });
      for (let round = 0; round < 3; round += 1) {
        const signIns = Array.from({ length: 16 }, () => newAuthorization(now, key));
        const run = async (store: Storage, runner: number): Promise<void> => {
          const authorization = signIns[runner];
          if (authorization) await store.authorizations.create(authorization, now);
        };
        await race(test, { runners: 16, run });
        await assertAll(storage, { records: signIns, now, revoked: false });
        await useAll(test, { records: signIns, from: now + round });
      }
    },
  },
];
