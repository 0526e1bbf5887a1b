/** What the package is made of: lock files, licences, the bill of materials, and what the registry says of vulnerabilities. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import {
  type Lock,
  lockFiles,
  lockProblems,
  runtimePackages,
  scriptProblems,
} from "../../.github/workflows/supply-chain";

const repository = path.resolve(__dirname, "../..");
const text = (name: string): string => readFileSync(path.join(repository, name), "utf8");
const json = (name: string): unknown => JSON.parse(text(name));
const lock = json("package-lock.json") as Lock;
const runtime = runtimePackages(lock);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

/** Runs a program in the repository to its end. */
function run(command: string, { args, env = {} }: { args: readonly string[]; env?: object }): Promise<Ended> {
  const child = spawn(command, args, { cwd: repository, env: { ...process.env, ...env } });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => void (stdout += chunk.toString()));
  child.stderr.resume();
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout }));
  });
}

describe("lock files", () => {
  it.each(lockFiles)("%s: every package from the registry, with a digest", (file) => {
    expect(lockProblems(json(file) as Lock)).toEqual([]);
  });

  const digest = `sha512-${"A".repeat(86)}==`;
  const good = { version: "1.0.0", integrity: digest };
  const own = { dependencies: { a: "^1.0.0" } };

  it("a good one has no problem", () => {
    expect(lockProblems({ lockfileVersion: 3, packages: { "": own, "node_modules/a": good } })).toEqual([]);
  });

  it.each<[string, object, object, string]>([
    ["another host", own, { ...good, resolved: "https://mirror.example/a.tgz" }, "names a URL"],
    [
      "a package in another's place",
      own,
      { ...good, resolved: "https://registry.npmjs.org/b/-/b-1.0.0.tgz" },
      "names a URL",
    ],
    ["git", own, { ...good, resolved: "git+ssh://git@github.com/a/a.git#1234" }, "names a URL"],
    ["a folder", own, { ...good, resolved: "../a", link: true }, "is a link"],
    ["no digest", own, { version: "1.0.0" }, "has no sha512"],
    ["a weak digest", own, { ...good, integrity: "sha1-AAAA" }, "has no sha512"],
    ["a second, weak digest", own, { ...good, integrity: `${digest} sha1-AAAA` }, "has no sha512"],
    ["a script", own, { ...good, hasInstallScript: true }, "runs a script"],
    ["git in package.json", { dependencies: { a: "github:b/a" } }, good, "is no version"],
    ["a shorthand in package.json", { devDependencies: { a: "b/a" } }, good, "is no version"],
    ["a file in package.json", { dependencies: { a: "file:../a" } }, good, "is no version"],
    ["a URL in package.json", { dependencies: { a: "https://a.example/a.tgz" } }, good, "is no version"],
    ["a tag in package.json", { dependencies: { a: "latest" } }, good, "is no version"],
    ["a package that is not locked", { dependencies: { a: "1", b: "1" } }, good, "is not in the lock file"],
  ])("refuses %s", (_, root, locked, problem) => {
    const packages = { "": root, "node_modules/a": locked };
    expect(lockProblems({ lockfileVersion: 3, packages }).join()).toContain(problem);
  });

  it("a script of a package that only tests use is not the host's business", () => {
    const packages = {
      "": own,
      "node_modules/a": good,
      "node_modules/b": { ...good, hasInstallScript: true },
    };
    expect(lockProblems({ lockfileVersion: 3, packages })).toEqual([]);
  });

  it("finds nested packages as Node.js does", () => {
    const needsC = { ...good, dependencies: { c: "2" } };
    const nested = { ...good, hasInstallScript: true };
    const packages = {
      "": own,
      "node_modules/a": needsC,
      "node_modules/c": good,
      "node_modules/a/node_modules/c": nested,
    };
    expect(lockProblems({ lockfileVersion: 3, packages })).toEqual([
      "node_modules/a/node_modules/c runs a script when it is installed, at every host.",
    ]);
  });
});

describe("package.json", () => {
  it("runs nothing where the package is installed", () => {
    expect(scriptProblems(json("package.json") as object)).toEqual([]);
    expect(scriptProblems({ scripts: { postinstall: "node x.js" } })).toHaveLength(1);
  });
});

