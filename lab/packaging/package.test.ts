/** What the tarball holds, what an installation of it puts on the disk, and that its examples run from there. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { installed, pack, type Packed, run, typeCheck } from "./packed-host";
import { freePort } from "../../__tests__/servers/server-process";
import matrix from "./matrix.json";

const repository = path.resolve(__dirname, "../..");

/** Each driver's own handle, without a cast. */
const sqliteHandles = `
import { DatabaseSync } from "node:sqlite";
import Better from "better-sqlite3";
import Libsql from "libsql";
import { sqliteStorage } from "authmount/sqlite";

export const stores = [
  sqliteStorage({ handle: new DatabaseSync("a.sqlite") }),
  sqliteStorage({ handle: new Better("b.sqlite") }),
  sqliteStorage({ handle: new Libsql("c.sqlite") }),
];
`;

let packed: Packed;
/** A host in JavaScript: it has no types, and no driver of a database. */
let host: string;

beforeAll(async () => {
  packed = await pack();
  host = await packed.install(`express@${matrix.express.at(-1)}`);
});

afterAll(() => packed.remove());

describe("SQLite in a host that has installed the packed package", () => {
  it("takes the handle of each driver without a cast", async () => {
    const own = path.join(path.dirname(host), "host-with-drivers");
    await cp(host, own, { recursive: true });
    const modules = path.join(own, "node_modules");
    await mkdir(path.join(modules, "@types"), { recursive: true });
    for (const [name, from] of [
      ["@types/node", "../lab/node_modules/types-node24"],
      ["@types/better-sqlite3", "@types/better-sqlite3"],
      ["better-sqlite3", "better-sqlite3"],
      ["libsql", "libsql"],
    ] as const) {
      await symlink(path.join(installed, from), path.join(modules, name), "junction");
    }
    // the types of libsql need names that nobody has declared
    const checked = { files: { "handles.ts": sqliteHandles }, options: { skipLibCheck: true } };
    expect(await typeCheck(own, checked)).toBe("");
  });

  it("says what to install where there is no driver, and makes no file", async () => {
    // a driver that this Node.js brings along is hidden
    const text = `const { Module } = require("node:module");
      const load = Module._load;
      Module._load = (name, ...rest) => {
        if (name === "node:sqlite") throw Object.assign(new Error(name), { code: "ERR_UNKNOWN_BUILTIN_MODULE" });
        return load(name, ...rest);
      };
      try { require("authmount/sqlite").sqliteStorage({ file: "host.sqlite" }); }
      catch (error) { process.stdout.write(error.message); }`;
    const { stdout } = await run(process.execPath, ["-e", text], { cwd: host });
    expect(stdout).toMatch(/no SQLite driver was found.*Node\.js 22\.13.*npm install libsql/);
    expect(existsSync(path.join(host, "host.sqlite"))).toBe(false);
  });
});

describe("the tarball", () => {
  let files: readonly string[];

  beforeAll(async () => {
    const { stdout } = await run("tar", ["-tzf", packed.tarball]);
    files = stdout
      .trim()
      .split("\n")
      .map((file) => file.replace("package/", ""));
  });

  it("holds what a host needs and reads, and nothing else", () => {
    expect([...new Set(files.map((file) => file.split("/")[0] ?? ""))].toSorted()).toEqual([
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "dist",
      "docs",
      "examples",
      "package.json",
    ]);
    const unread = files.filter(
      (file) => !/^dist\/.*\.(?:js|d\.ts)$|^docs\/.*\.md$|^examples\/|^[^/]+$/.test(file),
    );
    expect(unread).toEqual([]);
  });

  it("holds what its pages link to, except the screenshots", async () => {
    const dead: string[] = [];
    for (const page of files.filter((file) => file.endsWith(".md"))) {
      const text = await readFile(path.join(repository, page), "utf8");
      const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
      const targets = links.map((link) => path.posix.join(path.posix.dirname(page), link));
      const isThere = (target: string): boolean =>
        files.some((file) => file === target || file.startsWith(`${target}/`));
      dead.push(...targets.filter((target) => !isThere(target)).map((target) => `${page} → ${target}`));
    }
    expect(dead.filter((link) => !/ → docs\/screenshots\/[\w-]+\.png$/.test(link))).toEqual([]);
  });

  it.each(["minimal/server.mjs", "demo/server.js"])(
    "runs its example %s where it is installed",
    async (file) => {
      const port = await freePort();
      const child = spawn(process.execPath, [path.join("node_modules/authmount/examples", file)], {
        cwd: host,
        env: { ...process.env, NODE_ENV: "development", PORT: String(port) },
      });
      const printed = await new Promise<string>((resolve) => {
        let out = "";
        child.once("close", () => resolve(`ended: ${out}`));
        const add = (chunk: Buffer): void => {
          out += chunk.toString();
          if (/ http:\/\/localhost:\d+\/(?:shop)?\n/.test(out)) resolve("serves");
        };
        child.stdout.on("data", add);
        child.stderr.on("data", add);
      });
      expect(printed).toBe("serves");
      const { status } = await fetch(`http://localhost:${port}${file.startsWith("minimal") ? "/shop" : "/"}`);
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill();
      await ended;
      expect(status).toBe(200);
    },
  );
});

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

it("locks the packages of every platform, so that npm ci works on Linux, macOS and Windows", async () => {
  const lock = JSON.parse(await readFile(path.join(repository, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const known = Object.keys(lock.packages);
  const missing = Object.entries(lock.packages).flatMap(([from, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter(
        (name) =>
          !known.some((key) => key === `node_modules/${name}` || key === `${from}/node_modules/${name}`),
      )
      .map((name) => `${from} → ${name}`),
  );
  expect(missing).toEqual([]);
});
