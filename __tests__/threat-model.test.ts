/** docs/threat-model.md: nobody can leave out a section, a test or the host's part. RFC 6819 §4, 9700 §4. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const page = readFileSync(path.join(__dirname, "../docs/threat-model.md"), "utf8");

/** The rows below a heading, cell by cell, without the head. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, text = ""] = page.split(`\n## ${heading}`);
  const [part = ""] = text.split("\n## ");
  const lines = part.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(1).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

const count = (first: string, last: number): readonly string[] =>
  Array.from({ length: last }, (_, index) => `${first}.${index + 1}`);

/** The threats of RFC 6819, in its order. Those of grants that do not exist here are one row each. */
const rfc6819 = [
  count("4.1", 5),
  count("4.2", 4),
  count("4.3", 5),
  count("4.4.1", 13),
  ["4.4.2", "4.4.3", "4.4.4"],
  count("4.5", 4),
  count("4.6", 7),
].flat();

describe.each([
  ["RFC 6819, section 4", rfc6819],
  ["RFC 9700, section 4", count("4", 17)],
])("%s", (heading, sections) => {
  const rows = rowsBelow(heading);

  it("has each section, in the order of the document", () => {
    expect(rows.map(([section]) => section)).toEqual(sections);
  });
});

describe("each row", () => {
  const rows = ["RFC 6819", "RFC 9700", "RFC 10017"].flatMap(rowsBelow);

  it("says what stops the threat and what is left to the host", () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter((cells) => cells.length < 4 || cells.includes(""))).toEqual([]);
  });

  it("names tests that exist, or none where the server can do nothing", () => {
    const named = rows.map((cells) => ({
      rule: cells.at(-3) ?? "",
      tests: cells.at(-2) ?? "",
    }));
    const bare = named.filter(({ tests }) => !tests.includes("`"));
    expect(bare.filter(({ rule, tests }) => tests !== "none" || !rule.startsWith("Nothing: "))).toEqual([]);
    const names = named.flatMap(({ tests }) =>
      [...tests.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    );
    expect(names.length).toBeGreaterThan(60);
    expect(names.filter((name) => !existsSync(path.join(__dirname, `${name}.test.ts`)))).toEqual([]);
  });
});
