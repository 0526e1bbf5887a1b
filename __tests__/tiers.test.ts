/** The two tiers of tests here: `npm test` runs them all, `npm run test:quick` a part of them. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";

const repository = path.join(__dirname, "..");
const runner = path.join(repository, "node_modules/jest/bin/jest.js");

/** The test files of a configuration, by Jest's own account. */
function filesOf(config: string): readonly string[] {
  const listed = execFileSync(process.execPath, [runner, "--config", config, "--listTests"], {
    cwd: repository,
    encoding: "utf8",
  });
  const files = listed.trim().split("\n");
  return files.map((file) => path.relative(__dirname, file).replaceAll("\\", "/")).toSorted();
}

describe("the tiers of the tests", () => {
  const full = filesOf("jest.config.js");
  const quick = filesOf("jest.quick.config.js");

  it("npm test misses no test file", () => {
    const files = readdirSync(__dirname, { recursive: true, encoding: "utf8" });
    const tests = files
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => /\.test\.[jt]sx?$/.test(file));
    expect([...new Set(full)]).toEqual(tests.toSorted());
  });

  it("everything in the quick one is in the full one", () => {
    expect(quick.length).toBeGreaterThan(50);
    expect(quick.filter((file) => !full.includes(file))).toEqual([]);
  });

  it.each([
    ["the rules of the protocol", "protocol/redirect-uri"],
    ["what is asked of one process", "endpoints/token"],
    ["the laws of the house", "architecture"],
  ])("the quick one has %s: %s", (_, file) => {
    expect(quick).toContain(`${file}.test.ts`);
  });

  it.each([
    ["a real server", "adapters/postgres-tables"],
    ["a process, by what an import imports", "clients/minimal"],
    ["limits of time", "storage/time-limit"],
    ["attacks", "attacks/"],
    ["the contract of SQLite", "adapters/sqlite-contract"],
  ])("the quick one has nothing with %s: %s", (_, name) => {
    expect(full.filter((file) => file.startsWith(name))).not.toEqual([]);
    expect(quick.filter((file) => file.startsWith(name))).toEqual([]);
  });
});
