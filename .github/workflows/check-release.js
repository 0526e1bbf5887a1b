// @ts-check
/** Whether a tag can be released. Says everything that is wrong, and what to do about it. */
"use strict";

const { readFileSync } = require("node:fs");
const path = require("node:path");

/**
 * @typedef {object} Release
 * @property {string} tag
 * @property {string} repository `owner/name`, as GitHub says it
 * @property {{ version: string, private?: boolean, repository?: string | { url?: string } }} manifest package.json
 * @property {{ version: string }} lock package-lock.json
 * @property {string} changelog
 */

/** @type {(release: Release) => string[]} */
function releaseProblems({ tag, repository, manifest, lock, changelog }) {
  const { version } = manifest;
  const { repository: written } = manifest;
  const url = (typeof written === "string" ? written : written?.url) ?? "";
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
    [
      new RegExp(`^## ${version.replaceAll(".", "\\.")}( |$)`, "m").test(changelog),
      `CHANGELOG.md has no heading "## ${version}".`,
    ],
  ];
  return rules.filter(([isSo]) => !isSo).map(([, problem]) => problem);
}

/** @param {string} name */
const read = (name) => readFileSync(path.join(__dirname, "../..", name), "utf8");

if (require.main === module) {
  const { GITHUB_REF_NAME: tag = "", GITHUB_REPOSITORY: repository = "" } = process.env;
  const manifest = JSON.parse(read("package.json"));
  const lock = JSON.parse(read("package-lock.json"));
  const problems = releaseProblems({ tag, repository, manifest, lock, changelog: read("CHANGELOG.md") });
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

module.exports = { releaseProblems };
