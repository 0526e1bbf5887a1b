// @ts-check
/**
 * Sends requests to the targets in turn, at their planned times, whether or not earlier requests have been answered:
 * `node open-loop.js '<plan as JSON>'`. It prints the latencies of each target as JSON.
 */
"use strict";
const { Agent, request } = require("node:http");
const { setTimeout: delay } = require("node:timers/promises");

/**
 * @typedef {{ readonly url: string; readonly template: import("../types").RequestTemplate }} Target
 * @typedef {{
 *   readonly targets: readonly Target[]; readonly perSecond: number; readonly slices: number; readonly sliceSeconds: number;
 * }} OpenLoopPlan
 * @typedef {{ readonly latencies: number[]; refused: number; broken: number }} Latencies
 *   In milliseconds, from the planned time to the end of the answer; `refused`: answers of 400 and more.
 */

/** The lead-in opens the connections and is not counted. */
const leadInSeconds = 1;
/** More than enough: a target that needs all of them is seconds behind. */
const maxSockets = 1_024;
const answerMilliseconds = 10_000;

/** @param {Target} target @param {Agent} agent @returns {Promise<number>} the status */
function send({ url, template }, agent) {
  const { method, path, headers = {}, body = "" } = template;
  const length = body === "" ? {} : { "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, agent, headers: { ...headers, ...length } }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode ?? 0));
      answer.once("error", reject);
    });
    sent.setTimeout(answerMilliseconds, () => void sent.destroy(new Error("no answer")));
    sent.once("error", reject);
    sent.end(body);
  });
}

/** @param {Target} target @param {{ agent: Agent; planned: number; into: Latencies }} shot */
async function shoot(target, { agent, planned, into }) {
  try {
    const status = await send(target, agent);
    into.latencies.push(performance.now() - planned);
    if (status >= 400) into.refused += 1;
  } catch {
    into.broken += 1;
  }
}

/** Runs one slice. The loop spins: a timer can be up to a millisecond late. @param {Target} target @param {OpenLoopPlan} plan @param {Latencies} into */
async function runSlice(target, { perSecond, sliceSeconds }, into) {
  const agent = new Agent({ keepAlive: true, maxSockets });
  const leadIn = perSecond * leadInSeconds;
  const total = leadIn + perSecond * sliceSeconds;
  const start = performance.now();
  /** @type {Promise<void>[]} */
  const shots = [];
  await new Promise((resolve) => {
    function tick() {
      for (;;) {
        const planned = start + (1000 * shots.length) / perSecond;
        if (shots.length === total) return resolve(undefined);
        if (planned > performance.now()) return setImmediate(tick);
        const isCounted = shots.length >= leadIn;
        shots.push(
          shoot(target, {
            agent,
            planned,
            into: isCounted ? into : { latencies: [], refused: 0, broken: 0 },
          }),
        );
      }
    }
    tick();
  });
  await Promise.all(shots);
  agent.destroy();
}

async function main() {
  /** @type {OpenLoopPlan} */
  const plan = JSON.parse(process.argv[2] ?? "");
  /** @type {readonly Latencies[]} */
  const all = plan.targets.map(() => ({ latencies: [], refused: 0, broken: 0 }));
  // the first round lets V8 compile the generator's own code
  for (let slice = 0; slice <= plan.slices; slice += 1) {
    for (const [index, target] of plan.targets.entries()) {
      const into = all[index];
      if (into) await runSlice(target, plan, slice === 0 ? { latencies: [], refused: 0, broken: 0 } : into);
      await delay(100);
    }
  }
  process.stdout.write(JSON.stringify(all));
}

void main();
