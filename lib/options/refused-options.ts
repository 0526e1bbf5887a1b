/** Everything that `createAuthServer` would refuse, for those who want to see all of it at once. */
import { checkListedClients, listedClients } from "../clients/client-lookup";
import type { HostMistake } from "../protocol/mistake";
import type { EpochSeconds } from "../protocol/time";
import { valueRules } from "./check";
import { idTokenAlgorithms } from "./openid";
import { accessAlgorithms } from "./profile";
import type { AuthServerOptions } from "./options";
import { plainOptions, shapeProblems } from "./shape";
import { optionMessage, type OptionProblem } from "./problem";
import { optionSchema } from "./schema";
import { signingKeyProblems } from "./signing-keys";

/** One reason why `createAuthServer` would throw. */
export interface RefusedOption {
  /** Its id, which the `TypeError` has as `code`. */
  readonly code: string;
  /** The option, such as `apis.orders.audience`. */
  readonly path: string;
  /** What is wrong, and what to write instead. It quotes no secret and no key. */
  readonly message: string;
}

/** What the rules say. They are made for options of the right shape: one that cannot read these has nothing to say. */
function wrongValues(options: AuthServerOptions): readonly OptionProblem[] {
  const found: OptionProblem[] = [];
  for (const rule of valueRules) {
    try {
      for (const problem of rule(options)) found.push(problem);
    } catch {
      // the error in the shape is told
    }
  }
  return found;
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`);
}

function wrongClients({ storage, redirectSchemes = [] }: AuthServerOptions): readonly RefusedOption[] {
  return listedClients(storage.clients).flatMap((record) => {
    try {
      const only = { ...storage.clients, records: [record] };
      checkListedClients(only, redirectSchemes);
      return [];
    } catch (error) {
      const { code, message } = error as HostMistake;
      return [{ code, path: "storage.clients", message }];
    }
  });
}

/** Every reason why `createAuthServer` would throw for these options, in the order in which it would tell them; empty for none. */
export function refusals(given: AuthServerOptions, now: EpochSeconds): readonly RefusedOption[] {
  const { options, problems } = plainOptions(given);
  const ofShape = [...problems, ...shapeProblems(optionSchema, options)].filter(
    ({ path, code }) => code === "option-not-plain" || !problems.some((one) => isWithin(path, one.path)),
  );
  const ofValues = wrongValues(options).filter(
    ({ path }) => !ofShape.some((one) => isWithin(path, one.path)),
  );
  const keys = (options as Partial<AuthServerOptions> | undefined)?.signingKeys;
  // which algorithms are needed can only be read from options of the right shape
  const algorithms =
    ofShape.length === 0
      ? { idAlgorithms: idTokenAlgorithms(options), accessAlgorithms: accessAlgorithms(options) }
      : {};
  const ofKeys = Array.isArray(keys) ? signingKeyProblems(keys, { ...algorithms, now }) : [];
  const found = [...ofShape, ...ofValues, ...ofKeys].map((problem) => ({
    code: problem.code,
    path: problem.path,
    message: optionMessage(problem),
  }));
  return [...found, ...(ofShape.length === 0 ? wrongClients(options) : [])];
}
