/** docs/security.md: nobody can leave out a threat, a test, the host's part or an advisory. RFC 6819 §4, 9700 §4. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { rfc9700 } from "../lib/review/rfc9700";
import { testFile } from "./sources/source-files";

const page = readFileSync(path.join(__dirname, "../docs/security.md"), "utf8");

/** The text below a heading. */
function below(heading: string): string {
  const [, text = ""] = page.split(`\n## ${heading}\n`);
  return text.split("\n## ")[0] ?? "";
}

/** The rows of tables, cell by cell, without their heads. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (?:Threat|Rule) \|/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
}

const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

const count = (first: string, last: number): readonly string[] =>
  Array.from({ length: last }, (_, index) => `${first}.${index + 1}`);

/** The threats of RFC 6819. Those of grants that do not exist here have one section each. */
const rfc6819 = [
  count("4.1", 5),
  count("4.2", 4),
  count("4.3", 5),
  count("4.4.1", 13),
  ["4.4.2", "4.4.3", "4.4.4"],
  count("4.5", 4),
  count("4.6", 7),
].flat();

describe("the threats", () => {
  const rows = rowsOf(below("Threats"));

  it("has each section of RFC 6819, section 4", () => {
    const named = rows.flatMap(([threat = ""]) =>
      [...threat.matchAll(/[(\s]§(4\.[\d.]+\d)/g)].map(([, section = ""]) => section),
    );
    expect(rfc6819.filter((section) => !named.includes(section))).toEqual([]);
  });

  it("leaves RFC 9700, section 4, to the assessment, which has each part with its tests or as the host's", () => {
    const stands = rfc9700.requirements.filter(
      ({ state, tests = [], note }) => note !== "" && (state !== "met" || tests.length > 0),
    );
    const missing = count("4", 17).filter(
      (section) => !stands.some((item) => item.section === section || item.section.startsWith(`${section}.`)),
    );
    expect(missing).toEqual([]);
  });

  it("says what stops each threat, or what is left to the host", () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(""))).toEqual([]);
  });

  it("names tests that exist, or none where the server can do nothing", () => {
    const bare = rows.filter(([, , tests = ""]) => !tests.includes("`"));
    expect(
      bare.filter(([, rule = "", tests]) => tests !== "none" || !/^Nothing: .* Yours: /.test(rule)),
    ).toEqual([]);
    const names = rows.flatMap(([, , tests = ""]) => namesIn(tests));
    expect(names.length).toBeGreaterThan(150);
    expect(names.filter((name) => !existsSync(testFile(name)))).toEqual([]);
  });
});

describe("published defects of other servers", () => {
  /** A table for each file of tests, below its name. */
  const tables = below("Published defects of other servers")
    .split(/\n(?=`attacks\/)/)
    .slice(1)
    .map((text) => ({ file: namesIn(text)[0], rows: rowsOf(text) }));
  const attacks = path.join(__dirname, "attacks");
  const tests = readdirSync(attacks)
    .filter((name) => /^advisories-\w+\.test\.ts$/.test(name))
    .flatMap((name) => {
      const titles = readFileSync(path.join(attacks, name), "utf8").matchAll(
        /"(CVE-\d{4}-\d{4,}|no id [^":\n]+)[^":\n]*: [^"\n]+"/g,
      );
      return [...titles].map(([, defect = ""]) => `${defect} (attacks/${name.replace(".test.ts", "")})`);
    });

  it("has each tested one beside a rule, and a test for each that it names", () => {
    const listed = tables.flatMap(({ file, rows }) =>
      rows.flatMap(([, defects = ""]) => defects.split(", ").map((defect) => `${defect} (${file})`)),
    );
    expect(listed.toSorted()).toEqual(tests.toSorted());
    expect(new Set(listed).size).toBe(listed.length);
    expect(page).toContain(`\n${listed.length} defects of `);
    expect(listed.length).toBeGreaterThanOrEqual(48);
  });

  it("says why they do not work here", () => {
    const rows = tables.flatMap((table) => table.rows);
    expect(rows.filter((cells) => cells.length !== 2 || cells.includes(""))).toEqual([]);
  });
});
