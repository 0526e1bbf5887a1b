import { existsSync } from "node:fs";
import path from "node:path";
import { packagingPage } from "../docs/make-packaging";
import { rfcMap } from "../docs/make-rfc-map";
import { tableNames } from "../lib/adapters/table-names";
import { anchorsOf, codeBlocks, linksOf, pages, read } from "./sources/pages-of-docs";
import { testFile } from "./sources/source-files";

const repository = path.resolve(__dirname, "..");

describe("README and docs", () => {
  it.each(pages)("%s: every link to a heading finds it", (page) => {
    const dead = linksOf(read(page)).filter(({ file, anchor }) => {
      const target = file === "" ? page : path.join(path.dirname(page), file);
      return anchor !== "" && target.endsWith(".md") && !anchorsOf(read(target)).has(anchor);
    });
    expect(dead).toEqual([]);
  });

  it.each(pages)("%s: every link inside the repository leads somewhere", (page) => {
    const files = linksOf(read(page)).map(({ file }) => file);
    const dead = files.filter((file) => !existsSync(path.join(repository, path.dirname(page), file)));
    expect(dead).toEqual([]);
  });

  it("rfc-map.md is as the comments have it: npm run docs makes it again", () => {
    expect(read("docs/rfc-map.md")).toBe(rfcMap());
  });

  it("packaging.md lists what its tests run: npm run docs makes it again", () => {
    expect(read("docs/packaging.md")).toBe(packagingPage());
    const named = [...read("docs/packaging.md").matchAll(/\| `([\w-]+)` \|$/gm)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !existsSync(testFile(`lab/packaging/${name}`)))).toEqual([]);
  });

  it.each(["postgres", "mysql"])("storage-%s.md names every table", (engine) => {
    const [list = ""] = /^The tables are [^.]*\./m.exec(read(`docs/storage-${engine}.md`)) ?? [];
    expect(tableNames.filter((name) => !list.includes(`\`${name}\``))).toEqual([]);
  });

  it("README prints the host's half of the minimal example as it is", () => {
    const [host = ""] = read("examples/minimal/server.mjs").split("\n// Shop, the client: ");
    expect(host).toContain("createAuthServer({");
    expect(read("README.md")).toContain(`\`\`\`js\n${host}\`\`\``);
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
});

describe("word budgets", () => {
  const rows = [...read("CONTRIBUTING.md").matchAll(/^\| `(\S+\.md)` \| ([\d,]+) \|$/gm)];
  const budgets = rows.map(([, page = "", words = ""]) => [page, Number(words.replace(",", ""))] as const);
  const generated = ["rfc-map", "assessment", "packaging"].map((name) => `docs/${name}.md`);

  it("CONTRIBUTING.md has one for each page that is written by hand", () => {
    const written = pages.filter((page) => page === "README.md" || /^docs\/[^/]+$/.test(page));
    expect(budgets.map(([page]) => page).toSorted()).toEqual(
      written.filter((page) => !generated.includes(page)).toSorted(),
    );
  });

  it.each(budgets)("%s has at most %i words", (page, words) => {
    expect(read(page).trim().split(/\s+/).length).toBeLessThanOrEqual(words);
  });

  it("are at most 52,022 words together", () => {
    expect(budgets.reduce((sum, [, words]) => sum + words, 0)).toBeLessThanOrEqual(52_022);
  });
});
