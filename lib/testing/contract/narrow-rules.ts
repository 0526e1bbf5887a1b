/** Taking back a part of authorizations: what stays, and that nothing comes back. RFC 6749 §1.5, §6. */
import type { Authorization } from "../../protocol/authorization";
import { newAuthorization, newId } from "./records";
import { assertAll, assertRecord, assertSame, createAll, listAll, race, raceSizes, type Rules } from "./rule";
import { storedUses } from "./single-use-rules";

const scopesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `orders:${index}`);

/** The rules of `narrowAll`. */
export const narrowRules: Rules = {
  async "authorizations.narrowAll keeps what was approved at first, takes more away each time, and revokes what has nothing left"(
    test,
  ) {
    const { storage, peer, now } = test;
    const grantedScopes = ["orders:write", "orders:read", "orders:list"];
    const record = newAuthorization(now, { grantedScopes });
    const { subject, authorizationId } = record;
    const without = newAuthorization(now, { subject, grantedScopes: [] });
    const revoked = newAuthorization(now, { subject, grantedScopes });
    await createAll(storage, [record, without, revoked], now);
    await storage.authorizations.revoke(revoked.authorizationId, now);
    const use = storedUses[0].begin(now, { authorizationId });
    await use.store(storage, now);
    await use.use(storage, now + 5);
    for (const [scopes, left, count] of [
      [grantedScopes, grantedScopes, 0],
      [["orders:list", "orders:read", "reports"], ["orders:read", "orders:list"], 1],
      [["orders:write", "orders:read"], ["orders:read"], 1],
      [["orders:write", "orders:read"], ["orders:read"], 0],
    ] as const) {
      const changed = await storage.authorizations.narrowAll({ selection: { subject }, scopes }, now);
      assertSame(changed, count, "the number of changed ones");
      const isWhole = left === grantedScopes;
      const expected = {
        ...record,
        grantedScopes: left,
        ...(!isWhole && { approvedScopes: grantedScopes }),
      };
      assertRecord(await peer.authorizations.find(authorizationId, now), expected, "authorizations.find");
      const listed = (await listAll(peer, { subject, now })).find(
        (one) => one.authorizationId === authorizationId,
      );
      assertRecord(listed, { ...expected, lastUsedAt: now + 5 }, "authorizations.list");
    }
    const selection = { subject, clientId: record.clientId, apiId: record.apiId };
    await peer.authorizations.narrowAll({ selection, scopes: ["orders:write"] }, now);
    const ended = { ...record, grantedScopes: [], approvedScopes: grantedScopes };
    await assertAll(storage, { records: [ended], now, revoked: true });
    await assertAll(storage, { records: [without], now, revoked: false });
    await assertAll(storage, { records: [revoked], now, revoked: true });
  },
  async "simultaneous calls of authorizations.narrowAll each take away their part"(test) {
    const { storage, peer, now } = test;
    for (const runners of raceSizes) {
      const all = scopesOf(runners + 1);
      const key = { subject: newId(), clientId: newId(), apiId: "orders" };
      const records = [1, 2].map(() => newAuthorization(now, { ...key, grantedScopes: all }));
      await createAll(storage, records, now);
      await race(test, {
        runners,
        run: async ({ authorizations }, runner) => {
          const scopes = all.filter((_, place) => place !== runner);
          await authorizations.narrowAll({ selection: key, scopes }, now);
        },
      });
      const narrow = (record: Authorization): Authorization => ({
        ...record,
        grantedScopes: all.slice(-1),
        approvedScopes: all,
      });
      await assertAll(peer, { records: records.map(narrow), now, revoked: false });
    }
  },
  async "authorizations.narrowAll does not undo a simultaneous revocation, and is not undone by a use"(test) {
    const { storage, peer, now } = test;
    for (let round = 0; round < 10; round += 1) {
      const record = newAuthorization(now);
      const { authorizationId, subject, grantedScopes } = record;
      await createAll(storage, [record], now);
      const use = storedUses[0].begin(now, { authorizationId });
      await use.store(storage, now);
      await race(test, {
        runners: 6,
        run: async (store, runner) => {
          const turn = (runner + round) % 6;
          if (turn === 0 && round % 2 === 0) await store.authorizations.revoke(authorizationId, now);
          else if (turn === 4) await store.authorizations.noteUse(authorizationId, now);
          else if (turn % 2 === 0) await use.use(store, now);
          else await store.authorizations.narrowAll({ selection: { subject }, scopes: ["orders:read"] }, now);
        },
      });
      const found = await peer.authorizations.find(authorizationId, now);
      const isNarrow = found?.approvedScopes !== undefined;
      // what was revoked first is not looked at
      const narrow = { grantedScopes: ["orders:read"], approvedScopes: grantedScopes };
      const expected = round % 2 === 0 && !isNarrow ? record : { ...record, ...narrow };
      await assertAll(peer, { records: [expected], now, revoked: round % 2 === 0 });
    }
  },
};
