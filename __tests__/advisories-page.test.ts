/** The page about advisories lists the tests, and the tests are those of the page. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const attacks = path.join(__dirname, "attacks");
const read = (file: string): string => readFileSync(file, "utf8");

const tests = readdirSync(attacks)
  .filter((name) => /^advisories-\w+\.test\.ts$/.test(name))
  .flatMap((name) => {
    const titles = read(path.join(attacks, name)).matchAll(
      /"((?:CVE-\d{4}-\d{4,}|no id) [^":\n]+: [^"\n]+)"/g,
    );
    return [...titles].map(([, title = ""]) => `${title} (attacks/${name.replace(".test.ts", "")})`);
  });

const rows = [
  ...read(path.join(__dirname, "../docs/advisories.md")).matchAll(/^\| (?:CVE-|no id ).*\|$/gm),
].map(([row]) =>
  row
    .slice(2, -2)
    .split(" | ")
    .map((cell) => cell.trim()),
);

const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

describe("docs/advisories.md", () => {
  it("has a row for each test, and a test for each row", () => {
    const listed = rows.map(
      ([advisory, what = "", , file = ""]) => `${advisory}: ${lowered(what)} (${file.replaceAll("`", "")})`,
    );
    expect(listed.toSorted()).toEqual(
      tests
        .map((title) => title.replace(/: (.)/, (_, first: string) => `: ${first.toLowerCase()}`))
        .toSorted(),
    );
  });

  it("has at least 48 of them, each once, and says why each does not work here", () => {
    const names = rows.map(([advisory]) => advisory);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(48);
    expect(rows.filter((row) => row.length !== 4 || row.some((cell) => cell === ""))).toEqual([]);
  });
});
