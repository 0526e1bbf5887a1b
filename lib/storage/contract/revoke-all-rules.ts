/** The contract of ending many authorizations at once: all that were stored before, and no others. RFC 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { AuthorizationSelection } from "../port";
import { keysJoinedAlike, newAuthorization, newId, newSubject, ofKey, otherIds, otherTexts } from "./records";
import { assertSame, race, type Rule, type RuleSubject } from "./rule";
import { assertAll, createAll } from "./stored-authorizations";

/** Revokes a selection, and looks at what belongs to it, at the number that is returned, and at what must be left alone. */
async function checkSelection(
  { storage, peer, now }: RuleSubject,
  {
    selection,
    gone,
    kept,
  }: { selection: AuthorizationSelection; gone: readonly Authorization[]; kept: readonly Authorization[] },
): Promise<void> {
  await createAll(storage, [...gone, ...kept], now);
  const count = await peer.authorizations.revokeAll(selection, now);
  assertSame(count, gone.length, "the number of revoked ones");
  const again = await peer.authorizations.revokeAll(selection, now);
  assertSame(again, 0, "the number of revoked ones, second call");
  await assertAll(storage, { records: gone, now, revoked: true });
  await assertAll(storage, { records: kept, now, revoked: false });
}

/** Creates authorizations of one end user at both ends of the store, and revokes all of them again and again meanwhile. */
async function revokeDuringCreation(subject: RuleSubject, key: Partial<Authorization>): Promise<void> {
  const { now } = subject;
  const created: Authorization[] = [];
  const { subject: endUser = "", clientId, apiId } = key;
  const selection = clientId === undefined || apiId === undefined ? {} : { clientId, apiId };
  await race(subject, {
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
        await store.authorizations.revokeAll({ subject: endUser, ...selection }, now);
        await assertAll(store, { records: before, now, revoked: true });
      }
    },
  });
}

/** The rules of `authorizations.revokeAll`. @rfc 7009 §2.1 */
export const revokeAllRules: readonly Rule[] = [
  {
    name: "authorizations.revokeAll revokes all authorizations of one end user for one client at one API, and no others",
    async check(test) {
      const { storage, now } = test;
      const first = newAuthorization(now, { subject: newSubject() });
      const { subject, clientId, apiId } = first;
      const key = { subject, clientId, apiId };
      await checkSelection(test, {
        selection: key,
        gone: [
          first,
          newAuthorization(now, key),
          newAuthorization(now, { ...key, authMethodId: "otp" }),
          newAuthorization(now, { ...key, context: { key: "acme" } }),
        ],
        kept: [
          ...[newId(), ...otherTexts(subject)].map((other) =>
            newAuthorization(now, { ...key, subject: other }),
          ),
          newAuthorization(now, { ...key, clientId: newId() }),
          newAuthorization(now, { ...key, apiId: "reports" }),
          ...otherIds(clientId).map((other) => newAuthorization(now, { ...key, clientId: other })),
          ...otherIds(apiId).map((other) => newAuthorization(now, { ...key, apiId: other })),
          newAuthorization(now, { ...key, subject: clientId, clientId: subject }),
        ],
      });
      for (const [joined, other] of keysJoinedAlike()) {
        const records = [newAuthorization(now, ofKey(other))];
        await createAll(storage, records, now);
        await storage.authorizations.revokeAll({ ...joined, contextKey: joined.contextKey ?? "" }, now);
        await assertAll(storage, { records, now, revoked: false });
      }
    },
  },
  {
    name: "authorizations.revokeAll with a contextKey revokes the authorizations of this context, and no others",
    async check(test) {
      const { storage, now } = test;
      const { subject, clientId, apiId } = newAuthorization(now);
      const key = { subject, clientId, apiId };
      const inContext = (contextKey: string): Authorization =>
        newAuthorization(now, { ...key, context: { key: contextKey, data: { n: 1 } } });
      const plain = [newAuthorization(now, key), newAuthorization(now, key)];
      const others = otherTexts("acme").map(inContext);
      await checkSelection(test, {
        selection: { ...key, contextKey: "acme" },
        gone: [inContext("acme"), newAuthorization(now, { ...key, context: { key: "acme" } })],
        kept: [
          ...plain,
          ...others,
          newAuthorization(now, { ...key, apiId: "reports", context: { key: "acme" } }),
        ],
      });
      await checkSelection(test, { selection: { ...key, contextKey: "another" }, gone: [], kept: [] });
      const unnamed = await storage.authorizations.revokeAll({ ...key, contextKey: "" }, now);
      assertSame(unnamed, plain.length, "the number of those without a context");
      await assertAll(storage, { records: plain, now, revoked: true });
      await assertAll(storage, { records: others, now, revoked: false });
    },
  },
  {
    name: "authorizations.revokeAll with a subject alone revokes all authorizations of this end user, and of nobody else",
    async check(test) {
      const { now } = test;
      const first = newAuthorization(now, { subject: newSubject() });
      const { subject, clientId } = first;
      const own = { subject, clientId };
      await checkSelection(test, {
        selection: { subject },
        gone: [
          first,
          newAuthorization(now, { ...own, context: { key: "acme" } }),
          newAuthorization(now, { ...own, apiId: "reports" }),
          newAuthorization(now, { subject, apiId: "reports", authMethodId: "otp" }),
        ],
        kept: [
          ...[newId(), ...otherTexts(subject)].map((other) =>
            newAuthorization(now, { clientId, subject: other }),
          ),
          newAuthorization(now, { subject: clientId, clientId: subject }),
          newAuthorization(now, { clientId, context: { key: subject } }),
        ],
      });
    },
  },
  {
    name: "authorizations.revokeAll revokes what was stored before it began, while others are being stored",
    async check(subject) {
      const { subject: first, clientId, apiId } = newAuthorization(subject.now);
      await revokeDuringCreation(subject, { subject: first, clientId, apiId });
      await revokeDuringCreation(subject, { subject: newId() });
    },
  },
  {
    name: "authorizations.revoke and revokeAll also reach what has expired at `now`, or by the clock of the store",
    async check({ storage, peer, now }) {
      const { subject, clientId, apiId } = newAuthorization(now);
      const key = { subject, clientId, apiId };
      const selections = [{ subject }, key, { ...key, contextKey: "acme" }];
      // the caller's clock may be ahead: the others still take the authorization, and must not do so once the end has resolved
      const ahead = { at: now, ends: now + 120, by: now + 300 };
      // or that of the store may be
      const behind = { at: now - 60, ends: now - 30, by: now - 31 };
      for (const { at, ends, by } of [ahead, behind]) {
        const newOne = (): Authorization =>
          newAuthorization(at, { ...key, context: { key: "acme" }, expiresAt: ends });
        for (const selection of selections) {
          const records = [newOne(), newOne()];
          await createAll(storage, records, at);
          assertSame(await peer.authorizations.revokeAll(selection, by), 2, "the number of revoked ones");
          await assertAll(storage, { records, now: at, revoked: true });
        }
        const record = newOne();
        await storage.authorizations.create(record, at);
        await peer.authorizations.revoke(record.authorizationId, by);
        await assertAll(storage, { records: [record], now: at, revoked: true });
      }
    },
  },
];
