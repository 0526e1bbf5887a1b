/** The code of the documentation compiles, with every library that it stands beside. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { codeBlocks, pages } from "../../__tests__/sources/pages-of-docs";

const repository = path.resolve(__dirname, "../..");

/** What docs/storage-postgres.md passes to postgresStorage. */
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

/** What docs/recipes.md and docs/add-to-an-app.md have beside authmount. */
const neighbours = [
  "compression",
  "connect-pg-simple",
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

const installed = ["lab/node_modules", "node_modules"].map((folder) => path.join(repository, folder));

/** Where a package is installed: some are in the laboratory only. */
function folderOf(name: string): string {
  return installed.map((folder) => path.join(folder, name)).find((folder) => existsSync(folder)) ?? name;
}

/** The packages of types, from both places. */
function typePackages(): ReadonlySet<string> {
  return new Set(installed.flatMap((folder) => readdirSync(path.join(folder, "@types"))));
}

describe("README and docs", () => {
  it("every TypeScript block, and the first programs as TypeScript, compile against the built package", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "authmount-docs-"));
    const modules = path.join(folder, "node_modules");
    await mkdir(path.join(modules, "@types"), { recursive: true });
    await symlink(repository, path.join(modules, "authmount"), "junction");
    for (const name of [
      "express",
      "cookie-parser",
      ...[...typePackages()].map((types) => `@types/${types}`),
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
      await symlink(folderOf(name), path.join(modules, name), "junction");
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
