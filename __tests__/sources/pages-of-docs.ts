/** The pages of the documentation, and the code in them. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const repository = path.resolve(__dirname, "../..");

function markdownFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (["node_modules", "dist", ".git"].includes(entry.name)) return [];
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return markdownFiles(file);
    return entry.name.endsWith(".md") ? [file] : [];
  });
}

/** The paths of all pages, from the root of the repository. */
export const pages = markdownFiles(repository).map((file) => path.relative(repository, file));

/** The text of a page. */
export function read(page: string): string {
  return readFileSync(path.join(repository, page), "utf8");
}

/** The code blocks of a language, each on the lines where it stands in its page. */
export function codeBlocks(page: string, language: string): string[] {
  return [...read(page).matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, written]) => written === language)
    .map((block) => "\n".repeat(read(page).slice(0, block.index).split("\n").length) + (block[2] ?? ""));
}

const proseOf = (text: string): string => text.replaceAll(/^```[^]*?^```$/gm, "");

/** A link or a picture that leads to a file: relative, or `""` for the page itself. */
export interface PageLink {
  readonly file: string;
  /** `""` when there is none. */
  readonly anchor: string;
}

/** Where the text of a page leads, other than to other sites. */
export function linksOf(text: string): readonly PageLink[] {
  const written = proseOf(text).matchAll(/(?:\]\(|\b(?:src|href)=")([^)"#:\s]*)(?:#([^)"\s]+))?[)"]/g);
  return [...written].map(([, file = "", anchor = ""]) => ({ file, anchor }));
}

/** The anchors of the headings of a page, as GitHub makes them: the second one of a name gets a number. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const prose = proseOf(text);
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
