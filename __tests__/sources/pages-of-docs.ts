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
