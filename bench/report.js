// @ts-check
/** Formats the results as Markdown. */
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");
const { cpus } = require("node:os");
const path = require("node:path");
const { median } = require("./median");
const { generate, generator, isPinned } = require("./load/generate");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./compare").Cell} Cell
 */

const ids = ["W1", "W2", "W3", "W3b", "W4", "W4b", "W4c", "W5"];
/** The workloads of the lean floor. */
const leanIds = ["W1", "W2", "W3"];
const { title: leanTitle } = require("./servers/lean");

/** @param {readonly (readonly string[])[]} rows the first one is the header */
function table(rows) {
  const [head = [], ...others] = rows.map((row) => `| ${row.join(" | ")} |`);
  return [head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...others].join("\n");
}

/** Describes the date, versions and machine. */
function environment() {
  const { version: express } = require("express/package.json");
  const { version } = require("../package.json");
  const [cpu] = cpus();
  const cores = isPinned ? "server and generator on one core each" : "not pinned to cores";
  const today = new Date().toISOString().slice(0, 10);
  return `Last run: ${today}, authmount ${version}, Express ${express}, Node ${process.versions.node}, ${generator}, ${cpus().length} × ${cpu?.model.trim()}, ${cores}.`;
}

/** @param {readonly number[]} values */
function spread(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(2));
  return `**${median(values).toFixed(2)}** (${low}–${high})`;
}

/**
 * Divides what our servers reach by what the lean floor reaches in the same run: both are ratios over the same bare floor.
 *
 * @param {ReadonlyMap<Cell, readonly number[]>} measured
 */
function leanTable(measured) {
  const cells = [...measured].map(([{ workload, server }, ratios]) => ({
    id: workload.id,
    title: server.title,
    format: server.format,
    ratio: median(ratios),
  }));
  const lean = cells.filter(({ title }) => title === leanTitle);
  const ours = cells.filter(({ title }) => title.startsWith("authmount"));
  const names = [...new Set(ours.map(({ title, format }) => `${title}, ${format}`))];
  const rows = names.map((name) => [
    name,
    ...leanIds.map((id) => {
      const our = ours.find((cell) => cell.id === id && name === `${cell.title}, ${cell.format}`);
      const floor = lean.find((cell) => cell.id === id && cell.format === our?.format);
      return our && floor ? (our.ratio / floor.ratio).toFixed(2) : "";
    }),
  ]);
  return table([["over the lean floor", ...leanIds], ...rows]);
}

/** Servers × workloads, with both token formats in a cell. @param {ReadonlyMap<Cell, readonly number[]>} measured */
function comparisonTable(measured) {
  /** @type {Map<string, Map<string, string>>} */
  const rows = new Map();
  for (const [{ workload, server }, ratios] of measured) {
    const row = rows.get(server.title) ?? new Map();
    rows.set(server.title, row.set(`${workload.id} ${server.format}`, median(ratios).toFixed(2)));
  }
  const lines = [...rows].map(([title, row]) => [
    title,
    ...ids.map((id) => {
      const values = ["jwt", "opaque"].map((format) => row.get(`${id} ${format}`) ?? "–");
      return values.every((value) => value === "–") ? "" : values.join("/");
    }),
  ]);
  return table([["ES256 JWT/opaque, over the floor", ...ids], ...lines]);
}

/** How far samples lie from the median of their cell. @param {ReadonlyMap<Cell, readonly number[]>} measured */
function spreadLine(measured) {
  const widest = [...measured.values()]
    .map((ratios) => {
      const middle = median(ratios);
      return Math.max(...ratios.map((ratio) => Math.abs(ratio - middle) / middle));
    })
    .toSorted((one, other) => one - other);
  const [half, most] = [0.5, 0.9].map((part) => {
    const width = widest[Math.ceil(widest.length * part) - 1] ?? 0;
    return `${Math.round(width * 100)} %`;
  });
  return `All samples are within ${half} of the median in half of the cells, and within ${most} in nine of ten.`;
}

/**
 * @param {readonly RunningServer[]} servers
 * @param {{ floors: import("./workloads").Floors; seconds: number }} how
 */
async function floorTable(servers, { floors, seconds }) {
  const rows = [];
  for (const server of servers) {
    /** @type {string[]} */
    const row = [server.title];
    for (const plan of [floors.F1, floors.F2, floors.F3]) {
      await generate(plan, { url: server.url, seconds });
      const { requests, seconds: taken } = await generate(plan, { url: server.url, seconds });
      row.push(Math.round(requests / taken).toLocaleString("en"));
    }
    rows.push(row);
  }
  return table([["requests/s of the floors", "1 GET", "2 POST", "3 signature"], ...rows]);
}

const page = path.join(__dirname, "../docs/performance.md");
const marks = /(<!-- results[^>]*-->\n)[^]*(<!-- end of results -->)/;

/** @param {string} text */
function writeResults(text) {
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(marks, (_, begin, end) => `${begin}\n${text}\n\n${end}`),
  );
}

module.exports = {
  comparisonTable,
  environment,
  floorTable,
  leanTable,
  spread,
  spreadLine,
  table,
  writeResults,
};
