// @ts-check
/** Makes Markdown that is written for GitHub mean the same here: anchors, links to files, and text that Vue would take for a template. */
import { existsSync, statSync } from "node:fs";
import path from "node:path";

/** @typedef {import("vitepress").MarkdownRenderer} MarkdownRenderer */
/** @typedef {ReturnType<MarkdownRenderer["parse"]>[number]} Token */
/**
 * @typedef {object} Place
 * @property {string} repository Its folder.
 * @property {string} [sources] Its address, once package.json names it.
 */

/** All but these tags is text, such as `<id>`. */
const unknownTag = /<(?!!--|\/?(?:a|br|details|img|kbd|p|picture|source|sub|summary|sup)\b)/gi;

/** The anchor of a heading, as GitHub makes it. @param {string} heading */
export function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/**
 * A link to a page, or to a file at the address of the repository. None if the repository has no address.
 *
 * @type {(href: string, folder: string, place: Place) => string | undefined}
 */
function linkOf(href, folder, { repository, sources }) {
  const [, link = "", anchor = ""] = /^([^#]*)(.*)$/.exec(href) ?? [];
  if (link === "" || /^[a-z][a-z\d+.-]*:/i.test(link)) return href;
  const file = path.resolve(folder, decodeURI(link));
  const name = path.relative(repository, file);
  // VitePress looks whether the page is there
  if (/^(?:(?:docs|examples)\/.*|[^/]+)\.md$/.test(name)) {
    return link.replace(/README\.md$/, "index.md") + anchor;
  }
  if (!existsSync(file)) throw new Error(`${name} does not exist. A page in ${folder} links to it.`);
  return sources && `${sources}/${statSync(file).isDirectory() ? "tree" : "blob"}/main/${name}${anchor}`;
}

/** @type {(tokens: readonly Token[], folder: string, place: Place) => void} */
function mendLinks(tokens, folder, place) {
  /** @type {string | undefined} */
  let link;
  for (const token of tokens.filter(({ type }) => /^link_(?:open|close)$/.test(type))) {
    if (token.nesting > 0) link = linkOf(String(token.attrGet("href")), folder, place);
    if (link === undefined) Object.assign(token, { type: "text", content: "" });
    else if (token.nesting > 0) token.attrSet("href", link);
  }
}

/** @param {MarkdownRenderer} md @param {Place} place */
export function markdownOfGitHub(md, place) {
  // ahead of the anchors, which add a link to each heading
  md.core.ruler.after("inline", "of-github", ({ tokens, env }) => {
    for (const { children } of tokens) mendLinks(children ?? [], path.dirname(env.path), place);
    for (const [index, { type, content }] of tokens.entries()) {
      // an empty cell is no header
      const [open, close] = [tokens[index - 1], tokens[index + 1]];
      if (type === "inline" && content === "" && open?.type === "th_open" && close)
        open.tag = close.tag = "td";
    }
    for (const token of tokens.flatMap((each) => [each, ...(each.children ?? [])])) {
      // code that is indented looks like other code
      if (token.type === "code_block") Object.assign(token, { type: "fence", info: "txt" });
      if (token.type.startsWith("html_")) {
        token.content = token.content
          .replaceAll(unknownTag, "&lt;")
          // Vite takes a path without a dot for the name of a package
          .replaceAll(/(?<=<img src=")(?=[\w-]+\/)/g, "./");
      }
    }
  });
  const { text } = md.renderer.rules;
  md.renderer.rules.text = (...args) => (text?.(...args) ?? "").replaceAll("{{", "&#123;&#123;");
}
