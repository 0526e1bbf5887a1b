import type { Assessment, AssessmentItem } from "../../lib/assessment/assess";
import { assessmentText } from "../../lib/assessment/text";

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
      item({ state: "weakened", by: ["revocationLagSeconds", "storage"] }),
      item({ section: "4.5", title: "Codes are used once", state: "weakened", by: ["storage"] }),
      item({ section: "4.10", title: "Tokens are bound", state: "not-met" }),
      item({ standard: "OAuth 2.1", section: "1.5", title: "TLS", state: "host" }),
    );
    const lines = [
      "  RFC 9700: 1 met, 2 weakened, 2 not met, 3 for you to do",
      "    4.9 Revoked tokens end soon: weakened by revocationLagSeconds, storage",
      "    4.5 Codes are used once: weakened by storage",
      ...others,
      "",
    ];
    expect(assessmentText(weakened)).toBe(lines.join("\n"));
  });
});
