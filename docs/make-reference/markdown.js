// @ts-check
/** Markdown that shows a text as it is. */

const note = "<!-- Made by `npm run docs` from the code in lib/. Change the code and run it again. -->";

/** @param {{ title: string, intro: string, body: string }} page */
function page({ title, intro, body }) {
  return `${note}\n\n# ${title}\n\n${intro}\n\n${body.trim()}\n`;
}

/** A text outside of code: nothing in it is taken for HTML. @param {string} text */
function prose(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;")))
    .join("");
}

/** @param {string} text */
function code(text) {
  const fence = text.includes("`") ? "``" : "`";
  return `${fence}${text}${fence}`;
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
function table(head, rows) {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`);
  return lines.join("\n");
}

/** The anchor that GitHub gives a heading. @param {string} heading */
function anchor(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/** Heading → its anchor, as GitHub numbers headings that come again. @param {string} body @returns {ReadonlyMap<string, string>} */
function anchorsIn(body) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return new Map(
    [...body.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => {
      const plain = anchor(heading);
      const count = seen.get(plain) ?? 0;
      seen.set(plain, count + 1);
      return [heading, count === 0 ? plain : `${plain}-${count}`];
    }),
  );
}

module.exports = { anchor, anchorsIn, code, page, prose, table };
