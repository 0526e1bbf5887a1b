/** The workflows that test and publish the package: who may do what, and what must come before. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { releaseProblems } from "../../.github/workflows/check-release";

const repository = path.resolve(__dirname, "../..");
const folder = path.join(repository, ".github/workflows");
const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");
const workflows = readdirSync(folder).filter((name) => name.endsWith(".yml"));

/** A job of a workflow: what is written below its name. */
function job(workflow: string, name: string): string {
  const [, rest = ""] = read(workflow).split(`\n  ${name}:\n`);
  return rest.split(/\n {2}\S/)[0] ?? "";
}

/** Without comments. */
const lines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => !line.trimStart().startsWith("#"));

const good = {
  tag: "v1.2.3",
  repository: "somebody/authmount",
  manifest: {
    version: "1.2.3",
    repository: { type: "git", url: "git+https://github.com/somebody/authmount.git" },
    homepage: "https://github.com/somebody/authmount#readme",
    bugs: { url: "https://github.com/somebody/authmount/issues" },
    author: "Somebody",
  },
  lock: { version: "1.2.3" },
  changelog: "# Changelog\n\n## 1.2.3 (2030-01-01)\n\n## 1.2.2\n",
};

describe.each(workflows)("%s", (workflow) => {
  const text = read(workflow);

  it("gives its jobs no more than they need", () => {
    const written = lines(text).filter((line) => /^\s+[a-z-]+: write$/.test(line));
    const needed: Record<string, readonly string[]> = {
      "release.yml": ["      id-token: write"],
      "site.yml": ["      pages: write", "      id-token: write"],
    };
    expect(written).toEqual(needed[workflow] ?? []);
    expect(text).toMatch(/^permissions:(?: \{\}|\n {2}contents: read)\n/m);
  });

  it("uses no secret, and runs no code of a pull request with the rights of the repository", () => {
    expect(lines(text).join("\n")).not.toMatch(/secrets\.|secrets: inherit|pull_request_target|workflow_run/);
  });

  it("puts no text of a stranger into a shell", () => {
    const steps = lines(text).filter((line) => /\brun: /.test(line));
    expect(steps.filter((line) => line.includes("${{"))).toEqual([]);
  });

  it("leaves no credentials in the working copy", () => {
    const [kept, taken] = ["persist-credentials: false", "uses: actions/checkout@"].map(
      (word) => text.split(word).length,
    );
    expect(kept).toBe(taken);
  });

  it("takes actions of GitHub itself only, by a version", () => {
    const used = [...text.matchAll(/uses: (\S+)/g)].map(([, name = ""]) => name);
    const allowed =
      /^(?:actions\/(?:checkout|setup-node|upload-pages-artifact|deploy-pages)@(?:v\d+|[0-9a-f]{40})|\.\/\.github\/workflows\/ci\.yml)$/;
    expect(used.filter((name) => !allowed.test(name))).toEqual([]);
  });
});

describe("ci.yml", () => {
  it("runs .ci/run, and the quick tests on every supported Node.js", () => {
    const { engines } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
      engines: { node: string };
    };
    const [, matrix = ""] = /node: \[(.*)\]/.exec(read("ci.yml")) ?? [];
    const [oldest, ...newer] = matrix.split(", ").map((each) => each.replaceAll('"', ""));
    expect(`>=${oldest}`).toBe(engines.node);
    expect(newer).toEqual(["22", "24"]);
    expect(job("ci.yml", "whole")).toContain("run: .ci/run");
  });
});

describe("mysql.yml", () => {
  it("runs tests that are there, and says that nobody has run it", () => {
    const [, named = ""] = /npx jest -i (.*) -t MariaDB/.exec(job("mysql.yml", "mysql")) ?? [];
    const tests = readdirSync(path.join(repository, "__tests__"), { recursive: true }).map(String);
    const found = named.split(" ").map((name) => tests.filter((file) => file.includes(name)).toSorted());
    expect(found).toEqual([
      ["adapters/mysql-sweep.test.ts", "adapters/mysql.test.ts"],
      ["testing/contract/contract.test.ts"],
      ["cli/migrate.test.ts"],
    ]);
    for (const text of [
      read("mysql.yml"),
      readFileSync(path.join(repository, "docs/storage-mysql.md"), "utf8"),
    ])
      expect(text.toLowerCase()).toMatch(/not run by us\s+yet/);
  });
});

