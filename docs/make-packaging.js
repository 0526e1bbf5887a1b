// @ts-check
/** Writes the tables of docs/packaging.md: what `npm --prefix lab run matrix` runs, from the list that its tests read. */
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const matrix = require("../lab/packaging/matrix.json");

const file = path.join(__dirname, "packaging.md");
const start = "<!-- made by npm run docs -->\n";
const end = "<!-- end -->";

/** @param {readonly string[]} versions */
function list(versions) {
  return versions.join(", ");
}

/** @type {readonly (readonly [what: string, versions: string, test: string])[]} */
const rows = [
  [
    "every entry point by `import` (each name) and by `require`, a token and a call of an API",
    `Node.js ${list(matrix.node)}, each with Express ${list(matrix.express)}`,
    "node-and-express",
  ],
  ...matrix.typescript.map(
    ({ nodeTypes, versions }) =>
      /** @type {const} */ ([
        "type check of every entry point, `skipLibCheck: false`, `nodenext`",
        `TypeScript ${list(versions)} with @types/node ${nodeTypes} and @types/express ${matrix.expressTypes[5]}`,
        "typescript-versions",
      ]),
  ),
  [
    "the same under `node16` for ES2020, and under `bundler`",
    `TypeScript ${list(matrix.typescriptByEachResolution)}`,
    "typescript-versions",
  ],
  [
    "the same in an Express 4 host",
    `TypeScript ${list(matrix.typescriptWithExpress4)} with @types/express ${matrix.expressTypes[4]}`,
    "typescript-versions",
  ],
  [
    "types of `req.auth` beside others that declare it, in Express 4 and 5",
    `@modelcontextprotocol/sdk ${matrix.mcpSdk}, express-oauth2-jwt-bearer ${matrix.expressOauth2JwtBearer}`,
    "typescript-hosts",
  ],
  [
    "a host's tests with supertest, as CommonJS and as ES modules",
    `Jest ${list(matrix.jest)}; Vitest ${matrix.vitest.version} (ES modules, Node.js ${matrix.vitest.node})`,
    "host-tools",
  ],
  [
    "one file for Node.js, as CommonJS and as an ES module, then run without `node_modules`",
    `esbuild ${matrix.esbuild}`,
    "host-tools",
  ],
];

/** Gives the page with current tables. */
function packagingPage() {
  const before = readFileSync(file, "utf8");
  const lines = rows.map(([what, versions, test]) => `| ${what} | ${versions} | \`${test}\` |\n`);
  const table = `\n| What | With | Test |\n|---|---|---|\n${lines.join("")}\n`;
  const brought = `authmount brings along, itself or through its dependencies: ${list(matrix.broughtAlong)}.\n\n`;
  const [head = ""] = before.split(start);
  const [, tail = ""] = before.split(end);
  return `${head}${start}${table}${brought}${end}${tail}`;
}

module.exports = { packagingPage };

if (require.main === module) writeFileSync(file, packagingPage());
