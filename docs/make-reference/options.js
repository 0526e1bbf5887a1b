// @ts-check
/** options.md: every option of `createAuthServer`, from its schema, its type with the doc comment, and the resolved defaults. */
const path = require("node:path");
const ts = require("typescript");
const { codeOf, docOf, root } = require("./library");
const { anchor, code, page, prose, table } = require("./markdown");
const { sourceRunner } = require("./run");

/**
 * @typedef {object} Schema
 * @property {string | readonly string[]} [type]
 * @property {string} [description] what to write instead of a wrong value
 * @property {readonly string[]} [required]
 * @property {Readonly<Record<string, Schema>>} [properties]
 * @property {Schema | boolean} [additionalProperties]
 * @property {Schema} [then]
 * @property {Schema} [items]
 * @property {readonly unknown[]} [enum]
 * @property {readonly string[]} [hasMethods]
 * @property {boolean} [isFunction]
 * @property {string} [pattern]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {number} [minItems]
 * @property {number} [maxItems]
 * @property {number} [minProperties]
 */

/**
 * @typedef {object} Option
 * @property {string} path
 * @property {string} type
 * @property {string} range
 * @property {string} fallback what is used when it is left out
 * @property {string} prose
 * @property {string} fix
 */

/** What a key of a record is called in a path. */
const keyNames = new Map([
  ["authMethods", "<id>"],
  ["apis", "<id>"],
  ["scopes", "<scope>"],
  ["texts", "<language>"],
]);

/** @param {number} number */
const shown = (number) => number.toLocaleString("en");

/** @param {Schema} schema */
function rangeOf(schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, minProperties, pattern } = schema;
  const parts = [];
  if (minimum !== undefined && maximum !== undefined) parts.push(`${shown(minimum)} to ${shown(maximum)}`);
  if (minLength === 1 && minProperties === undefined) parts.push("not empty");
  if (maxLength !== undefined) parts.push(`at most ${shown(maxLength)} characters`);
  if (minItems !== undefined) parts.push(`at least ${minItems} entry`);
  if (maxItems !== undefined) parts.push(`at most ${maxItems} entries`);
  if (minProperties !== undefined) parts.push(`at least ${minProperties} entry`);
  if (pattern !== undefined) parts.push(code(pattern));
  if (schema.hasMethods) parts.push(`with ${schema.hasMethods.map((name) => code(name)).join(", ")}`);
  return parts.join(", ");
}

/** The defaults as `resolveOptions` fills them in for a host that gives only what is required. */
function resolvedDefaults() {
  const run = sourceRunner();
  const { resolveOptions } = run(path.join(root, "lib/options/resolve.ts"));
  const { defaultLifetimes } = run(path.join(root, "lib/options/options.ts"));
  if (typeof resolveOptions !== "function") throw new Error("lib/options/resolve.ts has no resolveOptions");
  const api = { audience: "https://host/api", authMethods: ["a"], scopes: {} };
  const given = { baseUrl: "https://host", storage: {}, authMethods: { a: {} }, apis: { b: api } };
  const server = resolveOptions(given, 0);
  const lifetimes = /** @type {Record<string, number>} */ (defaultLifetimes);
  return { server, api: server.issuers[0].api, lifetimes };
}

/** @param {string} optionPath @param {ReturnType<typeof resolvedDefaults>} defaults */
function defaultOf(optionPath, { server, api, lifetimes }) {
  const name = optionPath.split(".").at(-1) ?? "";
  if (optionPath.startsWith("apis.<id>.lifetimes.")) return "that of the server";
  if (optionPath.startsWith("lifetimes.")) return code(shown(lifetimes[name] ?? Number.NaN));
  const from = /^apis\.<id>\.\w+$/.test(optionPath) ? api : /^\w+$/.test(optionPath) ? server : {};
  const value = from[name];
  if (optionPath === "apis.<id>.name") return "the id";
  if (typeof value === "number") return code(shown(value));
  if (typeof value === "string") return code(JSON.stringify(value));
  return Array.isArray(value) && value.length === 0 ? "none" : "";
}

/** @param {ts.Symbol | undefined} symbol */
function typeNodeOf(symbol) {
  const declaration = symbol?.declarations?.[0];
  return declaration && ts.isPropertySignature(declaration) ? declaration.type : undefined;
}

