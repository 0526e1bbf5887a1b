/** The code of the documentation compiles, with every library that it stands beside. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { codeBlocks, pages, read } from "../../__tests__/sources/pages-of-docs";

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

/** What the table of docs/storage-postgres.md says to pass, for the handles that need no code of their own. */
const postgresTable = [...read("docs/storage-postgres.md").matchAll(/^\| (.+?)[ \d.]*\| `([^`]+)` \|$/gm)]
  .map(([, name = "", expression = ""]) => [name, expression] as const)
  .filter(([, expression]) => /^(?:\{ query: |[\w.$]+$)/.test(expression));

const postgresTablePrograms = `
import type { PGlite } from "@electric-sql/pglite";
import type { NeonQueryFunction, Pool as NeonPool } from "@neondatabase/serverless";
import type { PrismaPromise } from "@prisma/client/runtime/client";
import { postgresStorage } from "authmount/postgres";
import type { drizzle } from "drizzle-orm/node-postgres";
import type { Pool } from "pg";

declare const db: ReturnType<typeof drizzle>;
declare const pglite: PGlite;
declare const pool: Pool & NeonPool;
declare const prisma: { $queryRawUnsafe<T>(query: string, ...values: any[]): PrismaPromise<T> };
declare const sql: NeonQueryFunction<false, false>;

export const storages = [
${postgresTable.map(([, expression]) => `  postgresStorage({ pool: ${expression} }),`).join("\n")}
];
`;

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
      "mysql2",
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
    const blocks = [...snippets, ...firstPrograms, ["postgres-handles.ts", postgresTablePrograms] as const];
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
    expect(postgresTable.map(([name]) => name)).toEqual(expect.arrayContaining(["Prisma", "Neon over HTTP"]));
    expect(firstPrograms.filter(([, code]) => code === "")).toEqual([]);
    expect(stdout).toBe("");
  });
});
