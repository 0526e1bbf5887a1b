// @ts-check
/**
 * Writes what the docs say of libraries: the tables of clients and of verifiers in docs/clients.md and that of relying parties in
 * docs/openid-connect.md, from a run of the tests of these libraries, and the programs that these pages show.
 */
const { spawnSync } = require("node:child_process");
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const path = require("node:path");

const repository = path.join(__dirname, "../..");

/**
 * @typedef {object} Seen what a run has seen of a library
 * @property {string} library
 * @property {string} version
 * @property {Readonly<Record<string, string>>} cells by the id of what was tried
 * @property {readonly string[]} notes
 */

/** @typedef {Readonly<Record<string, string>>} Cells by the id of what was tried */

/** What a client library can do besides the code grant. */
const capabilities = {
  discovery: "discovery",
  refresh: "refresh",
  machine: "client credentials",
  revoke: "revocation",
  introspect: "introspection",
};

/** What the page says of all libraries in one sentence. @type {Readonly<Record<string, Cells>>} */
const same = {
  clients: { code: "yes" },
  verifiers: { good: "accepted", refused: "refused", rotation: "followed" },
  "relying parties": {},
};

/** What a relying party may compare of an ID token besides the nonce. */
const comparisons = {
  issuer: "the issuer",
  audience: "the audience",
  time: "the time",
  signature: "the signature",
};

/** The columns of each table. @type {Readonly<Record<string, Readonly<Record<string, (cells: Cells) => string>>>>} */
const columns = {
  clients: {
    "Has no": (cells) => {
      const lacking = Object.entries(capabilities).filter(([id]) => cells[id] === "no");
      return lacking.map(([, word]) => word).join(", ");
    },
    "Compares `iss`": ({ iss = "" }) => iss,
  },
  verifiers: {
    "Keys by metadata": ({ metadata = "" }) => metadata,
    "Another `typ`": ({ typ = "" }) => typ,
    "Two issuers": ({ issuers = "" }) => issuers,
  },
  "relying parties": {
    "Finds the server": ({ discovery = "" }) => discovery,
    PKCE: ({ pkce = "" }) => pkce,
    Nonce: ({ nonce = "" }) => nonce,
    "ID token compared": (cells) => {
      const skipped = Object.entries(comparisons).filter(([id]) => cells[id] === "no");
      if (skipped.length === Object.keys(comparisons).length) return "nonce only";
      const words = skipped.map(([, word]) => word).join(", ");
      return words === "" ? "all" : `not ${words}`;
    },
    Userinfo: ({ userinfo = "" }) => userinfo,
    Refresh: ({ refresh = "" }) => refresh,
  },
};

/** The tables that have the notes of a library in its row, and no spaces, which count as words. */
const withRemarks = ["relying parties"];

/** @param {string} name @param {readonly string[]} cells */
function row(name, cells) {
  return withRemarks.includes(name) ? `|${cells.join("|")}|` : `| ${cells.join(" | ")} |`;
}

/** What is tried with each library of a table. @type {Readonly<Record<string, readonly string[]>>} */
const tried = {
  clients: ["code", ...Object.keys(capabilities), "iss"],
  verifiers: ["good", "metadata", "refused", "typ", "rotation", "issuers"],
  "relying parties": ["discovery", "pkce", "nonce", ...Object.keys(comparisons), "userinfo", "refresh"],
};

/** The lines of the table for a library: its row and its notes. @param {string} name @param {Seen} seen */
function linesOf(name, { library, version, cells, notes }) {
  const values = Object.values(columns[name] ?? {}).map((cell) => cell(cells));
  if (withRemarks.includes(name)) return [row(name, [library, version, ...values, notes.join("; ")])];
  return [row(name, [library, version, ...values]), ...notes.map((note) => `- **${library}**: ${note}`)];
}

/** What stands between the markers of a table. @param {string} name @param {readonly Seen[]} run */
function table(name, run) {
  const remarks = withRemarks.includes(name) ? ["Remarks"] : [];
  const heads = ["Library", "Version", ...Object.keys(columns[name] ?? {}), ...remarks];
  const lines = run.map((seen) => linesOf(name, seen));
  const rows = lines.map(([first = ""]) => first);
  const notes = lines.flatMap((each) => each.slice(1));
  const below = withRemarks.includes(name) ? [] : ["", ...notes];
  const line = heads.map(() => "---");
  return [row(name, heads), row(name, line), ...rows, ...below].join("\n");
}

/** Finds a table, between its markers. @param {string} name */
const markers = (name) =>
  name === "relying parties"
    ? /(<!-- relying parties -->\n)[^]*?(\n<!-- \/relying parties -->)/
    : new RegExp(`(<!-- made by lab/clients/make-clients-table\\.js: ${name} -->\n)[^]*?(\n<!-- end -->)`);
const program = /(<!-- (lab\/clients\/\S+) -->\n```(?:js|python)\n)[^]*?(```)/g;

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

/** The table that stands in the page. @param {string} name @param {string} text */
function tableIn(name, text) {
  const [whole = "", before = "", after = ""] = markers(name).exec(text) ?? [];
  return whole.slice(before.length, whole.length - after.length);
}

/** @type {Readonly<Record<string, string>>} */
const tests = {
  clients: "lab/clients/libraries",
  verifiers: "lab/clients/verifiers",
  "relying parties": "lab/clients/relying-parties",
};

/** Where a table is. @param {string} name */
const pageOf = (name) => (name === "relying parties" ? "docs/openid-connect.md" : "docs/clients.md");

/** Returns the libraries of which the run has not seen everything, or not what all do. @param {string} name @param {readonly Seen[]} run */
function incomplete(name, run) {
  const { [name]: ids = [] } = tried;
  const isMissing = (/** @type {string | undefined} */ cell, /** @type {string} */ id) =>
    cell === undefined || cell !== (same[name]?.[id] ?? cell);
  return run.filter(({ cells }) => ids.some((id) => isMissing(cells[id], id))).map(({ library }) => library);
}

/** What a run of the tests has seen; their comparison with the page may fail. @param {string} test @returns {readonly Seen[]} */
function runTests(test) {
  const folder = mkdtempSync(path.join(tmpdir(), "authmount-table-"));
  const file = path.join(folder, "seen.json");
  const jest = path.join(repository, "node_modules", "jest", "bin", "jest.js");
  const env = { ...process.env, AUTHMOUNT_TABLE: file, CI: "true" };
  const args = [jest, `${test}.test.ts`, "--config", "lab/jest.config.js", "-w", "1"];
  spawnSync(process.execPath, args, { cwd: repository, env, stdio: "inherit" });
  /** @type {readonly Seen[]} */
  const seen = JSON.parse(readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  return seen;
}

if (require.main === module) {
  // without names: all of them
  const wanted = process.argv.slice(2);
  for (const [name, test] of Object.entries(tests)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const file = path.join(repository, pageOf(name));
    const seen = runTests(test);
    const missing = incomplete(name, seen);
    if (missing.length > 0)
      throw new Error(`the table of ${name} stays as it is: tests failed for ${missing.join(", ")}`);
    const made = table(name, seen);
    const text = withPrograms(readFileSync(file, "utf8"));
    writeFileSync(
      file,
      text.replace(markers(name), (_, before, after) => before + made + after),
    );
  }
}

module.exports = { linesOf, pageOf, programsIn, table, tableIn, withPrograms };
