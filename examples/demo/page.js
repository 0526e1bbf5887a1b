// @ts-check
/** The host's own pages. `html` escapes every inserted text. */

/** @typedef {{ readonly text: string }} Html */
/** @typedef {string | undefined | Html | readonly Html[]} Insert */

/** Objects that `html` has made. Only these count as HTML. */
const made = new WeakSet();

/** @type {(value: Insert) => string} */
function toText(value) {
  if (value === undefined) return "";
  if (typeof value === "string") return value.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  if (made.has(value)) return /** @type {Html} */ (value).text;
  return Array.isArray(value) ? value.map(toText).join("") : "";
}

/** @type {(strings: TemplateStringsArray, ...values: Insert[]) => Html} */
function html(strings, ...values) {
  const written = { text: String.raw({ raw: strings }, ...values.map(toText)) };
  made.add(written);
  return written;
}

/** @type {(content: { title: string, body: Html, head?: Html | undefined }) => string} */
function wholePage({ title, body, head }) {
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title}</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href="/demo.css" />
      ${head}${body}
    </html>`.text;
}

/** A card with a heading. @type {(content: { title: string, main: Html, head?: Html }) => string} */
function page({ title, main, head }) {
  const body = html`<main class="card">
    <h1>${title}</h1>
    ${main}
  </main>`;
  return wholePage({ title, body, head });
}

module.exports = { html, page, wholePage };
