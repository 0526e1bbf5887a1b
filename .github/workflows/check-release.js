// @ts-check
/**
 * Whether a tag can be released, or this checkout by hand (`npm run release:check`). Says everything that is wrong, and what to do
 * about it.
 */
"use strict";

const { readFileSync } = require("node:fs");
const path = require("node:path");

/**
 * @typedef {object} Manifest
 * @property {string} version
 * @property {boolean} [private]
 * @property {string | { url?: string }} [repository]
 * @property {string} [homepage]
 * @property {string | { url?: string }} [bugs]
 * @property {string | { name?: string }} [author]
 */

/**
 * @typedef {object} Release
 * @property {string} tag
 * @property {string} repository `owner/name`, as GitHub says it
 * @property {Manifest} manifest package.json
 * @property {{ version: string }} lock package-lock.json
 * @property {string} changelog
 */

/** @param {Manifest["repository"]} written @returns {string} */
const addressOf = (written) => (typeof written === "string" ? written : written?.url) ?? "";

/** @type {(release: Release) => string[]} */
function releaseProblems({ tag, repository, manifest, lock, changelog }) {
  const { version, homepage = "", bugs, author } = manifest;
  const url = addressOf(manifest.repository);
  const page = `https://github.com/${repository}`;
  /** @type {[boolean, string][]} */
  const rules = [
    [
      tag === `v${version}`,
      `The tag is ${tag}, but package.json has the version ${version}. Tag the commit v${version}.`,
    ],
    [
      lock.version === version,
      `package-lock.json has the version ${lock.version}. Run npm version ${version} --no-git-tag-version --allow-same-version.`,
    ],
    [manifest.private !== true, 'package.json says "private": true. Remove it.'],
    [
      url.toLowerCase().endsWith(`github.com/${repository.toLowerCase()}.git`),
      `package.json must name this repository, or the registry refuses the provenance. Write "repository": { "type": "git", "url": "git+https://github.com/${repository}.git" }.`,
    ],
    [homepage.startsWith("https://"), `package.json has no homepage. Write "homepage": "${page}#readme".`],
    [addressOf(bugs).startsWith("https://"), `package.json has no bugs. Write "bugs": "${page}/issues".`],
    [Boolean(author), 'package.json has no author. Write "author": "Name <address>".'],
    [
      new RegExp(`^## ${version.replaceAll(".", "\\.")} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, "m").test(changelog),
      `CHANGELOG.md has no heading "## ${version} (YYYY-MM-DD)", with the day of the release.`,
    ],
  ];
  return rules.filter(([isSo]) => !isSo).map(([, problem]) => problem);
}

/** @param {string} name */
const read = (name) => readFileSync(path.join(__dirname, "../..", name), "utf8");

if (require.main === module) {
  /** @type {Manifest} */
  const manifest = JSON.parse(read("package.json"));
  const [, written = "<owner>/<name>"] = /github\.com\/(.+)\.git$/.exec(addressOf(manifest.repository)) ?? [];
  // by hand, there is neither a tag nor a repository beside what package.json says
  const { GITHUB_REF_NAME: tag = `v${manifest.version}`, GITHUB_REPOSITORY: repository = written } =
    process.env;
  const lock = JSON.parse(read("package-lock.json"));
  const problems = releaseProblems({ tag, repository, manifest, lock, changelog: read("CHANGELOG.md") });
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

module.exports = { releaseProblems };
