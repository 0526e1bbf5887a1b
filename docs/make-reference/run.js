// @ts-check
/** Runs a module of lib/ from its source, so that the reference needs no build. */
const { existsSync, readFileSync } = require("node:fs");
const path = require("node:path");
const ts = require("typescript");

/** @returns {(file: string) => Record<string, unknown>} */
function sourceRunner() {
  /** @type {Map<string, { exports: Record<string, unknown> }>} */
  const loaded = new Map();

  /** @param {string} file @returns {Record<string, unknown>} */
  function run(file) {
    const known = loaded.get(file);
    if (known) return known.exports;
    const module = { exports: {} };
    loaded.set(file, module);
    const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 };
    const { outputText } = ts.transpileModule(readFileSync(file, "utf8"), { compilerOptions });
    /** @param {string} name @returns {unknown} */
    const requireFrom = (name) => {
      if (!name.startsWith(".")) return require(name);
      const inner = path.join(path.dirname(file), name);
      return run(existsSync(`${inner}.ts`) ? `${inner}.ts` : path.join(inner, "index.ts"));
    };
    // the code is this repository's own
    // eslint-disable-next-line typescript/no-implied-eval
    new Function("require", "module", "exports", outputText)(requireFrom, module, module.exports);
    return module.exports;
  }

  return run;
}

module.exports = { sourceRunner };
