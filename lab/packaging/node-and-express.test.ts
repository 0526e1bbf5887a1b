/** Every entry point of the installed package, by `import` and by `require`, on each Node.js and with each Express. */
import { access, readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { findNode } from "./newer-node";
import { imported, printed, program, required } from "./host-programs";
import { entryPoints, pack, type Packed, run, writeFiles } from "./packed-host";
import { describeWith } from "../../__tests__/servers/server-process";
import matrix from "./matrix.json";

let packed: Packed;
const hosts = new Map<string, string>();

/** Writes the two programs of a host: both load every entry point, one of them names everything that is exported. */
async function writePrograms(host: string): Promise<void> {
  const entries = await entryPoints();
  const lines: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const text = `process.stdout.write(JSON.stringify(Object.keys(require("${entry}"))))`;
    const { stdout } = await run(process.execPath, ["-e", text], { cwd: host });
    const names = (JSON.parse(stdout) as readonly string[]).map((name) => `${name} as ${name}_${index}`);
    lines.push(`import { ${names.join(", ")} } from "${entry}";`);
    const own = names.map((name) => name.replace(/(\w+) as (\w+)/, `["$1", $2, loaded("${entry}").$1]`));
    lines.push(`check([${own.join(", ")}]);`);
  }
  const checks = `import { createRequire } from "node:module";
const loaded = createRequire(import.meta.url);
function check(all) {
  for (const [name, one, other] of all)
    if (one === undefined || one !== other) throw new Error(name + " differs between import and require");
}
`;
  const loads = entries.map((entry) => `require("${entry}");\n`).join("");
  await writeFiles(host, {
    "host.mjs": checks + lines.join("\n") + imported + program,
    "host.cjs": loads + required + program,
  });
}

async function hostWith(version: string): Promise<string> {
  const known = hosts.get(version);
  if (known !== undefined) return known;
  const host = await packed.install(`express@${version}`);
  await writePrograms(host);
  hosts.set(version, host);
  return host;
}

beforeAll(async () => {
  packed = await pack();
});

afterAll(() => packed.remove());

/** The commands of the package, and the file of each. */
async function commandsOf(host: string): Promise<readonly string[]> {
  const file = path.join(host, "node_modules/authmount/package.json");
  const { bin = {} } = JSON.parse(await readFile(file, "utf8")) as { bin?: string | Record<string, string> };
  return Object.values(typeof bin === "string" ? { authmount: bin } : bin);
}

interface Installed {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What npm has installed: the place of each package, and the package. */
async function installedIn(host: string): Promise<ReadonlyMap<string, Installed>> {
  const text = await readFile(path.join(host, "node_modules/.package-lock.json"), "utf8");
  const { packages } = JSON.parse(text) as { packages: Record<string, Installed> };
  return new Map(Object.entries(packages).map(([place, one]) => [place.replace("node_modules/", ""), one]));
}

/** The names of all that comes because authmount needs it, whether Express needs it too or not. */
function broughtAlong(all: ReadonlyMap<string, Installed>): readonly string[] {
  const names = new Set<string>();
  const add = (place: string): void => {
    for (const name of Object.keys(all.get(place)?.dependencies ?? {})) {
      const nested = `${place}/node_modules/${name}`;
      if (names.has(name)) continue;
      names.add(name);
      add(all.has(nested) ? nested : name);
    }
  };
  add("authmount");
  return [...names].toSorted();
}

/** Express, or one of its packages, needs another version of these than cookie-parser or jsonwebtoken. Each is a few kilobytes. */
const ofOtherVersions = ["cookie", "cookie-signature", "ms"];

/** The names that are there more than once. */
function repeated(all: ReadonlyMap<string, Installed>): readonly string[] {
  const names = [...all.keys()].map((place) => place.replace(/^.*node_modules\//, ""));
  return [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = files.map(async (file) =>
    file.isFile() ? (await stat(path.join(file.parentPath, file.name))).size : 0,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

describe.each(matrix.express)("what is installed with Express %s", (express) => {
  it("is what docs/packaging.md says, and no types", async () => {
    const all = await installedIn(await hostWith(express));
    expect(broughtAlong(all)).toEqual(matrix.broughtAlong);
    expect([...all.keys()].filter((place) => place.startsWith("@types/"))).toEqual([]);
  });

  it("is small, and there once, unless Express itself needs another version", async () => {
    const host = await hostWith(express);
    const all = await installedIn(host);
    const ours = repeated(all).filter((name) => matrix.broughtAlong.includes(name));
    expect(ours.filter((name) => !ofOtherVersions.includes(name))).toEqual([]);
    expect(all.size).toBeLessThanOrEqual(120);
    expect(await bytesIn(path.join(host, "node_modules"))).toBeLessThan(13_000_000);
    expect(await bytesIn(path.join(host, "node_modules/authmount"))).toBeLessThan(3_850_000);
  });
});

for (const node of matrix.node) {
  const found = findNode(node);
  describeWith(
    { name: `Node.js ${node}`, found: found !== undefined },
    {
      name: `Node.js ${node}`,
      tests() {
        it.each(
          matrix.express.flatMap((express) => [
            [express, "import", "host.mjs"],
            [express, "require", "host.cjs"],
          ]),
        )("with Express %s: every entry point by %s, a token, a call", async (express, _, file) => {
          const host = await hostWith(express);
          const { stdout, stderr } = await run(found ?? "", ["--trace-deprecation", file], { cwd: host });
          expect(stdout).toBe(printed);
          expect(stderr).not.toMatch(/node_modules.authmount/);
        });

        it("runs the commands of the package", async () => {
          const host = await hostWith(matrix.express.at(-1) ?? "");
          for (const command of await commandsOf(host)) {
            const file = path.join(host, "node_modules/authmount", command);
            await access(file);
            const { stdout } = await run(found ?? "", [file, "--help"], { cwd: host });
            expect(stdout).not.toBe("");
          }
        });
      },
    },
  );
}
