/** What a rule of the storage contract gets, and how it compares answers. RFC 6749 §10.5. */
import { deepStrictEqual, fail, rejects, strictEqual } from "node:assert/strict";
import type { Client } from "../../protocol/client";
import type { EpochSeconds } from "../../protocol/time";
import type { ParkedRequestStore } from "../../storage/client-ports";
import type { ListedAuthorization, Storage } from "../../storage/port";
import type { Authorization } from "../../protocol/authorization";

/** A store on which a rule is tried. It need not be empty. */
export interface OpenStorage {
  readonly storage: Storage;
  /** The same store over another connection, as another process has it. `storage` again when left out. */
  readonly peer?: Storage;
  /** Closes the connections. It is called when the rule has ended, whether it passed or not. */
  readonly close?: () => Promise<void>;
}

/** What a rule works with. */
export interface RuleSubject {
  readonly storage: Storage;
  readonly peer: Storage;
  /** A registered confidential client and a registered browser client. */
  readonly clients: readonly [Client, Client];
  /** The time at which the rule began. Rules pass times of up to a minute earlier and any time later. */
  readonly now: EpochSeconds;
}

/** One duty of an adapter, as a test. It rejects with an `AssertionError` that says what is wrong. */
export type Rule = (subject: RuleSubject) => Promise<void>;

/** Duties by what they say. */
export type Rules = Readonly<Record<string, Rule>>;

/** A port that a storage may leave out. Its rules are `ofOptional`. */
export function parkedRequestsOf({ parkedRequests }: Storage): ParkedRequestStore {
  if (parkedRequests) return parkedRequests;
  return fail("storage has parkedRequests, and its peer has none");
}

/** The same rules for a port, or a method of one, that a storage may leave out: one without it keeps them, and their names say so. */
export function ofOptional(part: "parkedRequests" | "atOnce.approve" | "atOnce.redeem", rules: Rules): Rules {
  const partOf = (storage: Storage): unknown =>
    part.split(".").reduce<unknown>((from, name) => Reflect.get(Object(from), name), storage);
  const optional = Object.entries(rules).map(([name, rule]): [string, Rule] => [
    `${name} (or the storage has no ${part})`,
    async (subject) => {
      if (partOf(subject.storage)) await rule(subject);
    },
  ]);
  return Object.fromEntries(optional);
}

/** Compares by value only: a record may have been created anywhere, and an `undefined` field equals one that is left out. */
function asJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Fails unless the record that came back has every field, with the same type, and no others. */
export function assertRecord(found: object | undefined, expected: object, message: string): void {
  // some databases return null for nothing, whose type is "object"
  strictEqual(typeof (found ?? undefined), "object", `${message}: nothing was found`);
  if (found) deepStrictEqual(asJson(found), asJson(expected), message);
}

/** Fails unless nothing was found. `null` is accepted like `undefined`, as the server does: some databases return it. */
export function assertNothing(found: unknown, message: string): void {
  strictEqual(found ?? undefined, undefined, message);
}

export { rejects as assertRejects, strictEqual as assertSame };

/** All that a list gives, page after page. Fails when a page is too long, or repeats what an earlier one had: then there is no last one. */
export async function allPages<T>(
  limit: number,
  {
    list,
    idOf,
  }: { list: (page: { after?: string; limit: number }) => Promise<readonly T[]>; idOf: (one: T) => string },
): Promise<readonly T[]> {
  const listed = new Map<string, T>();
  let after: string | undefined;
  for (;;) {
    const page = await list({ limit, ...(after !== undefined && { after }) });
    if (page.length === 0) return [...listed.values()];
    strictEqual(page.length <= limit, true, `a page of ${limit} has ${page.length}`);
    for (const one of page) {
      after = idOf(one);
      strictEqual(listed.has(after), false, `"${after}" is listed twice`);
      listed.set(after, one);
    }
  }
}

/** Fails unless there are as many answers as expected, each the expected text, or `undefined` where there is nothing. */
export function assertTexts(
  found: readonly (string | undefined)[],
  expected: readonly (string | undefined)[],
  message: string,
): void {
  strictEqual(found.length, expected.length, `${message}: the number of answers`);
  for (const [place, text] of expected.entries())
    strictEqual(found[place], text, `${message}: place ${place}`);
}

/** Starts all calls before any of them can have ended, on `storage` and `peer` in turn. */
export function race<T>(
  { storage, peer }: RuleSubject,
  { runners, run }: { runners: number; run: (store: Storage, runner: number) => Promise<T> },
): Promise<readonly T[]> {
  return Promise.all(
    Array.from({ length: runners }, (_, runner) => run(runner % 2 === 0 ? storage : peer, runner)),
  );
}

/** The numbers of simultaneous calls that the contract tries. */
export const raceSizes: readonly number[] = [2, 8, 64];

/** Creates these authorizations one after the other. */
export async function createAll(
  { authorizations }: Storage,
  records: readonly Authorization[],
  now: EpochSeconds,
): Promise<void> {
  for (const record of records) await authorizations.create(record, now);
}

/** Creates them at both ends of the store, eight at a time. */
export async function createSeveral(subject: RuleSubject, records: readonly Authorization[]): Promise<void> {
  await race(subject, {
    runners: 8,
    run: async ({ authorizations }, runner) => {
      for (const [index, record] of records.entries())
        if (index % 8 === runner) await authorizations.create(record, subject.now);
    },
  });
}

/** Fails unless each of these authorizations is found, and is revoked or not as expected. */
export async function assertAll(
  { authorizations }: Storage,
  { records, now, revoked }: { records: readonly Authorization[]; now: EpochSeconds; revoked: boolean },
): Promise<void> {
  for (const record of records) {
    const found = await authorizations.find(record.authorizationId, now);
    assertRecord(found, { ...record, revoked }, revoked ? "must be revoked" : "must be left alone");
  }
}

/** Fails unless none of these authorizations is found. */
export async function assertGone(
  { authorizations }: Storage,
  { records, now }: { records: readonly Authorization[]; now: EpochSeconds },
): Promise<void> {
  for (const { authorizationId } of records)
    assertNothing(await authorizations.find(authorizationId, now), "found though it was erased");
}

/** All that `list` gives, page after page. */
export async function listAll(
  { authorizations }: Storage,
  { subject, now }: { subject: string; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  return allPages(50, {
    list: (page) => authorizations.list(subject, page, now),
    idOf: ({ authorizationId }) => authorizationId,
  });
}
