/** What holds for every kind of record: it is found as it was stored, by its own key, until its end, and replaced as a whole. RFC 6749 §10.5. */
import * as kinds from "./kinds";
import type { Kind } from "./kinds";
import { assertNothing, assertRecord, ofOptional, type Rules, type RuleSubject } from "./rule";

/** Hundred days, in seconds. */
export const life = 8_640_000;

/** Changes every part of a record that can be changed, as a careless caller might. */
export function spoil(record: unknown): void {
  if (typeof record !== "object" || record === null) return;
  for (const [name, value] of Object.entries(record)) {
    spoil(value);
    Reflect.set(record, name, "spoilt");
  }
  if (Array.isArray(record) && !Object.isFrozen(record)) record.push("spoilt");
}

function findRules<T extends object>({ port, key, stored, on, samples, unlike, apart }: Kind<T>): Rules {
  const found = (records: (subject: RuleSubject) => readonly T[]) => async (subject: RuleSubject) => {
    const { storage, peer, now } = subject;
    const all = records(subject);
    for (const record of all) await on(storage).store(record, now);
    for (const record of all)
      for (const store of [peer, storage])
        assertRecord(await on(store).find(record, now), record, `${port}.find`);
  };
  return {
    [`${port}.find returns ${stored ?? "what was stored"}, with every field`]: found(samples),
    async [`${port}.find returns nothing for ${key} that is not exactly a stored one`](subject) {
      const { storage, peer, now } = subject;
      for (const [record, ...others] of unlike(subject)) {
        if (record) await on(storage).store(record, now);
        for (const store of [storage, peer])
          for (const other of others)
            assertNothing(await on(store).find(other, now), `found by the key of ${JSON.stringify(other)}`);
      }
    },
    ...(apart && {
      [`${port} whose keys are nearly alike are different records`]: found(({ now }) => apart(now)),
    }),
  };
}

function endRule<T extends object>({ port, one = "", newOne, on }: Kind<T>): Rules {
  return {
    async [`${one} can be found until its expiresAt, by the time that is passed in`]({ storage, peer, now }) {
      for (const { storedAt, expiresAt } of [
        { storedAt: now, expiresAt: now + 120 },
        { storedAt: now, expiresAt: now + life },
        // the caller's clock may be behind that of the store, so the store's own time must not decide
        { storedAt: now - 60, expiresAt: now - 30 },
      ]) {
        const record = newOne(storedAt, { expiresAt });
        await on(storage).store(record, storedAt);
        for (const store of [peer, storage]) {
          const last = await on(store).find(record, expiresAt - 1);
          assertRecord(last, record, `${port}.find, one second before the end`);
          assertNothing(await on(store).find(record, expiresAt), `${port}.find, at the end`);
        }
      }
      const late = newOne(now, { expiresAt: now });
      await on(storage).store(late, now);
      assertNothing(await on(storage).find(late, now), `${port}.find of what was stored after its end`);
    },
  };
}

function copyRule<T extends object>({ port, samples, on }: Kind<T>): Rules {
  return {
    async [`${port} keeps and gives copies: a record that was passed in or returned can be changed`](
      subject,
    ) {
      const { store, find } = on(subject.storage);
      for (const record of samples(subject)) {
        const kept = JSON.parse(JSON.stringify(record)) as T;
        await store(record, subject.now);
        spoil(record);
        assertRecord(await find(kept, subject.now), kept, "after changing the record that was passed in");
        spoil(await find(kept, subject.now));
        assertRecord(await find(kept, subject.now), kept, "after changing the record that was returned");
      }
    },
  };
}

function replaceRule<T extends object>({ port, one = "", newOne, on, successors }: Kind<T>): Rules {
  return {
    async [`${port}.save replaces ${one} of the same key as a whole, and no other: the last one counts`](
      subject,
    ) {
      const { storage, peer, now } = subject;
      const other = newOne(now, { expiresAt: now + 600 });
      await on(storage).store(other, now);
      let [here, there] = [storage, peer];
      for (const record of successors?.(now) ?? []) {
        await on(here).store(record, now);
        for (const store of [there, here])
          assertRecord(await on(store).find(record, now), record, `${port}.find`);
        [here, there] = [there, here];
      }
      assertRecord(await on(peer).find(other, now), other, "another one");
    },
  };
}

function rulesOf<T extends object>(kind: Kind<T>): Rules {
  return {
    ...findRules(kind),
    ...(kind.one !== undefined && { ...endRule(kind), ...copyRule(kind) }),
    ...(kind.successors && replaceRule(kind)),
  };
}

/** The common rules, for each kind that they fit. @rfc 6749 §10.5 */
export const kindRules: readonly Rules[] = [
  rulesOf(kinds.clients),
  rulesOf(kinds.consents),
  rulesOf(kinds.authorizations),
  rulesOf(kinds.codes),
  rulesOf(kinds.refreshTokens),
  rulesOf(kinds.accessTokens),
  rulesOf(kinds.endMarks),
  rulesOf(kinds.registrations),
  ofOptional("parkedRequests", rulesOf(kinds.parkedRequests)),
];
