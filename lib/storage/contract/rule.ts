/** What a rule of the storage contract is given, and how it looks at an answer. RFC 6749 §10.5. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Client } from "../../protocol/client";
import type { EpochSeconds } from "../../protocol/time";
import type { Storage } from "../port";

/** A store that a rule is tried on. It need not be empty. */
export interface OpenStorage {
  readonly storage: Storage;
  /** The same store as another process has it: by another connection. `storage` again when left out. */
  readonly peer?: Storage;
  readonly close?: () => Promise<void>;
}

/** What a rule works with. */
export interface RuleSubject {
  readonly storage: Storage;
  readonly peer: Storage;
  /** A confidential client and a browser client that are registered. */
  readonly clients: readonly [Client, Client];
  /** The time at which the rule began; rules go from here by argument, up to a minute back and any time ahead. */
  readonly now: EpochSeconds;
}

export interface Rule {
  readonly name: string;
  readonly check: (subject: RuleSubject) => Promise<void>;
}

/** By value alone: it may have been made anywhere, and `undefined` is as good as left out. */
function asJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** What came back has every field, of the same type, and none besides. */
export function assertRecord(found: object | undefined, expected: object, message: string): void {
  strictEqual(typeof found, "object", `${message}: nothing was found`);
  if (found) deepStrictEqual(asJson(found), asJson(expected), message);
}

/** `null` is as good as `undefined`: some databases say so, and the server takes it so. */
export function assertNothing(found: unknown, message: string): void {
  strictEqual(found ?? undefined, undefined, message);
}

export { rejects as assertRejects, strictEqual as assertSame };

/** Starts all of them before any can have ended, from `storage` and `peer` in turn. */
export function race<T>(
  { storage, peer }: RuleSubject,
  { runners, run }: { runners: number; run: (store: Storage, runner: number) => Promise<T> },
): Promise<readonly T[]> {
  return Promise.all(
    Array.from({ length: runners }, (_, runner) => run(runner % 2 === 0 ? storage : peer, runner)),
  );
}

/** How many simultaneous calls the contract tries. */
export const raceSizes: readonly number[] = [2, 8, 64];
