// @ts-check
/** Writes docs/rfc-map.md: each section of a standard, the files that implement it, and the tests that check it. */
const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");

const repository = path.join(__dirname, "..");

/** @typedef {{ files: Set<string>, tests: Set<string> }} Places */

/** Returns the sections that a text names, such as `6749 §4.1.2, §5.1; 9207 §2`. @param {string} text */
function* sectionsIn(text) {
  let standard = "";
  for (const [word] of text.matchAll(/\b\d{4}\b|OpenID Connect Core|§[\dA-Z][\d.]*/g)) {
    if (!word.startsWith("§")) standard = word.startsWith("O") ? word : `RFC ${word}`;
    else if (standard !== "") yield `${standard} ${word.replace(/\.$/, "")}`;
  }
}

/** Returns the first comment of a file and every `@rfc` tag. @param {string} text */
function tagsOf(text) {
  const head = /^\/\*\*[^]*?\*\//.exec(text)?.[0] ?? "";
  return [head, ...(text.match(/@rfc [^\n*]+/g) ?? [])];
}

/** Returns the titles of its `describe` blocks. @param {string} text */
function subjectsOf(text) {
  return text.match(/describe(?:\.each\([^]*?\))?\(\s*"[^"]+"/g) ?? [];
}

/** @type {(map: Map<string, Places>, found: { texts: Iterable<string>, file: string, kind: keyof Places }) => void} */
function collect(map, { texts, file, kind }) {
  for (const text of texts) {
    for (const section of sectionsIn(text)) {
      const places = map.get(section) ?? { files: new Set(), tests: new Set() };
      places[kind].add(file);
      map.set(section, places);
    }
  }
}

/** @param {string} folder */
function sources(folder) {
  const found = readdirSync(path.join(repository, folder), { recursive: true, encoding: "utf8" });
  return found
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.replaceAll("\\", "/"))
    .toSorted();
}

function rfcMap() {
  /** @type {Map<string, Places>} */
  const map = new Map();
  for (const file of sources("lib")) {
    const text = readFileSync(path.join(repository, "lib", file), "utf8");
    collect(map, { texts: tagsOf(text), file: file.replace(/\.ts$/, ""), kind: "files" });
  }
  for (const folder of ["__tests__", "lab"]) {
    for (const file of sources(folder).filter((name) => !name.startsWith("node_modules"))) {
      const text = readFileSync(path.join(repository, folder, file), "utf8");
      const name = file.replace(/(\.test)?\.ts$/, "");
      collect(map, { texts: subjectsOf(text), file: folder === "lab" ? `lab/${name}` : name, kind: "tests" });
    }
  }
  const order = new Intl.Collator("en", { numeric: true });
  const rows = [...map]
    .filter(([, { files }]) => files.size > 0)
    .toSorted(([a], [b]) => order.compare(a, b))
    .map(
      ([section, { files, tests }]) => `| ${section} | ${[...files].join(", ")} | ${[...tests].join(", ")} |`,
    );
  return `# RFC map

Each section that the code says it keeps to, the files in \`lib/\` that say so, and the tests in \`__tests__/\` and \`lab/\` whose titles name it.
Made by \`npm run docs\` from the comments; a test fails when it is stale.

| Section | lib | tests |
|---|---|---|
${rows.join("\n")}
`;
}

if (require.main === module) writeFileSync(path.join(__dirname, "rfc-map.md"), rfcMap());

module.exports = { rfcMap };
