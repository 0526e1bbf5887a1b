import type { AuthServerOptions } from "../../lib";
import { assess, type AssessmentItem, standards } from "../../lib/assessment/assess";
import { goodOptions, withChanges } from "../fixture/options";

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
      expect.arrayContaining(["lifetimes.refreshRetrySeconds", "lifetimes.refreshTokenSeconds"]),
    );
    expect(line?.note).toContain("lifetimes.refreshRetrySeconds is 10 seconds. ");
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