describe("docs/security.md", () => {
  const [, page = ""] = text("docs/security.md").split("\n## Supply chain\n");
  const [, dependenciesOf = ""] = page.split("\n|---|---|\n");

  it("says how many packages a host gets, and where their licences are listed", () => {
    expect(page).toContain(
      `a host installs ${runtime.length} packages, listed with their licences in \`sbom.cdx.json\``,
    );
  });

  it("says of each dependency what it is for", () => {
    const { dependencies } = json("package.json") as { dependencies: object };
    const direct = [...dependenciesOf.matchAll(/^\| `([^`]+)` \| .+ \|$/gm)].map(([, name]) => name);
    expect(direct).toEqual(Object.keys(dependencies));
  });
});

describe("the bill of materials", () => {
  it("can be made offline from the lock file, and names each package with its licence and its digest", async () => {
    const args = [".github/workflows/supply-chain.js", "--sbom"];
    const { code, stdout } = await run(process.execPath, { args });
    expect(code).toBe(0);
    const { bomFormat, metadata, components } = JSON.parse(stdout) as {
      bomFormat: string;
      metadata: { component: { name: string; purl: string } };
      components: readonly {
        name: string;
        purl: string;
        hashes: readonly { alg: string }[];
        licenses: readonly { license: { id: string } }[];
      }[];
    };
    const { version } = json("package.json") as { version: string };
    expect(bomFormat).toBe("CycloneDX");
    expect(metadata.component).toMatchObject({ name: "authmount", purl: `pkg:npm/authmount@${version}` });
    const licensed = components.map(({ name, licenses: [first] }) => [name, first?.license.id]);
    expect(licensed.toSorted(([one = ""], [other = ""]) => one.localeCompare(other))).toEqual(runtime);
    for (const { purl, hashes } of components) {
      expect(purl).toMatch(/^pkg:npm\//);
      expect(hashes.map(({ alg }) => alg)).toContain("SHA-512");
    }
  });
});

describe("release.yml", () => {
  const steps = text(".github/workflows/release.yml");

  it("audits and installs without scripts before it publishes, and each package that is packed has a bill of materials", () => {
    const names = ["supply-chain.js --audit", "npm ci --ignore-scripts", "npm publish"];
    const order = names.map((step) => steps.indexOf(step));
    expect(order).toEqual([...order].toSorted((a, b) => a - b));
    expect(order[0]).toBeGreaterThan(0);
    const { files, scripts } = json("package.json") as {
      files: readonly string[];
      scripts: { prepack: string };
    };
    expect(files).toContain("sbom.cdx.json");
    expect(scripts.prepack).toMatch(/--sbom > sbom\.cdx\.json$/);
  });
});

describe("npm audit", () => {
  let registry: Server;
  /** What the registry answers to a question about vulnerabilities. */
  let answer: { readonly status: number; readonly body: string };

  beforeAll(async () => {
    registry = createServer((req, res) => {
      const isAudit = req.method === "POST";
      req.resume().once("end", () => {
        res.writeHead(isAudit ? answer.status : 404, { "Content-Type": "application/json" });
        res.end(isAudit ? answer.body : "{}");
      });
    });
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => registry.close());

  const advisory = {
    id: 1,
    url: "https://advisories.example/1",
    title: "Bad",
    severity: "high",
    vulnerable_versions: "<999",
    cwe: [],
    cvss: { score: 9, vectorString: "" },
  };

  it.each<[string, number, string, string, readonly [number, number]]>([
    ["nothing is known", 200, "{}", "No known vulnerabilities.", [0, 0]],
    ["something is known", 200, JSON.stringify({ "lru-cache": [advisory] }), "Vulnerable: lru-cache", [1, 1]],
    ["the registry has no audit: only a release needs one", 405, "{}", "has not answered", [0, 1]],
  ])("%s", async (_, status, body, said, codes) => {
    answer = { status, body };
    const { port } = registry.address() as AddressInfo;
    const npm = { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: "0" };
    for (const [GITHUB_ACTIONS, code] of [["false", codes[0]] as const, ["true", codes[1]] as const]) {
      const args = [".github/workflows/supply-chain.js", "--audit"];
      const ended = await run(process.execPath, { args, env: { ...npm, GITHUB_ACTIONS } });
      expect(ended.stdout).toContain(said);
      expect(ended.code).toBe(code);
    }
  });
});
