/** Compares a configuration with the standards, line by line. RFC 9700 §2, §4. */
import type { AuthServerOptions } from "../options/options";
import { asvs5 } from "./asvs5";
import { fapi2 } from "./fapi2";
import { oauth21 } from "./oauth21";
import {
  type AssessedStandard,
  type AssessmentState,
  type Facts,
  factsOf,
  type Requirement,
  type Standard,
  type Weakening,
} from "./requirement";
import { rfc9700 } from "./rfc9700";

/** A line of a standard, and how the configuration stands to it. */
export interface AssessmentItem {
  readonly standard: AssessedStandard;
  /** The section, or the number of the requirement: `4.14.2`. */
  readonly section: string;
  /** What the standard asks for, in our words. */
  readonly title: string;
  readonly state: AssessmentState;
  /** The options that weaken it, such as `lifetimes.refreshRetrySeconds`. Empty unless the state is `weakened`. */
  readonly by: readonly string[];
  /** What the server does, what is weak, or what is left to you. */
  readonly note: string;
  /** Tests of this package that show it, as they are called below `__tests__/`. */
  readonly tests: readonly string[];
}

/** What `auth.assessment()` gives. It is plain data: `JSON.stringify` keeps all of it. */
export interface Assessment {
  /** Each standard in the edition that was compared. */
  readonly editions: Readonly<Record<AssessedStandard, string>>;
  readonly items: readonly AssessmentItem[];
  /** How many items of each standard are in each state. */
  readonly summary: Readonly<Record<AssessedStandard, Readonly<Record<AssessmentState, number>>>>;
}

/** All that is compared, in the order of the report. */
export const standards: readonly Standard[] = [rfc9700, oauth21, fapi2, asvs5];

const clientsUnknown = "Clients in storage are not looked at.";

function weakenings({ weakenedBy = [] }: Requirement, facts: Facts): readonly Weakening[] {
  const found = new Map(weakenedBy.flatMap(({ find }) => find(facts)).map((one) => [one.path, one]));
  return [...found.values()];
}

function stateOf(
  { state, appliesTo }: Requirement,
  { facts, isWeak }: { facts: Facts; isWeak: boolean },
): AssessmentState {
  if (appliesTo && !appliesTo(facts)) return "not-applicable";
  return isWeak ? "weakened" : state;
}

function itemOf(
  requirement: Requirement,
  { standard, facts }: { standard: AssessedStandard; facts: Facts },
): AssessmentItem {
  const { section, title, note, tests = [], aboutClients } = requirement;
  const found = weakenings(requirement, facts);
  const state = stateOf(requirement, { facts, isWeak: found.length > 0 });
  const weak = state === "weakened" ? found : [];
  const sentences = [
    ...weak.map(({ path, problem }) => `${path} ${problem}.`),
    note,
    aboutClients && !facts.knowsClients ? clientsUnknown : "",
  ];
  return {
    standard,
    section,
    title,
    state,
    by: weak.map(({ path }) => path),
    note: sentences.filter((sentence) => sentence !== "").join(" "),
    tests,
  };
}

function countsOf(items: readonly AssessmentItem[]): Readonly<Record<AssessmentState, number>> {
  const count = (state: AssessmentState): number => items.filter((item) => item.state === state).length;
  return {
    met: count("met"),
    weakened: count("weakened"),
    "not-met": count("not-met"),
    host: count("host"),
    "not-applicable": count("not-applicable"),
  };
}

function byStandard<T>(give: (standard: Standard) => T): Readonly<Record<AssessedStandard, T>> {
  return Object.fromEntries(standards.map((one) => [one.standard, give(one)])) as Record<AssessedStandard, T>;
}

/** How options that `createAuthServer` accepts stand to the standards. It connects to nothing. */
export function assess(options: AuthServerOptions): Assessment {
  const facts = factsOf(options);
  const items = standards.flatMap(({ standard, requirements }) =>
    requirements.map((requirement) => itemOf(requirement, { standard, facts })),
  );
  return {
    editions: byStandard(({ edition }) => edition),
    items,
    summary: byStandard(({ standard }) => countsOf(items.filter((item) => item.standard === standard))),
  };
}
