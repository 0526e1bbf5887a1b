// @ts-check
/**
 * Sends requests to the targets in turn, at their planned times, whether or not earlier requests have been answered:
 * `node open-loop.js <file>`, with the plan as JSON in the file. It prints the latencies of each target as JSON.
 */
"use strict";
const { readFileSync } = require("node:fs");
const { Agent, request } = require("node:http");
const { setTimeout: delay } = require("node:timers/promises");

/**
 * @typedef {{ readonly url: string; readonly template: import("../types").RequestTemplate; readonly values?: readonly string[] }} Target
 *   `values` replace `{value}` in turn.
 * @typedef {{
 *   readonly targets: readonly Target[]; readonly perSecond: number; readonly slices: number; readonly sliceSeconds: number; readonly warmUpSeconds: number;
 * }} OpenLoopPlan
 * @typedef {{ readonly latencies: number[]; readonly plannedAt: number[]; refused: number; broken: number }} Latencies
 *   In milliseconds, from the planned time to the end of the answer; `plannedAt` is that time, in milliseconds since 1970. `refused`:
 *   answers of 400 and more.
 */

/** The lead-in opens the connections and is not counted. It is shorter before a short slice. */
const leadInSeconds = 1;
/** More than enough: a target that needs all of them is seconds behind. */
const maxSockets = 1_024;
const answerMilliseconds = 10_000;

/** How many values each target has sent. @type {Map<Target, number>} */
const sentTo = new Map();

/** The template with the next value. @param {Target} target */
function nextRequest(target) {
  const { template, values = [""] } = target;
  const sent = sentTo.get(target) ?? 0;
  sentTo.set(target, sent + 1);
  const value = encodeURIComponent(values[sent % values.length] ?? "");
  const { method, path, headers = {}, body = "" } = template;
  const filled = Object.entries(headers).map(([name, text]) => [name, text.replace("{value}", value)]);
  return { method, path, headers: Object.fromEntries(filled), body: body.replace("{value}", value) };
}

/** @param {Target} target @param {Agent} agent @returns {Promise<number>} the status */
function send(target, agent) {
  const { method, path, headers, body } = nextRequest(target);
  const length = body === "" ? {} : { "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const all = { method, agent, headers: { ...headers, ...length } };
    const sent = request(target.url + path, all, (answer) => {
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
    into.plannedAt.push(performance.timeOrigin + planned);
    if (status >= 400) into.refused += 1;
  } catch {
    into.broken += 1;
  }
}

/** @returns {Latencies} */
const none = () => ({ latencies: [], plannedAt: [], refused: 0, broken: 0 });

/** Runs one slice. The loop spins: a timer can be up to a millisecond late. @param {Target} target @param {OpenLoopPlan} plan @param {Latencies} into */
async function runSlice(target, { perSecond, sliceSeconds }, into) {
  const agent = new Agent({ keepAlive: true, maxSockets });
  const leadIn = Math.ceil(perSecond * Math.min(leadInSeconds, sliceSeconds));
  const total = leadIn + Math.ceil(perSecond * sliceSeconds);
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
            into: isCounted ? into : none(),
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
  const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
  const all = plan.targets.map(none);
  // the first round lets V8 compile the generator's own code
  for (const target of plan.targets)
    await runSlice(target, { ...plan, sliceSeconds: plan.warmUpSeconds }, none());
  for (let slice = 0; slice < plan.slices; slice += 1) {
    for (const [index, target] of plan.targets.entries()) {
      const into = all[index];
      if (into) await runSlice(target, plan, into);
      await delay(100);
    }
  }
  process.stdout.write(JSON.stringify(all));
}

void main();
