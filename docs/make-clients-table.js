// @ts-check
/**
 * Writes what docs/clients.md and docs/verifiers.md say of libraries: the tables, from a run of the tests of these libraries, and the
 * programs that this run has started.
 */
const { spawnSync } = require("node:child_process");
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const path = require("node:path");

const repository = path.join(__dirname, "..");

/**
 * @typedef {object} Seen what a run has seen of a library
 * @property {string} library
 * @property {string} version
 * @property {Readonly<Record<string, string>>} cells by the id of the column
 * @property {readonly string[]} notes
 */

/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} The columns of the table of each page, by their ids. */
const columns = {
  "clients.md": {
    discovery: "Discovery",
    code: "Code + PKCE",
    refresh: "Refresh",
    machine: "Client credentials",
    revoke: "Revocation",
    introspect: "Introspection",
    iss: "Compares `iss`",
  },
  "verifiers.md": {
    metadata: "Keys by metadata",
    good: "Good token",
    refused: "Expired, of another API, of another issuer, other signature",
    typ: "Another `typ`",
    rotation: "Key rotation",
    issuers: "Two issuers",
  },
};

/** @param {readonly string[]} cells */
function row(cells) {
  return `| ${cells.join(" | ")} |`;
}

/** The lines of the table for a library: its row and its notes. @param {string} page @param {Seen} seen */
function linesOf(page, { library, version, cells, notes }) {
  const values = Object.keys(columns[page] ?? {}).map((column) => cells[column] ?? "");
  return [row([library, version, ...values]), ...notes.map((note) => `- **${library}**: ${note}`)];
}

/** What stands between the markers of a page. @param {string} page @param {readonly Seen[]} run */
function table(page, run) {
  const heads = ["Library", "Version", ...Object.values(columns[page] ?? {})];
  const lines = run.map((seen) => linesOf(page, seen));
  const rows = lines.map(([first = ""]) => first);
  const notes = lines.flatMap((each) => each.slice(1));
  return [row(heads), row(heads.map(() => "---")), ...rows, "", ...notes].join("\n");
}

const markers = /(<!-- made by docs\/make-clients-table\.js -->\n)[^]*?(\n<!-- end -->)/;
const program = /(<!-- (__tests__\/clients\/\S+) -->\n```(?:js|python)\n)[^]*?(```)/g;

/** The text of a page with the programs as they are. @param {string} text */
function withPrograms(text) {
  return text.replaceAll(
    program,
    (_, before, file, after) => before + readFileSync(path.join(repository, file), "utf8") + after,
  );
}

/** The programs that a page shows. @param {string} text */
function programsIn(text) {
  return [...text.matchAll(program)].map(([, , file = ""]) => file);
}

/** The table that stands in a page. @param {string} text */
function tableIn(text) {
  const [whole = "", before = "", after = ""] = markers.exec(text) ?? [];
  return whole.slice(before.length, whole.length - after.length);
}

/** @type {Readonly<Record<string, string>>} */
const tests = { "clients.md": "clients/libraries", "verifiers.md": "clients/verifiers" };

/** Returns the libraries of which the run has not seen everything. @param {string} page @param {readonly Seen[]} run */
function incomplete(page, run) {
  const ids = Object.keys(columns[page] ?? {});
  return run.filter(({ cells }) => ids.some((id) => cells[id] === undefined)).map(({ library }) => library);
}

/** What a run of the tests has seen; their comparison with the page may fail. @param {string} test @returns {readonly Seen[]} */
function runTests(test) {
  const folder = mkdtempSync(path.join(tmpdir(), "authmount-table-"));
  const file = path.join(folder, "seen.json");
  const jest = path.join(repository, "node_modules", "jest", "bin", "jest.js");
  const env = { ...process.env, AUTHMOUNT_TABLE: file, CI: "true" };
  spawnSync(process.execPath, [jest, "-w", "1", `__tests__/${test}.test.ts`], {
    cwd: repository,
    env,
    stdio: "inherit",
  });
  /** @type {readonly Seen[]} */
  const seen = JSON.parse(readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  return seen;
}

if (require.main === module) {
  for (const [page, test] of Object.entries(tests)) {
    const file = path.join(__dirname, page);
    const seen = runTests(test);
    const missing = incomplete(page, seen);
    if (missing.length > 0) throw new Error(`${page} stays as it is: tests failed for ${missing.join(", ")}`);
    const made = table(page, seen);
    const text = withPrograms(readFileSync(file, "utf8"));
    writeFileSync(
      file,
      text.replace(markers, (_, before, after) => before + made + after),
    );
  }
}

module.exports = { linesOf, programsIn, table, tableIn, withPrograms };
