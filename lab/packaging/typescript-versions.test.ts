/** TypeScript hosts of the installed package, with every minor version of the compiler since 5.0 and `skipLibCheck: false`. */
import path from "node:path";
import { imported, storages, typedProgram } from "./host-programs";
import { entryPoints, installInto, pack, type Packed, typeCheckBy, writeFiles } from "./packed-host";
import matrix from "./matrix.json";

let packed: Packed;
let compilers: string;

function aliasOf(version: string): string {
  return `typescript-${version}`;
}

async function installCompilers(folder: string): Promise<string> {
  const versions = matrix.typescript.flatMap((group) => group.versions);
  return installInto(
    folder,
    versions.map((version) => `${aliasOf(version)}@npm:typescript@${version}`),
  );
}

/** What a host has installed: the major version of Express and the types. */
interface HostPackages {
  readonly express: "4" | "5";
  readonly nodeTypes: string;
}

type About = Parameters<typeof typeCheckBy>[1];

const programs = ["host.ts", "host.mts", "storages.ts", "entries.ts"];

async function newHost({ express, nodeTypes }: HostPackages): Promise<string> {
  const types = [`@types/express@${matrix.expressTypes[express]}`, `@types/node@${nodeTypes}`];
  const host = await packed.install(`express@${express}`, ...types);
  const entries = (await entryPoints()).map((entry, index) => `import * as entry${index} from "${entry}";`);
  const all = entries.map((_, index) => `entry${index}`).join(", ");
  const bait = `// @ts-expect-error: there is no such name, and the compiler must see it\nimport { nothing } from "authmount";`;
  await writeFiles(host, {
    "host.ts": imported + typedProgram,
    "host.mts": imported + typedProgram,
    "storages.ts": storages,
    "entries.ts": `${entries.join("\n")}\n${bait}\nexport const all = [${all}];\n`,
  });
  return host;
}

beforeAll(async () => {
  packed = await pack();
  compilers = await installCompilers(path.join(path.dirname(packed.tarball), "compilers"));
});

afterAll(() => packed.remove());

/** All three where they differ, which is in few versions. */
function resolutionsOf(version: string): readonly ("node16" | "nodenext" | "bundler")[] {
  const all = matrix.typescriptByEachResolution.includes(version);
  return all ? ["node16", "nodenext", "bundler"] : ["nodenext"];
}

function check(version: string, about: Pick<About, "host" | "by">): ReturnType<typeof typeCheckBy> {
  const compiler = path.join(compilers, "node_modules", aliasOf(version));
  return typeCheckBy(compiler, { ...about, programs });
}

for (const { nodeTypes, versions } of matrix.typescript) {
  describe.each(["4", "5"] as const)(`@types/node ${nodeTypes}, Express %s`, (express) => {
    let host: string;

    beforeAll(async () => {
      host = await newHost({ express, nodeTypes });
    });

    const tried = versions.filter(
      (version) => express === "5" || matrix.typescriptWithExpress4.includes(version),
    );
    it.each(tried)("TypeScript %s checks every entry point", async (version) => {
      const by = express === "5" ? resolutionsOf(version) : (["nodenext"] as const);
      const clean = Object.fromEntries(by.map((resolution) => [resolution, ""]));
      expect(await check(version, { host, by })).toEqual(clean);
    });
  });
}

describe("the newest @types/node, with compilers that are too old for it", () => {
  const nodeTypes = matrix.typescript.at(-1)?.nodeTypes ?? "";
  const tooOld = matrix.typescript[0]?.versions ?? [];
  let host: string;

  beforeAll(async () => {
    host = await newHost({ express: "5", nodeTypes });
  });

  it.each([tooOld[0] ?? "", tooOld.at(-1) ?? ""])(
    "TypeScript %s fails in @types/node and nowhere else",
    async (version) => {
      const { nodenext = "" } = await check(version, { host, by: ["nodenext"] });
      const files = nodenext
        .split("\n")
        .flatMap((line) => /^(\S.*?)\(\d+,\d+\): error/.exec(line)?.[1] ?? []);
      expect(files.length).toBeGreaterThan(0);
      expect(files.filter((file) => !file.startsWith("node_modules/@types/node/"))).toEqual([]);
    },
  );
});
