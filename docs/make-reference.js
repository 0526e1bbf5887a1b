// @ts-check
/** Writes docs/reference/: options, events, errors, ports and functions, from the types, texts and doc comments of lib/. */
const { mkdirSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { functionsPage, portsPage } = require("./make-reference/declarations");
const { errorsPage } = require("./make-reference/errors");
const { eventsPage } = require("./make-reference/events");
const { readLibrary } = require("./make-reference/library");
const { optionsPage } = require("./make-reference/options");

function reference() {
  const library = readLibrary();
  return {
    options: optionsPage(library),
    events: eventsPage(library),
    errors: errorsPage(library),
    ports: portsPage(library),
    functions: functionsPage(library),
  };
}

if (require.main === module) {
  const folder = path.join(__dirname, "reference");
  mkdirSync(folder, { recursive: true });
  for (const [name, { text }] of Object.entries(reference())) {
    writeFileSync(path.join(folder, `${name}.md`), text);
  }
}

module.exports = { reference };
