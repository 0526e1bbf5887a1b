/** The property that the model and the server agree, for any storage. Its seed is printed, and a run can be repeated. */
import * as fc from "fast-check";
import type { Storage } from "../../lib";
import { type Clock, stopClock } from "../../__tests__/hosts/clock";
import { takeSteps } from "./protocol-run";
import { type ServerOptions, startProtocolServer } from "./protocol-server";
import { type Step, stepSequences } from "./protocol-steps";

/** A new, empty storage with the clients of the world. */
export interface OpenedStorage {
  readonly storage: Storage;
  readonly close?: () => Promise<void> | void;
}

/** The storage of a run, and how many sequences. */
export interface PropertyOptions extends Pick<ServerOptions, "lagSeconds" | "before" | "tokens"> {
  readonly name: string;
  readonly open: () => OpenedStorage | Promise<OpenedStorage>;
  /** Of an ordinary run. */
  readonly sequences: number;
  /** Given: always this one, and never a long run. Left out: that of the environment, else a new one. */
  readonly seed?: number;
  /** Where fast-check found a counterexample of this seed. */
  readonly path?: string;
  /** `shorter` when left out: it looks for a shorter one before it answers. */
  readonly counterexample?: "any" | "shorter";
}

const longRun = process.env["AUTHMOUNT_LONG"] === "1";
const givenSeed = process.env["AUTHMOUNT_SEED"];
const givenPath = process.env["AUTHMOUNT_PATH"];
/** A long run has this many times the sequences, of three times the length. */
const longFactor = 10;

async function takeAlone(
  steps: readonly Step[],
  { open, lagSeconds, before, tokens, seen }: PropertyOptions & Pick<ServerOptions, "seen">,
): Promise<number> {
  // the clock of Redis goes on by itself, so the model begins with the real time
  jest.restoreAllMocks();
  const clock: Clock = stopClock(Math.floor(Date.now() / 1000));
  const { storage, close } = await open();
  const server = await startProtocolServer({
    storage,
    clock,
    seen,
    ...(lagSeconds !== undefined && { lagSeconds }),
    ...(before && { before }),
    ...(tokens && { tokens }),
  });
  try {
    return await takeSteps(server, steps);
  } finally {
    await server.close();
    await close?.();
    jest.restoreAllMocks();
  }
}

/** What a run came to. */
export interface Checked {
  readonly details: fc.RunDetails<[readonly Step[]]>;
  readonly seed: number;
  readonly taken: number;
  /** Every kind of answer, and how often it came. */
  readonly seen: ReadonlyMap<string, number>;
}

/** Takes random sequences until one fails. */
export async function checkProperty(options: PropertyOptions): Promise<Checked> {
  const seed = options.seed ?? (givenSeed === undefined ? Date.now() % 2 ** 31 : Number(givenSeed));
  const isLong = longRun && options.seed === undefined;
  const path = options.seed === undefined ? givenPath : options.path;
  let taken = 0;
  const seen = new Map<string, number>();
  const property = fc.asyncProperty(stepSequences(isLong ? 60 : 20), async (steps) => {
    taken += await takeAlone(steps, { ...options, seen });
  });
  const details = await fc.check(property, {
    seed,
    numRuns: options.sequences * (isLong ? longFactor : 1),
    endOnFailure: options.counterexample === "any",
    ...(path !== undefined && { path }),
  });
  return { details, seed, taken, seen };
}

/** The steps of a counterexample; `undefined` when there is none. */
export function counterexampleOf({ details }: Checked): readonly Step[] | undefined {
  return details.counterexample?.[0];
}

/** What a failed run says: where the two differ, the steps that lead there, and how to repeat them. */
export function disagreement(checked: Checked, name: string): string {
  const { details, seed } = checked;
  const { counterexamplePath, errorInstance } = details;
  const long = longRun ? "AUTHMOUNT_LONG=1 " : "";
  // a name is a pattern to Jest
  const test = expect.getState().currentTestName?.replaceAll(/[^\w ,:]/g, ".") ?? "";
  const again = `${long}AUTHMOUNT_SEED=${seed} AUTHMOUNT_PATH=${counterexamplePath ?? ""} npx jest --config lab/jest.config.js lab/properties -t "${test}"`;
  const steps = (counterexampleOf(checked) ?? []).map((step) => JSON.stringify(step));
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `${name}: model and server differ.\n${message}\n${steps.join("\n")}\nTo repeat it: ${again}`;
}

/** Fails with the counterexample and with how to repeat it; else prints what was done. */
export async function expectAgreement(options: PropertyOptions): Promise<Checked> {
  const checked = await checkProperty(options);
  const { details, seed, taken } = checked;
  const { name } = options;
  if (details.failed) throw new Error(disagreement(checked, name));
  process.stderr.write(
    `${name}: the model agrees over ${details.numRuns} sequences, ${taken} steps, seed ${seed}\n`,
  );
  return checked;
}
