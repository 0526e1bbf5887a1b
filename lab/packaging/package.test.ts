/** What the tarball holds, what an installation of it puts on the disk, and that its examples run from there. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { installed, pack, type Packed, run, typeCheck } from "./packed-host";
import { anchorsOf, linksOf, read } from "../../__tests__/sources/pages-of-docs";
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
    const top = new Set(files.map((file) => file.split("/")[0] ?? ""));
    // the bill of materials: prepack makes it, which does not run here
    top.delete("sbom.cdx.json");
    expect([...top].toSorted()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "dist",
      "docs",
      "examples",
      "package.json",
    ]);
    const unread = files.filter(
      (file) =>
        !/^dist\/.*\.(?:js|d\.ts)$|^docs\/.*\.md$|^docs\/screenshots\/.*\.png$|^examples\/|^[^/]+$/.test(
          file,
        ),
    );
    expect(unread).toEqual([]);
  });

  it("leaves out the pages for contributors", () => {
    const left = files.filter((file) =>
      /CONTRIBUTING|^docs\/(?:README|architecture|rfc-map|decisions)/.test(file),
    );
    expect(left).toEqual([]);
  });

  it("holds every file, heading and picture that its pages lead to", async () => {
    const folder = path.dirname(packed.tarball);
    await run("tar", ["-xzf", packed.tarball, "-C", folder]);
    const pages = files.filter((file) => file.endsWith(".md"));
    const texts = await Promise.all(
      pages.map((page) => readFile(path.join(folder, "package", page), "utf8")),
    );
    const textOf = new Map(pages.map((page, index) => [page, texts[index] ?? ""]));
    const isBroken = (target: string, anchor: string): boolean => {
      const text = textOf.get(target);
      if (text !== undefined) return anchor !== "" && !anchorsOf(text).has(anchor);
      return !files.some((file) => file === target || file.startsWith(`${target}/`));
    };
    const links = [...textOf].flatMap(([page, text]) =>
      linksOf(text).map(({ file, anchor }) => {
        const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file);
        return { page, target: target.replace(/\/$/, ""), anchor };
      }),
    );
    expect(links.filter(({ target }) => target.endsWith(".png")).length).toBeGreaterThan(0);
    const broken = links.filter(({ target, anchor }) => isBroken(target, anchor));
    expect(broken.map(({ page, target, anchor }) => `${page} → ${target}#${anchor}`)).toEqual([]);
  });

  it("packs no picture that no page shows", () => {
    const shown = files
      .filter((file) => file.endsWith(".md"))
      .flatMap((page) =>
        linksOf(read(page)).map(({ file }) => path.posix.join(path.posix.dirname(page), file)),
      );
    expect(files.filter((file) => file.endsWith(".png") && !shown.includes(file))).toEqual([]);
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
