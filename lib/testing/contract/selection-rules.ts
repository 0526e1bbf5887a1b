/** Calls that end all that belongs to an end user, a client or a context: they reach all of it, and nothing else. RFC 7009 §2.1, 6749 §10.2. */
import type { Authorization } from "../../protocol/authorization";
import type { ConsentKey } from "../../protocol/consent";
import type { EpochSeconds } from "../../protocol/time";
import type { AuthorizationSelection, Storage } from "../../storage/port";
import {
  brokenText,
  keysJoinedAlike,
  longKeys,
  newAuthorization,
  newConsent,
  newId,
  newSubject,
  ofKey,
  otherIds,
  otherTexts,
} from "./records";
import {
  assertAll,
  assertGone,
  assertNothing,
  assertRecord,
  assertSame,
  createAll,
  type Rules,
  type RuleSubject,
} from "./rule";

/** A record of an end user. */
interface Owned {
  readonly store: (storage: Storage, now: EpochSeconds) => Promise<void>;
  readonly assertLiving: (storage: Storage, now: EpochSeconds) => Promise<void>;
  readonly assertEnded: (storage: Storage, now: EpochSeconds) => Promise<void>;
  /** Ends this one alone, where there is such a call. */
  readonly endAlone?: (storage: Storage, now: EpochSeconds) => Promise<unknown>;
}

/** A call that ends all that belongs to a selection. */
interface Ending {
  readonly call: string;
  /** As "revokes". */
  readonly ends: string;
  /** As "authorizations". */
  readonly many: string;
  /** Records of one key: more than one where a key can have several. */
  readonly newOnes: (
    key: ConsentKey,
    life: { now: EpochSeconds; expiresAt?: EpochSeconds },
  ) => readonly Owned[];
  readonly end: (
    storage: Storage,
    call: { selection: AuthorizationSelection; now: EpochSeconds },
  ) => Promise<unknown>;
  /** What it answers when it has ended so many. */
  readonly answer: (count: number) => unknown;
}

type EndAlone = (storage: Storage, call: { record: Authorization; now: EpochSeconds }) => Promise<unknown>;

/** What stays of the scopes of an authorization that is narrowed. */
const keptScopes = ["orders:read"];

type Ended = "revoked" | "narrowed" | "deleted";

function assertEnded(
  storage: Storage,
  { ended, record, now }: { ended: Ended; record: Authorization; now: EpochSeconds },
): Promise<void> {
  if (ended === "deleted") return assertGone(storage, { records: [record], now });
  const { grantedScopes: approvedScopes } = record;
  const narrow = { ...record, grantedScopes: keptScopes, approvedScopes };
  return assertAll(storage, {
    records: [ended === "narrowed" ? narrow : record],
    now,
    revoked: ended === "revoked",
  });
}

/** Authorizations of one key, by several methods and with what the host adds. */
const newAuthorizations =
  (ended: Ended, endAlone?: EndAlone): Ending["newOnes"] =>
  (key, { now, expiresAt = now + 600 }) => {
    const { context, ...own } = ofKey(key);
    const data = { n: 1, text: brokenText };
    return [{}, { authMethodId: "otp" }, { ...(context && { context: { ...context, data } }) }].map(
      (changes) => {
        const record = newAuthorization(now, { ...own, ...(context && { context }), expiresAt, ...changes });
        const records = [record];
        return {
          store: (storage, at) => createAll(storage, records, at),
          assertLiving: (storage, at) => assertAll(storage, { records, now: at, revoked: false }),
          assertEnded: (storage, at) => assertEnded(storage, { ended, record, now: at }),
          ...(endAlone && { endAlone: (storage, at) => endAlone(storage, { record, now: at }) }),
        };
      },
    );
  };

const revokeAll: Ending = {
  call: "authorizations.revokeAll",
  ends: "revokes",
  many: "authorizations",
  newOnes: newAuthorizations("revoked", ({ authorizations }, { record, now }) =>
    authorizations.revoke(record.authorizationId, now),
  ),
  end: ({ authorizations }, { selection, now }) => authorizations.revokeAll(selection, now),
  answer: (count) => count,
};

const narrowAll: Ending = {
  call: "authorizations.narrowAll",
  ends: "narrows",
  many: "authorizations",
  newOnes: newAuthorizations("narrowed"),
  end: ({ authorizations }, { selection, now }) =>
    authorizations.narrowAll({ selection, scopes: keptScopes }, now),
  answer: (count) => count,
};

const erase: Ending = {
  call: "authorizations.erase",
  ends: "deletes",
  many: "authorizations",
  newOnes: newAuthorizations("deleted", ({ authorizations }, { record: { subject, authorizationId }, now }) =>
    authorizations.erase({ subject, authorizationId }, now),
  ),
  end: ({ authorizations }, { selection: { subject }, now }) => authorizations.erase({ subject }, now),
  answer: (count) => count,
};

const deleteConsents: Ending = {
  call: "consents.delete",
  ends: "deletes",
  many: "consents",
  newOnes(key, { now, expiresAt = now + 600 }) {
    const consent = newConsent(now, { ...key, expiresAt });
    return [
      {
        store: ({ consents }, at) => consents.save(consent, at),
        assertLiving: async ({ consents }, at) =>
          assertRecord(await consents.find(consent, at), consent, "must be left alone"),
        assertEnded: async ({ consents }, at) =>
          assertNothing(await consents.find(consent, at), "found though it was deleted"),
      },
    ];
  },
  end: ({ consents }, { selection, now }) => consents.delete({ selection, exceptEndMark: newId() }, now),
  answer: (count) => count > 0,
};

/** Ends this selection: what it must end, and what it must leave alone. */
interface Choice {
  readonly selection: AuthorizationSelection;
  readonly gone: readonly ConsentKey[];
  readonly kept: readonly ConsentKey[];
}

