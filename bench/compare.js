// @ts-check
/** Takes samples of servers between samples of their floor, and computes the ratios. */
"use strict";
const { generate } = require("./load/generate");
const { floors } = require("./workloads");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./workloads").Workload} Workload
 * @typedef {{ readonly workload: Workload; readonly server: RunningServer }} Cell
 */

const warmUpRequests = 10_500;

/**
 * Measures the requests per second of one workload.
 *
 * @param {Cell} cell
 * @param {number} seconds
 */
async function sample({ workload, server }, seconds) {
  const result = await generate(await workload.plan(server), { url: server.url, seconds });
  const refused = workload.isRefused === true ? result.requests : 0;
  if (result.broken > 0 || result.refused !== refused) {
    throw new Error(
      `${workload.id} of ${server.name} (${server.format}) got wrong answers: ${JSON.stringify(result)}`,
    );
  }
  return result.requests / result.seconds;
}

/**
 * Runs until the code is compiled and every token of W4b has been seen once.
 *
 * @param {Cell} cell
 * @param {number} seconds
 */
async function warmUp(cell, seconds) {
  for (let requests = 0; requests < warmUpRequests;) requests += seconds * (await sample(cell, seconds));
}

/**
 * Measures a cell `samples` times, each time between two samples of its floor, and compares it with their mean.
 *
 * @param {Cell} cell
 * @param {{ floor: RunningServer; seconds: number; samples: number }} how
 * @returns {Promise<readonly number[]>} the ratios
 */
async function compare(cell, { floor, seconds, samples }) {
  /** @type {number[]} */
  const ratios = [];
  const floorSample = async () => {
    const result = await generate(floors[cell.workload.floor], { url: floor.url, seconds });
    return result.requests / result.seconds;
  };
  await warmUp(cell, seconds);
  let before = await floorSample();
  for (let round = 1; round <= samples; round += 1) {
    const perSecond = await sample(cell, seconds);
    const after = await floorSample();
    ratios.push((2 * perSecond) / (before + after));
    before = after;
  }
  return ratios;
}

module.exports = { compare, sample };