describe("site.yml", () => {
  it("builds without rights, and publishes what was built without running code of the repository", () => {
    expect(job("site.yml", "build")).toContain("run: npm run site");
    expect(job("site.yml", "build")).not.toContain(": write");
    expect(job("site.yml", "publish")).not.toMatch(/run:|checkout/);
  });
});

describe("release.yml", () => {
  it("publishes after the checks and all tests, with provenance and without a token", () => {
    const publish = job("release.yml", "publish");
    expect(publish).toContain("needs: [check, ci]");
    expect(publish).toContain("id-token: write");
    expect(publish).toContain("npm publish --provenance");
    expect(publish).not.toMatch(/TOKEN|^ +cache:/m);
    expect(job("release.yml", "ci")).toContain("uses: ./.github/workflows/ci.yml");
    expect(job("release.yml", "check")).toContain("node .github/workflows/check-release.js");
    expect(read("release.yml").split("npm publish")).toHaveLength(2);
  });

  it("takes a tag that fits", () => {
    expect(releaseProblems(good)).toEqual([]);
  });

  it.each([
    ["another version", { tag: "v1.2.4" }, "Tag the commit v1.2.3."],
    ["a branch", { tag: "main" }, "Tag the commit v1.2.3."],
    ["another lock file", { lock: { version: "1.2.2" } }, "package-lock.json has the version 1.2.2"],
    [
      "no repository",
      { manifest: { ...good.manifest, repository: "" } },
      "git+https://github.com/somebody/authmount.git",
    ],
    [
      "no homepage",
      { manifest: { ...good.manifest, homepage: "" } },
      "https://github.com/somebody/authmount#readme",
    ],
    [
      "no address for bugs",
      { manifest: { ...good.manifest, bugs: {} } },
      "https://github.com/somebody/authmount/issues",
    ],
    ["no author", { manifest: { ...good.manifest, author: "" } }, "has no author"],
    ["a fork", { repository: "other/authmount" }, "git+https://github.com/other/authmount.git"],
    [
      "no changelog",
      { changelog: "## Unreleased\n\n## 1.2.30 (2030-01-01)\n" },
      'no heading "## 1.2.3 (YYYY',
    ],
    ["no day of the release", { changelog: "## 1.2.3 (unreleased)\n" }, "with the day of the release"],
    ["a private package", { manifest: { ...good.manifest, private: true } }, "Remove it."],
  ])("refuses %s, and says what to do", (_, change, problem) => {
    const problems = releaseProblems({ ...good, ...change });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  it("is asked by npm publish too, and refuses a manifest without addresses", () => {
    const manifest = readFileSync(path.join(repository, "package.json"), "utf8");
    const { scripts, ...rest } = JSON.parse(manifest) as { scripts: Record<string, string> };
    expect(scripts).toMatchObject({ prepublishOnly: "npm run release:check" });
    const elsewhere = mkdtempSync(path.join(tmpdir(), "authmount-release-"));
    const script = path.join(elsewhere, ".github/workflows/check-release.js");
    cpSync(path.join(folder, "check-release.js"), script);
    cpSync(path.join(repository, "package-lock.json"), path.join(elsewhere, "package-lock.json"));
    cpSync(path.join(repository, "CHANGELOG.md"), path.join(elsewhere, "CHANGELOG.md"));
    const none = { repository: undefined, homepage: undefined, bugs: undefined, author: undefined };
    writeFileSync(path.join(elsewhere, "package.json"), JSON.stringify({ ...rest, ...none }));
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith("GITHUB_")),
    );
    const { status, stderr } = spawnSync(process.execPath, [script], { env });
    rmSync(elsewhere, { recursive: true });
    expect(status).toBe(1);
    for (const name of Object.keys(none)) expect(String(stderr)).toContain(`"${name}"`);
    expect(String(stderr)).not.toContain("The tag");
  });

  it("says everything that is missing in this repository today", () => {
    const env = { ...process.env, GITHUB_REF_NAME: "v0.0.0", GITHUB_REPOSITORY: "somebody/elsewhere" };
    const { status, stderr } = spawnSync(process.execPath, [path.join(folder, "check-release.js")], { env });
    expect(status).toBe(1);
    expect(String(stderr)).toContain("The tag is v0.0.0");
    expect(String(stderr)).toContain("github.com/somebody/elsewhere.git");
  });
});