/** A new key, whose subject has another form in Unicode. */
const newKey = (): ConsentKey => ({ subject: newSubject(), clientId: newId(), apiId: "orders" });

/** Choices around a key, for calls that take this part of it, with what is said of them. */
type Choices = readonly [called: string, ended: string, around: (key: ConsentKey) => readonly Choice[]];

const byKey: Choices = [
  "",
  "of one end user for one client at one API",
  (key) => {
    const { subject, clientId, apiId } = key;
    const [long, ...longOthers] = longKeys();
    const alike = [...keysJoinedAlike(), ...longOthers.map((other) => [long, other] as const)];
    return [
      {
        selection: key,
        gone: [key, { ...key, contextKey: "acme" }],
        kept: [
          ...[newId(), ...otherTexts(subject)].map((other) => ({ ...key, subject: other })),
          ...[newId(), ...otherIds(clientId)].map((other) => ({ ...key, clientId: other })),
          ...["reports", ...otherIds(apiId)].map((other) => ({ ...key, apiId: other })),
          { ...key, subject: clientId, clientId: subject },
        ],
      },
      ...alike.map(([one, other]) => ({ selection: { contextKey: "", ...one }, gone: [one], kept: [other] })),
    ];
  },
];

const byContext: Choices = [
  " with a contextKey",
  "of this context",
  (key) => {
    const acme = { ...key, contextKey: "acme" };
    const others = otherTexts("acme").map((contextKey) => ({ ...key, contextKey }));
    const elsewhere = { ...acme, apiId: "reports" };
    return [
      { selection: { ...key, contextKey: "another" }, gone: [], kept: [key, acme] },
      { selection: acme, gone: [acme], kept: [key, ...others, elsewhere] },
      // those without a context
      { selection: { ...key, contextKey: "" }, gone: [key], kept: [...others, elsewhere] },
    ];
  },
];

const bySubject: Choices = [
  " with a subject alone",
  "of this end user",
  (key) => {
    const { subject, clientId } = key;
    const contexts = Array.from({ length: 26 }, (_, index) => ({ ...key, contextKey: `${index}` }));
    const gone = [key, ...contexts, { ...key, apiId: "reports" }, { ...newKey(), subject, apiId: "reports" }];
    const kept = [
      ...[newId(), ...otherTexts(subject)].map((other) => ({ ...key, subject: other })),
      { ...key, subject: clientId, clientId: subject },
      { ...newKey(), clientId, contextKey: subject },
    ];
    return [{ selection: { subject }, gone, kept }];
  },
];

/** Looks at both ends of the store. */
async function assertBoth(
  { storage, peer }: Pick<RuleSubject, "storage" | "peer">,
  check: (store: Storage) => Promise<void>,
): Promise<void> {
  for (const store of [storage, peer]) await check(store);
}

function choiceRule(
  { call, ends, many, newOnes, end, answer }: Ending,
  [called, ended, around]: Choices,
): Rules {
  return {
    async [`${call}${called} ${ends} all ${many} ${ended}, and no others`]({ storage, peer, now }) {
      for (const { selection, gone, kept } of around(newKey())) {
        const ending = gone.flatMap((key) => newOnes(key, { now }));
        const staying = kept.flatMap((key) => newOnes(key, { now }).slice(0, 1));
        const all = [...ending, ...staying];
        for (const one of all) await one.store(storage, now);
        for (const one of all) await assertBoth({ storage, peer }, (store) => one.assertLiving(store, now));
        for (const count of [ending.length, 0]) {
          assertSame(await end(peer, { selection, now }), answer(count), `the answer of ${call}`);
          for (const one of ending)
            await assertBoth({ storage, peer }, (store) => one.assertEnded(store, now));
          for (const one of staying)
            await assertBoth({ storage, peer }, (store) => one.assertLiving(store, now));
        }
        // so that the next choice finds only its own
        await end(storage, { selection: { subject: selection.subject }, now });
      }
    },
  };
}

function expiredRule({ call, newOnes, end, answer }: Ending): Rules {
  return {
    async [`${call} also reaches what has expired at \`now\`, or by the clock of the store`](test) {
      const { storage, peer, now } = test;
      const key = newKey();
      const context = { ...key, contextKey: "acme" };
      // the caller's clock may be ahead: the others still take the record, and must not do so once the end has resolved
      const ahead = { at: now, expiresAt: now + 120, by: now + 300 };
      // or that of the store may be
      const behind = { at: now - 60, expiresAt: now - 30, by: now - 31 };
      for (const { at, expiresAt, by } of [ahead, behind]) {
        for (const selection of [{ subject: key.subject }, key, context]) {
          const ones = newOnes(context, { now: at, expiresAt });
          for (const one of ones) await one.store(storage, at);
          assertSame(await end(peer, { selection, now: by }), answer(ones.length), `the answer of ${call}`);
          for (const one of ones) await one.assertEnded(storage, at);
        }
        const [one] = newOnes(context, { now: at, expiresAt });
        if (!one?.endAlone) continue;
        await one.store(storage, at);
        await one.endAlone(peer, by);
        await one.assertEnded(storage, at);
      }
    },
  };
}

/** The rules of calls that take a selection. @rfc 7009 §2.1, 6749 §10.2 */
export const selectionRules: readonly Rules[] = [
  ...[revokeAll, narrowAll, deleteConsents].flatMap((ending) => [
    choiceRule(ending, byKey),
    choiceRule(ending, byContext),
  ]),
  ...[revokeAll, narrowAll, deleteConsents, erase].flatMap((ending) => [
    choiceRule(ending, bySubject),
    expiredRule(ending),
  ]),
];
