// @ts-check
/** Writes docs/assessment.md from the table in lib/review/. */
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { table } = require("./make-reference/markdown");

/** @typedef {import("../lib/review/requirement").Standard} Standard */
/** @typedef {import("../lib/review/requirement").Requirement} Requirement */

const file = path.join(__dirname, "assessment.md");
const begin = "<!-- Made by `npm run docs` from lib/review/. Change the table there and run it again. -->";

/** @type {Readonly<Record<Requirement["state"], string>>} */
const words = {
  met: "met",
  "not-met": "not met",
  host: "yours",
  "not-applicable": "n/a",
};

/** @param {Requirement} requirement */
function row({ section, title, state, note, tests = [], weakenedBy = [] }) {
  const weaknesses = weakenedBy.map((code) => `[${code}](reference/errors.md#${code})`).join(", ");
  return [
    section,
    title,
    `**${words[state]}** ${note}`,
    weaknesses,
    tests.map((test) => `\`${test}\``).join(", "),
  ];
}

/** @param {Standard} standard */
function part({ standard, edition, requirements }) {
  const head = ["Section", "What is asked for", "How it stands", "Weakened by", "Tests"];
  return `## ${standard}\n\n${edition}.\n\n${table(head, requirements.map(row))}\n`;
}

/**
 * The page: what a person has written above the mark, and the tables below it.
 *
 * @param {readonly Standard[]} standards
 */
function assessmentPage(standards) {
  const [intro = ""] = readFileSync(file, "utf8").split(begin);
  return `${intro}${begin}\n\n${standards.map(part).join("\n")}`;
}

if (require.main === module) {
  const { standards } = require("../dist/review/assess");
  writeFileSync(file, assessmentPage(standards));
}

module.exports = { assessmentPage };
