/** Runs a plan with autocannon, if wrk is missing: `node autocannon.js <url> <seconds> <connections> <plan.json>`. */
"use strict";
const { readFileSync } = require("node:fs");
const autocannon = require("autocannon");

const [, , url, seconds, connections, planFile] = process.argv;
const steps = JSON.parse(readFileSync(planFile, "utf8")).map((step) => ({ ...step, at: 0 }));
const yielding = steps.filter((step) => step.yields !== undefined);

function nextRequest() {
  for (const step of steps.toReversed()) {
    const value = step.takes ? step.values.pop() : step.values[step.at++ % step.values.length];
    if (value === undefined) continue;
    const fill = (text) => text.replace("{value}", value);
    const headers = Object.fromEntries(
      Object.entries(step.headers).map(([name, text]) => [name, fill(text)]),
    );
    return {
      method: step.method,
      path: fill(step.path),
      headers,
      ...(step.body && { body: fill(step.body) }),
    };
  }
  throw new Error("no step has a value to send");
}

function takeAnswer(_status, body, _context, headers) {
  const location = headers.location ?? headers.Location ?? "";
  for (const { yields, to } of yielding) {
    const yielded = new RegExp(yields).exec(location + body)?.[1];
    if (yielded !== undefined) steps[to - 1].values.push(yielded);
  }
}

async function main() {
  const result = await autocannon({
    url,
    duration: Number(seconds),
    connections: Number(connections),
    requests: [
      {
        setupRequest: (request) => ({ ...request, ...nextRequest() }),
        ...(yielding.length > 0 && { onResponse: takeAnswer }),
      },
    ],
  });
  const { requests, latency, duration, errors, timeouts } = result;
  const answer = { requests: requests.total, seconds: duration, refused: result["4xx"] + result["5xx"] };
  const broken = errors + timeouts;
  process.stdout.write(`${JSON.stringify({ ...answer, broken, p50: latency.p50, p99: latency.p99 })}\n`);
}

void main();
