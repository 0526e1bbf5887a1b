/** What a rule of the storage contract gets, and how it compares answers. RFC 6749 §10.5. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Client } from "../../protocol/client";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";

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

/** One duty of an adapter, as a test. */
export interface Rule {
  readonly name: string;
  /** Rejects with an `AssertionError` that says what is wrong. */
  readonly check: (subject: RuleSubject) => Promise<void>;
}

/** Compares by value only: a record may have been created anywhere, and an `undefined` field counts as left out. */
function asJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Fails unless the record that came back has every field, with the same type, and no others. */
export function assertRecord(found: object | undefined, expected: object, message: string): void {
  strictEqual(typeof found, "object", `${message}: nothing was found`);
  if (found) deepStrictEqual(asJson(found), asJson(expected), message);
}

/** Fails unless nothing was found. `null` counts as `undefined`: some databases return it, and the server accepts both. */
export function assertNothing(found: unknown, message: string): void {
  strictEqual(found ?? undefined, undefined, message);
}

export { rejects as assertRejects, strictEqual as assertSame };

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
