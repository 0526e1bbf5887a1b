// @ts-check
/** The host's pages. `html` escapes every inserted text; your template engine does that for you. */
const path = require("node:path");
const express = require("express");

/** @typedef {{ readonly html: string }} Html */
/** @typedef {string | undefined | Html | readonly Html[]} Insert */

/** Objects that `html` has made. Only these count as markup: the JSON of a request can also have a property `html`. */
const made = new WeakSet();

/** @type {(value: Insert) => string} */
function toHtml(value) {
  if (value === undefined) return "";
  if (typeof value === "string") return value.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  if (made.has(value)) return /** @type {Html} */ (value).html;
  return Array.isArray(value) ? value.map(toHtml).join("") : "";
}

/** @type {(strings: TemplateStringsArray, ...values: Insert[]) => Html} */
function html(strings, ...values) {
  const written = { html: String.raw({ raw: strings }, ...values.map(toHtml)) };
  made.add(written);
  return written;
}

/** @type {(title: string, main: Html) => string} */
const page = (title, main) =>
  html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title}</title>
      <link rel="stylesheet" href="/style.css" />
      <main>
        <h1>${title}</h1>
        ${main}
      </main>
    </html>`.html;

/** The style sheet of the pages. */
const look = express.static(path.join(__dirname, "../look"));

/** Other sites may not frame these pages, and no script runs in them. @type {import("express").RequestHandler} */
const pageHeaders = (_req, res, next) => {
  res.set({
    "Cache-Control": "no-store",
    // no form-action: browsers also apply it to the redirects after a form, and those end at the client
    "Content-Security-Policy":
      "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  });
  next();
};

/**
 * Stands for a page of the client, which would compare `state` and `iss` and redeem the code.
 *
 * @type {import("express").RequestHandler}
 */
const clientPage = (req, res) => {
  const answer = new URL(req.originalUrl, "http://localhost").searchParams;
  const main = html`<p>The browser came back with this response:</p>
    <dl>
      ${[...answer].map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>`;
  res.send(page("Back at the client", main));
};

module.exports = { clientPage, html, look, page, pageHeaders };
