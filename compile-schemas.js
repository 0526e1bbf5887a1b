// @ts-check
/**
 * The last step of `npm run build`: compiles the schemas in `dist/`, and writes their functions to the place of what compiled them. So a
 * host needs no ajv, and no process that makes code from strings.
 */
"use strict";
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const standaloneCode = require("ajv/dist/standalone").default;

/** @param {string} name */
function builtPath(name) {
  return path.join(__dirname, "dist", `${name}.js`);
}

const { schemaCompiler, schemaErrors, ...others } = require(builtPath("schemas/compile"));
if (!schemaErrors || Object.keys(others).length > 0)
  throw new Error("schemas/compile is replaced here, so it can export only schemaCompiler and schemaErrors.");
const { optionSchema } = require(builtPath("options/schema"));
const { resourceServerSchema } = require(builtPath("resource-server/options"));
const { clientSchemas } = require(builtPath("clients/client-schema"));

/** @typedef {import("./lib/schemas/compile").NamedSchema} NamedSchema */

/** JavaScript of an object: name → function. @param {import("./lib/schemas/compile").SchemaKind} kind @param {readonly NamedSchema[]} schemas */
function functionsOf(kind, schemas) {
  const compiler = schemaCompiler(kind, { source: true });
  for (const schema of schemas) compiler.addSchema(schema);
  const names = Object.fromEntries(schemas.map(({ $id }) => [$id, $id]));
  const code = standaloneCode(compiler, names)
    .replace('"use strict";', "")
    .replaceAll('require("ajv/dist/runtime/ucs2length").default', "lengthOf");
  if (/\brequire\(/.test(code)) throw new Error(`The functions of ${kind} need a module at run time.`);
  return `((exports) => {${code}return exports;})({})`;
}

writeFileSync(
  builtPath("schemas/compile"),
  `"use strict";
// made by compile-schemas.js
const lengthOf = (text) => [...text].length;
const functions = {
options: ${functionsOf("options", [optionSchema, resourceServerSchema])},
records: ${functionsOf("records", Object.values(clientSchemas))},
};
exports.schemaErrors = (value, { kind, schema }) => {
  const check = functions[kind][schema.$id];
  return check(value) ? [] : check.errors;
};
`,
);
