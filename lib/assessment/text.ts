/** The short form of a report: a line for each standard, and what is weakened. */
import { type Assessment, standards } from "./assess";

/** What is counted, in the order of the line. */
const counted = [
  ["met", "met"],
  ["weakened", "weakened"],
  ["not-met", "not met"],
  ["host", "for you to do"],
] as const;

/** The report in words. The lines end in a newline. What is not met or for you to do is only counted. */
export function assessmentText({ items, summary }: Assessment): string {
  return standards
    .map(({ standard }) => {
      const counts = counted.map(([state, words]) => `${summary[standard][state]} ${words}`).join(", ");
      const weakened = items
        .filter((item) => item.standard === standard && item.state === "weakened")
        .map(({ section, title, by }) => `    ${section} ${title}: weakened by ${by.join(", ")}\n`);
      return `  ${standard}: ${counts}\n${weakened.join("")}`;
    })
    .join("");
}
