/** The test files that mutants meet: those that run in one process, several times, and say something of `lib/`. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const { testPathIgnorePatterns } = createRequire(import.meta.url)("../../jest.quick.config.js");

/** Direct tests have the name of a file of `lib/`, unlike those of clients that the world has. */
const directClients = readdirSync(new URL("../../lib/clients", import.meta.url))
  .join("|")
  .replaceAll(".ts", "");

const leftOut = [
  "neighbours/",
  "planted/",
  "interleavings/",
  "mutation/",
  `clients/(?!(?:${directClients})\\.test)`,
  "attacks/(?:canary|floods|jwt-matrix\\.|kept-memory|slow-connections|stolen-storage|redirect-corpus)",
  "storage/time-limit",
  // a server of an earlier test, at a port that is used again, warns of addresses that it does not know
  "attacks/misplaced-secrets",
  "flows/first-mistakes",
  // an AsyncLocalStorage slows down every promise of the process from then on
  "channels",
  "flows/changed-options",
  "resource-server/(?:keys|page)",
  "testing/tokens",
  "unregistered-clients",
  "(?:docs|observability|reference|typed-lists|security-page|migrating|key-rotation-page)",
  "adapters/(?:memory-bounds|sqlite)",
  "testing/contract/wrong-adapters",
].map((name) => `/__tests__/${name}`);
const ignored = [...testPathIgnorePatterns, ...leftOut].map((pattern) => new RegExp(pattern));
/** What `jest-in-mocha.js` lacks, what changes Express for the whole process, and what reads `lib/` as text, in which the mutants stand. */
const unsuitable = /jest\.(?:mock|doMock|requireActual|useFakeTimers)|"light-my-request"|\bfilesUnder\(/;

const folder = fileURLToPath(new URL("../../__tests__", import.meta.url));
/** The most exact tests come first. */
const order = [
  "protocol",
  "clients",
  "cli",
  "tokens",
  "http",
  "events",
  "end-user",
  "signing",
  "options",
  "interaction",
  "grants",
  "endpoints",
  "adapters",
  "storage",
  "recall",
  "host",
  "strangers",
  "bearer",
  "review",
  "fetching",
  "resource-server",
  "portal",
  "testing",
  "flows",
];

function rank(file) {
  const at = order.indexOf(path.relative(folder, file).split(path.sep)[0]);
  return at === -1 ? order.length : at;
}

/** Paths from the root of the repository. */
export const tests = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .map((name) => path.join(folder, name))
  .filter((file) => file.endsWith(".test.ts") && !ignored.some((pattern) => pattern.test(file)))
  .filter((file) => !unsuitable.test(readFileSync(file, "utf8")))
  .toSorted((one, other) => rank(one) - rank(other))
  .map((file) => path.relative(path.join(folder, ".."), file));
