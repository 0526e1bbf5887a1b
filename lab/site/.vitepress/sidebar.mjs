// @ts-check
/** The sidebar: the tables of docs/README.md. Below a README that they name, such as that of the decisions, stand the pages that its tables name. */
import { readFileSync } from "node:fs";
import path from "node:path";

/** @typedef {import("vitepress").DefaultTheme.SidebarItem} SidebarItem */

const index = "docs/README.md";

/** @param {string} repository The folder of the repository. @returns {SidebarItem[]} */
export function sidebar(repository) {
  /** @param {string} page */
  const read = (page) => readFileSync(path.join(repository, page), "utf8");

  /** The links at the start of rows. @param {string} text @param {string} page @returns {SidebarItem[]} */
  function rows(text, page) {
    const links = text.matchAll(/^\| *\[(.+?)\]\(([^)#]+\.md)\) *\| *(.*?) *\|/gm);
    return [...links].map(([, name = "", link = "", about]) => {
      const target = path.join(path.dirname(page), link);
      const items = path.basename(target) === "README.md" ? rows(read(target), target) : [];
      return {
        // a number says nothing without its title
        text: /^\d+$/.test(name) ? `${name} ${about}` : name,
        link: `/${target.replace(/(?:README)?\.md$/, "")}`,
        ...(items.length > 0 && { collapsed: true, items }),
      };
    });
  }

  const [head = "", ...sections] = read(index).split(/^## /m);
  return [
    { text: /^# (.+)$/m.exec(head)?.[1] ?? "", link: "/docs/" },
    ...sections.map((section) => ({ text: section.split("\n", 1)[0] ?? "", items: rows(section, index) })),
  ];
}