/** @param {import("./library").Library} library */
function optionReader(library) {
  const { checker, files } = library;
  const defaults = resolvedDefaults();

  /** @param {ts.Type} type @param {string} name */
  function propertyOf(type, name) {
    const parts = type.isUnion() ? type.types : [type];
    return parts.flatMap((part) => checker.getPropertyOfType(part, name) ?? [])[0];
  }

  /** The type of what a record holds. @param {ts.Type} type @returns {ts.Type | undefined} */
  function valueType(type) {
    const parts = type.isUnion() ? type.types : [type];
    return parts.flatMap((part) => checker.getIndexTypeOfType(part, ts.IndexKind.String) ?? [])[0];
  }

  /** @param {{ at: string, schema: Schema, symbol: ts.Symbol | undefined, type: string, isRequired: boolean }} given @returns {Option} */
  function describe({ at, schema, symbol, type, isRequired }) {
    const declaration = symbol?.declarations?.[0];
    return {
      path: at,
      type,
      range: rangeOf(schema),
      fallback: isRequired ? "required" : defaultOf(at, defaults),
      prose: declaration ? docOf(declaration).prose : "",
      fix: schema.description ?? "",
    };
  }

  /** @param {{ at: string, schema: Schema, type: ts.Type }} given @returns {Option[]} */
  function named({ at, schema, type }) {
    return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
      const symbol = propertyOf(type, name);
      const innerAt = at === "" ? name : `${at}.${name}`;
      // what storage and authentication methods hold is in ports.md
      if (at === "storage" || at === "authMethods.<id>") return [];
      const node = typeNodeOf(symbol);
      if (!symbol || !node) throw new Error(`no type has the option ${innerAt}`);
      const isRequired = schema.required?.includes(name) ?? false;
      const own = describe({ at: innerAt, schema: inner, symbol, type: codeOf(node), isRequired });
      const innerType = checker.getNonNullableType(checker.getTypeOfSymbol(symbol));
      return [own, ...below({ at: innerAt, schema: inner, type: innerType })];
    });
  }

  /** @param {{ at: string, schema: Schema, type: ts.Type }} given @returns {Option[]} */
  function below({ at, schema, type }) {
    const { additionalProperties: each } = schema;
    const held = typeof each === "object" ? valueType(type) : undefined;
    if (typeof each !== "object" || !held) return named({ at, schema, type });
    const innerAt = `${at}.${keyNames.get(at.split(".").at(-1) ?? "") ?? "<name>"}`;
    const inner = each.then ?? each;
    return below({ at: innerAt, schema: inner, type: held });
  }

  /** @returns {Option[]} */
  function read() {
    const run = sourceRunner();
    const { optionSchema } = run(path.join(root, "lib/options/schema.ts"));
    const file = files.find(({ fileName }) => fileName.endsWith("lib/options/options.ts"));
    const declaration = file?.statements.find(
      (node) => ts.isInterfaceDeclaration(node) && node.name.text === "AuthServerOptions",
    );
    if (!declaration) throw new Error("lib/options/options.ts has no AuthServerOptions");
    const type = checker.getTypeAtLocation(declaration);
    return named({ at: "", schema: /** @type {Schema} */ (optionSchema), type });
  }

  return { read };
}

/** @param {Option} option */
function section({ path: at, type, range, fallback, prose: text, fix }) {
  const facts = [
    code(type),
    range && `range: ${range}`,
    fallback && (fallback === "required" ? "**required**" : `default: ${fallback}`),
  ];
  const isPlain = fix === "" || text.includes(fix);
  return [
    `### ${at}`.replaceAll("<", "\\<"),
    facts.filter(Boolean).join(" · "),
    prose(text),
    isPlain ? "" : `If it is wrong: “${prose(fix)}”`,
  ]
    .filter(Boolean)
    .join("\n\n");
}

const intro = `Every option of [\`createAuthServer\`](functions.md#createauthserver): type, range, default, and what it means. An option that
is wrong throws a \`TypeError\` at start-up, which names the path of the option and says what to write instead; an unknown one, too.
[Errors](errors.md#wrong-options) lists these texts.`;

/** @param {import("./library").Library} library */
function optionsPage(library) {
  const options = optionReader(library).read();
  const rows = options.map(({ path: at, type, range, fallback }) => [
    `[${code(at)}](#${anchor(at)})`,
    code(type),
    range,
    fallback,
  ]);
  const overview = table(["Option", "Type", "Range", "Default"], rows);
  const body = [overview, "## Each option", ...options.map(section)].join("\n\n");
  return { text: page({ title: "Options", intro, body }), names: options.map(({ path: at }) => at) };
}

module.exports = { optionsPage };
