import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { packagingPage } from "../docs/make-packaging";
import { rfcMap } from "../docs/make-rfc-map";
import { tablesIn } from "../lib/storage/postgres/names";
import { schemaVersions } from "../lib/storage/postgres/schema";

const repository = path.resolve(__dirname, "..");

function markdownFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (["node_modules", "dist", ".git"].includes(entry.name)) return [];
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return markdownFiles(file);
    return entry.name.endsWith(".md") ? [file] : [];
  });
}

const pages = markdownFiles(repository).map((file) => path.relative(repository, file));

function read(page: string): string {
  return readFileSync(path.join(repository, page), "utf8");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** The code blocks of a language, each on the lines where it stands in its page. */
function codeBlocks(page: string, language: string): string[] {
  return [...read(page).matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, written]) => written === language)
    .map((block) => "\n".repeat(read(page).slice(0, block.index).split("\n").length) + (block[2] ?? ""));
}

/** The anchors of the headings of a page, as GitHub makes them: the second one of a name gets a number. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const prose = read(page).replaceAll(/^```[^]*?^```$/gm, "");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  );
  return new Set(
    headings.map((heading) => {
      const count = seen.get(heading) ?? 0;
      seen.set(heading, count + 1);
      return count === 0 ? heading : `${heading}-${count}`;
    }),
  );
}

/** What docs/storage-postgres-handles.md passes to postgresStorage. */
const postgresHandles = [
  "postgres",
  "@electric-sql",
  "@prisma",
  "drizzle-orm",
  "kysely",
  "knex",
  "typeorm",
  "@neondatabase",
];

/** What docs/observability.md uses. */
const observers = ["pino", "pino-http", "prom-client", "@opentelemetry"];

/** What docs/neighbours.md has beside authmount. */
const neighbours = [
  "compression",
  "cors",
  "csrf-csrf",
  "http-proxy-middleware",
  "morgan",
  "@nestjs",
  "serverless-http",
  "@auth",
];

/** Programs that are the same in JavaScript and in TypeScript. */
const firstPrograms = ["README.md", "docs/getting-started.md"].map(
  (page) =>
    [
      `${path.basename(page)}.mts`,
      codeBlocks(page, "js").find((code) => code.includes("createAuthServer(")) ?? "",
    ] as const,
);

describe("README and docs", () => {
  it.each(pages)("%s: every link to a heading finds it", (page) => {
    const links = [...read(page).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)];
    const dead = links.filter(([, link = "", anchor = ""]) => {
      const target = link === "" ? page : path.join(path.dirname(page), link);
      return target.endsWith(".md") && !anchorsOf(target).has(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });

  it.each(pages)("%s: every link inside the repository leads somewhere", (page) => {
    const links = [...read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => link ?? "");
    const dead = links.filter((link) => !existsSync(path.join(repository, path.dirname(page), link)));
    expect(dead).toEqual([]);
  });

  it("rfc-map.md is as the comments have it: npm run docs makes it again", () => {
    expect(read("docs/rfc-map.md")).toBe(rfcMap());
  });

  it("packaging.md lists what its tests run: npm run docs makes it again", () => {
    expect(read("docs/packaging.md")).toBe(packagingPage());
    const named = [...read("docs/packaging.md").matchAll(/\| `([\w-]+)` \|$/gm)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !existsSync(path.join(__dirname, `packaging/${name}.test.ts`)))).toEqual(
      [],
    );
  });

  it("security.md names tests that exist", () => {
    const named = [
      ...read("docs/security.md").matchAll(
        /`((?:attacks|clients|endpoints|flows|grants|neighbours|protocol|storage)\/[\w-]+)`/g,
      ),
    ];
    const missing = named
      .map(([, name]) => name)
      .filter((name) => !existsSync(path.join(__dirname, `${name}.test.ts`)));
    expect(missing).toEqual([]);
  });

  it("neighbours.md names tests that exist", () => {
    const named = [...read("docs/neighbours.md").matchAll(/`(recipes|neighbours\/[\w-]+)`/g)];
    const missing = named
      .map(([, name]) => name)
      .filter((name) => !existsSync(path.join(__dirname, `${name}.test.ts`)));
    expect(named.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  it("storage-postgres.md prints the schema as it is", () => {
    const printed = oneLine(read("docs/storage-postgres.md"));
    const statements = schemaVersions(tablesIn("public")).flat();
    expect(statements.filter((statement) => !printed.includes(`${oneLine(statement)};`))).toEqual([]);
  });

  it("README prints the minimal example as it is", () => {
    expect(read("README.md")).toContain(`\`\`\`js\n${read("examples/minimal/server.mjs")}\`\`\``);
  });

  it("README names the two commands and the scripts exist", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(read("README.md")).toContain("npm ci && npm run demo");
    expect(read("README.md")).toContain("npm ci && npm test");
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["demo", "test"]));
  });

  it("every pool and Redis client has a listener for errors: without one a broken connection ends the process", () => {
    const blocks = pages.flatMap((page) => codeBlocks(page, "ts").map((code) => [page, code] as const));
    const opening = blocks.filter(([, code]) => /new Pool\(|createClient\(/.test(code));
    expect(opening.length).toBeGreaterThan(2);
    expect(opening.filter(([, code]) => !code.includes('.on("error"')).map(([page]) => page)).toEqual([]);
  });

  it("every TypeScript block, and the first programs as TypeScript, compile against the built package", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "authmount-docs-"));
    const modules = path.join(folder, "node_modules");
    await mkdir(modules);
    await symlink(repository, path.join(modules, "authmount"), "junction");
    for (const name of [
      "express",
      "cookie-parser",
      "@types",
      "pg",
      "redis",
      "ioredis",
      "helmet",
      "express-rate-limit",
      "supertest",
      ...postgresHandles,
      ...observers,
      ...neighbours,
    ]) {
      await symlink(path.join(repository, "node_modules", name), path.join(modules, name), "junction");
    }
    const snippets = pages.flatMap((page) =>
      codeBlocks(page, "ts").map(
        (code, index) => [`${page.replaceAll("/", "_")}.${index}.ts`, code] as const,
      ),
    );
    const blocks = [...snippets, ...firstPrograms];
    for (const [file, code] of blocks) await writeFile(path.join(folder, file), code);
    await writeFile(path.join(folder, "package.json"), '{"type":"module"}');
    const compilerOptions = {
      module: "nodenext",
      target: "es2023",
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      experimentalDecorators: true,
      // Drizzle and PGlite name types of packages that few have; the packaging tests check those of this package
      skipLibCheck: true,
    };
    const tsconfig = { compilerOptions, files: blocks.map(([file]) => file) };
    await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
    const tsc = path.join(repository, "node_modules/@typescript/native/bin/tsc");
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [tsc, "-p", folder]).catch(
      (error: { stdout: string }) => error,
    );
    await rm(folder, { recursive: true });
    expect(snippets.length).toBeGreaterThan(0);
    expect(firstPrograms.filter(([, code]) => code === "")).toEqual([]);
    expect(stdout).toBe("");
  });
});
