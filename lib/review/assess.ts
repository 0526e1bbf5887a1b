/** Compares a configuration with the standards, line by line. RFC 9700 §2, §4. */
import type { ApiOptions, AuthServerOptions } from "../options/options";
import { asvs5 } from "./asvs5";
import { fapi2 } from "./fapi2";
import { listsClients } from "./find";
import { oauth21 } from "./oauth21";
import type { AssessedStandard, AssessmentState, Requirement, Standard } from "./requirement";
import { rfc9700 } from "./rfc9700";
import { type Spot, spotsOf, type WeaknessCode } from "./weaknesses";

/** An item of a standard, and whether the configuration meets it. */
export interface AssessmentItem {
  readonly standard: AssessedStandard;
  /** The section, or the number of the requirement: `4.14.2`. */
  readonly section: string;
  /** What the standard asks for, in our words. */
  readonly title: string;
  readonly state: AssessmentState;
  /** What weakens it: the id of the weakness and the option, such as `lifetimes.refreshRetrySeconds`. Empty unless the state is `weakened`. */
  readonly by: readonly { readonly code: WeaknessCode; readonly path: string }[];
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

/** What the requirements are judged by. */
interface Facts {
  readonly spots: readonly Spot[];
  readonly apis: Readonly<Record<string, ApiOptions>>;
  /** False when the storage keeps clients that it does not list. */
  readonly knowsClients: boolean;
}

/** All that is compared, in the order of the report. */
export const standards: readonly Standard[] = [rfc9700, oauth21, fapi2, asvs5];

function itemOf(
  { section, title, state, note, ...requirement }: Requirement,
  { spots, apis, knowsClients }: Facts,
): Omit<AssessmentItem, "standard"> {
  const { tests = [], weakenedBy = [], aboutClients = false, appliesWith, metAt } = requirement;
  const applies = appliesWith === undefined || spots.some(({ code }) => code === appliesWith);
  const meeting = Object.keys(apis).filter((apiId) => metAt?.(apis[apiId] as ApiOptions));
  const isMet = metAt !== undefined && meeting.length === Object.keys(apis).length;
  const weak = applies && !isMet ? spots.filter(({ code }) => weakenedBy.includes(code)) : [];
  const sentences = [
    ...weak.map(({ path, problem }) => `${path} ${problem}.`),
    note,
    ...(meeting.length > 0 && !isMet ? [`So far at ${meeting.join(", ")}.`] : []),
    ...(aboutClients && !knowsClients && !isMet ? ["Clients in storage are not looked at."] : []),
  ];
  const whenApplied = weak.length > 0 ? "weakened" : isMet ? "met" : state;
  return {
    section,
    title,
    state: applies ? whenApplied : "not-applicable",
    by: weak.map(({ code, path }) => ({ code, path })),
    note: sentences.join(" "),
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
  const facts = { spots: spotsOf(options), apis: options.apis, knowsClients: listsClients(options) };
  const items = standards.flatMap(({ standard, requirements }) =>
    requirements.map((requirement) => ({ standard, ...itemOf(requirement, facts) })),
  );
  return {
    editions: byStandard(({ edition }) => edition),
    items,
    summary: byStandard(({ standard }) => countsOf(items.filter((item) => item.standard === standard))),
  };
}

/** What is counted, in the order of the line. */
const counted = [
  ["met", "met"],
  ["weakened", "weakened"],
  ["not-met", "not met"],
  ["host", "for you to do"],
] as const;

/** How many weak options are named for an item: there may be thousands of clients. */
const mostNamed = 10;

/**
 * The short form of a report: a line for each standard, and what is weakened. The lines end in a newline. What is not met or for you to
 * do is only counted.
 */
export function assessmentText({ items, summary }: Assessment): string {
  return standards
    .map(({ standard }) => {
      const counts = counted.map(([state, words]) => `${summary[standard][state]} ${words}`).join(", ");
      const weakened = items
        .filter((item) => item.standard === standard && item.state === "weakened")
        .map(({ section, title, by }) => {
          const found = by.slice(0, mostNamed).map(({ code, path }) => `${path} [${code}]`);
          const others = by.length > mostNamed ? [`${by.length - mostNamed} more`] : [];
          return `    ${section} ${title}: weakened by ${[...found, ...others].join(", ")}\n`;
        });
      return `  ${standard}: ${counts}\n${weakened.join("")}`;
    })
    .join("");
}
