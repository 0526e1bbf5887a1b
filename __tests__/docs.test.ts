import { existsSync } from "node:fs";
import path from "node:path";
import { packagingPage } from "../docs/make-packaging";
import { rfcMap } from "../docs/make-rfc-map";
import { tableNames } from "../lib/adapters/postgres/tables";
import { codeBlocks, pages, read } from "./sources/pages-of-docs";
import { testFile } from "./sources/source-files";

const repository = path.resolve(__dirname, "..");

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
  const written = [...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id);
  return new Set([
    ...written,
    ...headings.map((heading) => {
      const count = seen.get(heading) ?? 0;
      seen.set(heading, count + 1);
      return count === 0 ? heading : `${heading}-${count}`;
    }),
  ]);
}

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
    expect(named.filter((name) => !existsSync(testFile(`lab/packaging/${name}`)))).toEqual([]);
  });

  it("storage-postgres.md names every table", () => {
    const [list = ""] = /^The tables are [^.]*\./m.exec(read("docs/storage-postgres.md")) ?? [];
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
