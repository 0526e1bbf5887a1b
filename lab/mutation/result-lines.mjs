/** A reporter for Stryker that writes each result at once, so that a run that is stopped keeps what it has found. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** One line of JSON for each mutant, and first how many there are in each file. */
export const resultLines = path.resolve("reports/mutation/results.jsonl");

/** @type {() => void} */
let sayReady;
/** Resolves when the first mutant is about to be tried. */
export const planReady = /** @type {Promise<void>} */ (new Promise((resolve) => (sayReady = resolve)));

const write = (/** @type {object} */ line) => appendFileSync(resultLines, `${JSON.stringify(line)}\n`);

class ResultLines {
  onDryRunCompleted() {
    mkdirSync(path.dirname(resultLines), { recursive: true });
    writeFileSync(resultLines, "");
  }

  onMutationTestingPlanReady({ mutantPlans }) {
    const planned = {};
    for (const { mutant } of mutantPlans) {
      const file = path.relative(process.cwd(), mutant.fileName);
      planned[file] = (planned[file] ?? 0) + 1;
    }
    write({ planned });
    sayReady();
  }

  onMutantTested({
    fileName,
    location,
    mutatorName,
    replacement,
    status,
    killedBy,
    statusReason,
    coveredBy,
  }) {
    const file = path.relative(process.cwd(), fileName);
    const reason = statusReason?.slice(0, 300);
    write({ file, status, mutatorName, location, replacement, killedBy, reason, covered: coveredBy?.length });
  }
}

export const strykerPlugins = [{ kind: "Reporter", name: "result-lines", injectableClass: ResultLines }];
