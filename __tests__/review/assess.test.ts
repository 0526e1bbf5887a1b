import type { AuthServerOptions } from "../../lib";
import {
  assess,
  type Assessment,
  type AssessmentItem,
  assessmentText,
  standards,
} from "../../lib/review/assess";
import { goodOptions, withChanges } from "../records/options";

const requirements = standards.flatMap((one) =>
  one.requirements.map((requirement) => ({ ...requirement, standard: one.standard })),
);

/** The line of this section, where a standard has one for it. */
function lineOf(options: AuthServerOptions, at: string): AssessmentItem | undefined {
  return assess(options).items.find(({ standard, section }) => `${standard} ${section}` === at);
}

/** The first line of the table for this section. */
const requirementOf = (at: string) =>
  requirements.find(({ standard, section }) => `${standard} ${section}` === at);

/** What the table notes of it, whatever the options are. */
const notePlain = (at: string): string => requirementOf(at)?.note ?? "";

/** Good options, whose clients are in a table that does not list them. */
const withTable = withChanges({
  storage: { ...goodOptions.storage, clients: { find() {}, isBrowserOrigin() {} } },
});

describe("a line of an assessment (RFC 9700 §2)", () => {
  it("says what the standard asks, and has the note and the tests of the table", () => {
    const { items } = assess(goodOptions);
    expect(items.map(({ standard, section, title }) => ({ standard, section, title }))).toEqual(
      requirements.map(({ standard, section, title }) => ({ standard, section, title })),
    );
    expect(items.map(({ tests }) => tests)).toEqual(requirements.map(({ tests }) => tests ?? []));
    for (const [index, { state, note }] of items.entries())
      if (state !== "weakened") expect(note).toBe(requirements[index]?.note);
  });

  it("begins its note with each option that weakens it, and what is so about it", () => {
    const at = "RFC 9700 4.14.2";
    const lifetimes = { refreshRetrySeconds: 10, refreshTokenSeconds: 31_536_000 };
    const line = lineOf(withChanges({ lifetimes }), at);
    expect(line?.state).toBe("weakened");
    expect(line?.by).toEqual(
      expect.arrayContaining([
        { code: "repeated-refresh-tokens", path: "lifetimes.refreshRetrySeconds" },
        { code: "long-refresh-tokens", path: "lifetimes.refreshTokenSeconds" },
      ]),
    );
    expect(line?.note).toContain("lifetimes.refreshRetrySeconds is ");
    expect(line?.note.endsWith(`. ${notePlain(at)}`)).toBe(true);
    expect(line?.note.split(". ").length).toBeGreaterThan(line?.by.length ?? 0);
  });

  it("ends its note with a sentence about clients that are not looked at, where it is about clients", () => {
    for (const at of ["RFC 9700 2.5", "ASVS 5.0 10.4.4", "ASVS 5.0 10.4.6"])
      expect(lineOf(withTable, at)?.note).toBe(
        requirementOf(at)?.aboutClients
          ? `${notePlain(at)} Clients in storage are not looked at.`
          : notePlain(at),
      );
    expect(lineOf(goodOptions, "ASVS 5.0 10.4.4")?.note).toBe(notePlain("ASVS 5.0 10.4.4"));
  });

  it("names no option where it does not apply, although one would weaken it (OWASP ASVS 5.0 V10.4.7)", () => {
    const line = lineOf(withChanges({ insecureLoopbackClients: true }), "ASVS 5.0 10.4.7");
    expect(line).toMatchObject({ state: "not-applicable", by: [], note: notePlain("ASVS 5.0 10.4.7") });
  });
});

describe("an assessment (RFC 9700 §2)", () => {
  it("names the edition of each standard", () => {
    expect(assess(goodOptions).editions).toEqual(
      Object.fromEntries(standards.map(({ standard, edition }) => [standard, edition])),
    );
  });

  it("compares with options only what is met or for the host to do: nothing weakens what is not offered", () => {
    const weakened = requirements.filter(({ weakenedBy }) => weakenedBy);
    expect(weakened.map(({ state }) => state).filter((state) => !["met", "host"].includes(state))).toEqual(
      [],
    );
  });
});

const counts = { met: 1, weakened: 0, "not-met": 2, host: 3, "not-applicable": 4 };

function item(changes: Partial<AssessmentItem>): AssessmentItem {
  return {
    standard: "RFC 9700",
    section: "4.9",
    title: "Revoked tokens end soon",
    state: "met",
    by: [],
    note: "They do.",
    tests: [],
    ...changes,
  };
}

/** A report with these items. */
function report(...items: readonly AssessmentItem[]): Assessment {
  const weakened = items.filter(({ state }) => state === "weakened").length;
  return {
    editions: { "RFC 9700": "", "OAuth 2.1": "", "FAPI 2.0": "", "ASVS 5.0": "" },
    items,
    summary: {
      "RFC 9700": { ...counts, weakened },
      "OAuth 2.1": counts,
      "FAPI 2.0": counts,
      "ASVS 5.0": counts,
    },
  };
}

const slow = { code: "slow-revocation", path: "revocationLagSeconds" } as const;
const lost = { code: "storage-in-memory", path: "storage" } as const;
const others = [
  "  OAuth 2.1: 1 met, 0 weakened, 2 not met, 3 for you to do",
  "  FAPI 2.0: 1 met, 0 weakened, 2 not met, 3 for you to do",
  "  ASVS 5.0: 1 met, 0 weakened, 2 not met, 3 for you to do",
];

describe("a report in words (RFC 9700 §2)", () => {
  it("has a line for each standard", () => {
    const lines = ["  RFC 9700: 1 met, 0 weakened, 2 not met, 3 for you to do", ...others, ""];
    expect(assessmentText(report(item({})))).toBe(lines.join("\n"));
  });

  it("names what is weakened below its standard, with the options that do it, and nothing else", () => {
    const weakened = report(
      item({ state: "weakened", by: [slow, lost] }),
      item({ section: "4.5", title: "Codes are used once", state: "weakened", by: [lost] }),
      item({ section: "4.10", title: "Tokens are bound", state: "not-met" }),
      item({ standard: "OAuth 2.1", section: "1.5", title: "TLS", state: "host" }),
    );
    const lines = [
      "  RFC 9700: 1 met, 2 weakened, 2 not met, 3 for you to do",
      "    4.9 Revoked tokens end soon: weakened by revocationLagSeconds [slow-revocation], storage [storage-in-memory]",
      "    4.5 Codes are used once: weakened by storage [storage-in-memory]",
      ...others,
      "",
    ];
    expect(assessmentText(weakened)).toBe(lines.join("\n"));
  });
});
