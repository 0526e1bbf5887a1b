// @ts-check
/**
 * The documentation site. Its pages are the Markdown of the repository as it is: docs/, examples/, and README.md with the pages beside it.
 * `AUTHMOUNT_SITE_BASE` is the path at which the site is published, such as `/authmount/`.
 */
import { cpSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "vitepress";
import { markdownOfGitHub, slugify } from "./markdown.mjs";
import { sidebar } from "./sidebar.mjs";

const repository = path.resolve(import.meta.dirname, "../../..");
const manifest = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8"));
const address = manifest.repository?.url ?? manifest.repository ?? "";
const github = /\bgithub\.com\/[^/]+\/[^/]+?(?=\.git$|$)/.exec(address)?.[0];
const sources = github && `https://${github}`;

/** The playground, if it was recorded: `npm run site:playground`. */
const playground = path.join(repository, "lab/site/playground/dist");
const isRecorded = existsSync(path.join(playground, "index.html"));

/** The pages stand outside of the folder that has Vue. @type {import("vitepress").Plugin} */
const vueOfTheLaboratory = {
  name: "vue-of-the-laboratory",
  enforce: "pre",
  resolveId: (name, _, { ssr }) => (ssr && /^vue(?:\/|$)/.test(name) ? { id: name, external: true } : null),
};

// oxlint-disable-next-line import/no-default-export -- VitePress reads it
export default defineConfig({
  lang: "en",
  title: manifest.name,
  description: manifest.description,
  base: process.env["AUTHMOUNT_SITE_BASE"] ?? "/",
  head: [
    ["link", { rel: "icon", href: "data:," }],
    // the palest text has too little contrast, and the button for the search shows keys that its name does not say
    [
      "style",
      {},
      "html:root { --vp-c-text-3: var(--vp-c-text-2) } .DocSearch-Button-Keys { display: none !important }",
    ],
  ],
  srcDir: repository,
  srcExclude: ["!(docs|examples)/**/*.md"],
  outDir: path.join(repository, "lab/site/dist"),
  buildEnd({ outDir }) {
    if (isRecorded) cpSync(playground, path.join(outDir, "playground"), { recursive: true });
  },
  rewrites: (page) => page.replace(/README\.md$/, "index.md"),
  // the reader starts what answers there
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify },
    // braces after code are text
    attrs: { disable: true },
    languageAlias: { caddyfile: "nginx" },
    config: (md) => markdownOfGitHub(md, { repository, sources }),
  },
  vite: {
    plugins: [vueOfTheLaboratory],
    // the index of the search
    build: { chunkSizeWarningLimit: 5_000 },
  },
  themeConfig: {
    nav: [
      ...(isRecorded ? [{ text: "Playground", link: "/playground/", target: "_self" }] : []),
      { text: manifest.version, link: "/CHANGELOG" },
    ],
    sidebar: sidebar(repository),
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: sources ? [{ icon: "github", link: sources }] : [],
  },
});
