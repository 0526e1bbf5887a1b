/** Everything that `createAuthServer` would refuse, for those who want to see all of it at once. */
import { checkListedClients, listedClients } from "../clients/client-lookup";
import type { EpochSeconds } from "../protocol/time";
import { valueRules } from "./check";
import type { AuthServerOptions } from "./options";
import { optionSchema } from "./schema";
import { type OptionProblem, shapeProblems } from "./shape";
import { signingKeyProblems } from "./signing-keys";

/** One reason why `createAuthServer` would throw. */
export interface RefusedOption {
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

function refusalOf(message: string): RefusedOption {
  const text = message.slice("createAuthServer: ".length);
  return { path: text.slice(0, text.indexOf(" ")), message: text };
}

function wrongClients({ storage, redirectSchemes = [] }: AuthServerOptions): readonly RefusedOption[] {
  return listedClients(storage.clients).flatMap((record) => {
    try {
      const only = { ...storage.clients, records: [record] };
      checkListedClients(only, redirectSchemes);
      return [];
    } catch (error) {
      return [{ path: "storage.clients", message: (error as Error).message }];
    }
  });
}

/** Every reason why `createAuthServer` would throw for these plain options, in the order in which it would tell them; empty for none. */
export function refusals(options: AuthServerOptions, now: EpochSeconds): readonly RefusedOption[] {
  const ofShape = shapeProblems(optionSchema, options);
  const ofValues = wrongValues(options).filter(
    ({ path }) => !ofShape.some((one) => isWithin(path, one.path)),
  );
  const wrong = [...ofShape, ...ofValues].map(({ path, problem, fix }) => ({
    path,
    message: `${path} ${problem}. ${fix}`.trim(),
  }));
  const keys = (options as Partial<AuthServerOptions> | undefined)?.signingKeys;
  const ofKeys = Array.isArray(keys) ? signingKeyProblems(keys, { by: "createAuthServer", now }) : [];
  const ofClients = ofShape.length === 0 ? wrongClients(options) : [];
  return [...wrong, ...ofKeys.map(refusalOf), ...ofClients];
}
