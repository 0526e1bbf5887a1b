import { AssertionError } from "node:assert";
import { memoryStorage, type Storage } from "../../../lib";
import { storageContract } from "../../../lib/testing";
import { mistakesOfAllKinds } from "./wrong-adapters/of-all-kinds";
import { authorizationMistakes } from "./wrong-adapters/of-authorizations";
import { clientMistakes } from "./wrong-adapters/of-clients";
import { consentMistakes } from "./wrong-adapters/of-consents";
import { limitMistakes } from "./wrong-adapters/of-limits";
import { narrowingMistakes } from "./wrong-adapters/of-narrowing";
import { stepMistakes } from "./wrong-adapters/of-steps";
import { subjectMistakes } from "./wrong-adapters/of-subjects";
import { tokenMistakes } from "./wrong-adapters/of-tokens";
import { parkedMistakes } from "./wrong-adapters/of-parked";
import { noteUseMistakes } from "./wrong-adapters/of-uses";
import { type Database, newDatabase, tableStorage } from "./wrong-adapters/table-storage";
import type { WrongAdapter } from "./wrong-adapters/wrong-adapter";

/** Adapters with one small mistake each. Each is one that somebody would make. */
const wrongAdapters: readonly WrongAdapter[] = [
  ...clientMistakes,
  ...consentMistakes,
  ...authorizationMistakes,
  ...noteUseMistakes,
  ...limitMistakes,
  ...narrowingMistakes,
  ...tokenMistakes,
  ...stepMistakes,
  ...parkedMistakes,
  ...mistakesOfAllKinds,
  ...subjectMistakes,
];

/**
 * A wrong adapter is tried on the rules that must notice it. On all of them it takes ten times as long, which shows one thing more: that a
 * rule fails by an `AssertionError` also where another one is there to notice the mistake. `AUTHMOUNT_LONG=1` does that.
 */
const isLong = process.env["AUTHMOUNT_LONG"] === "1";

/** The rules of these names that an adapter breaks, each with the failure. */
async function brokenRules(
  make: (database: Database) => Storage,
  names: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  const runs: Promise<readonly [string, unknown]>[] = [];
  storageContract({
    test(name, run) {
      if (!names.includes(name)) return;
      const failed = run().then(
        () => undefined,
        (error: unknown) => error,
      );
      runs.push(failed.then((error) => [name, error]));
    },
    async open({ clients }) {
      const database = newDatabase();
      for (const client of clients) await database.clients.set(client.clientId, client);
      return { storage: make(database), peer: make(database) };
    },
    openUnreachable: async () => ({ storage: make(newDatabase({ reachable: false })) }),
  });
  return new Map((await Promise.all(runs)).filter(([, error]) => error !== undefined));
}

const results = new Map<string, Promise<ReadonlyMap<string, unknown>>>();

/** The same, tried once. */
function brokenBy({ mistake, caughtBy, make }: WrongAdapter): Promise<ReadonlyMap<string, unknown>> {
  const result =
    results.get(mistake) ?? brokenRules(make, isLong ? ruleNames() : caughtBy.flatMap(titlesWith));
  results.set(mistake, result);
  return result;
}

const openEmpty = async () => ({ storage: memoryStorage({ clients: [] }) });

function ruleNames(): readonly string[] {
  const names: string[] = [];
  storageContract({
    test: (name) => void names.push(name),
    open: openEmpty,
    openUnreachable: openEmpty,
  });
  return names;
}

/** The titles of which this is a part. */
const titlesWith = (part: string): readonly string[] => ruleNames().filter((name) => name.includes(part));

describe("the storage contract notices wrong adapters (RFC 6749 §4.1.2, §10.5, 9700 §4.14.2)", () => {
  it("is kept by the adapter into which the mistakes are planted", async () => {
    expect(await brokenRules(tableStorage, ruleNames())).toEqual(new Map());
  });

  it.each(wrongAdapters)("$mistake", async (adapter) => {
    const broken = [...(await brokenBy(adapter)).keys()];
    for (const part of adapter.caughtBy) expect(titlesWith(part)).not.toEqual([]);
    expect(broken).toEqual(expect.arrayContaining(adapter.caughtBy.flatMap(titlesWith)));
  });

  it("says what is wrong by an AssertionError, unless the adapter itself has rejected", async () => {
    for (const adapter of wrongAdapters.filter(({ mistake }) => !mistake.includes("rejects"))) {
      for (const error of (await brokenBy(adapter)).values()) expect(error).toBeInstanceOf(AssertionError);
    }
  });

  it("has no rule that catches none of them", () => {
    const catching = new Set(wrongAdapters.flatMap(({ caughtBy }) => caughtBy.flatMap(titlesWith)));
    expect(ruleNames().filter((name) => !catching.has(name))).toEqual([]);
  });

  it("has no two mistakes of one name", () => {
    expect(new Set(wrongAdapters.map(({ mistake }) => mistake)).size).toBe(wrongAdapters.length);
  });
});
