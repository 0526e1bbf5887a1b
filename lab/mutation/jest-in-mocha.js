/**
 * What the tests use of Jest, in place of Mocha's interface "bdd". Jest loads `lib/` anew for every test file and every mutant. Stryker's runner
 * for Mocha loads everything once and then runs only the tests that reach a mutant, which is many times as quick.
 */
"use strict";
const path = require("node:path");
const { transformSync } = require("@swc/core");
const { expect } = require("expect");
const { bind } = require("jest-each");
const { ModuleMocker } = require("jest-mock");
const Mocha = require("mocha");
const commonInterface = require("mocha/lib/interfaces/common");
const { addHook } = require("pirates");
const { projects } = require("../../jest.config");

process.env.NODE_ENV = "test"; // as Jest does

/** A request that a mutant leaves without an answer must not hold up the run. On a busy machine, the slowest test takes a few seconds. */
const limitMilliseconds = 30_000;

const [[, swc]] = Object.values(projects[0].transform);
addHook((text, filename) => transformSync(text, { ...swc, filename }).code, { exts: [".ts"] });

const mocker = new ModuleMocker(globalThis);
const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  replaceProperty: mocker.replaceProperty.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  setTimeout: () => undefined,
};

/**
 * Some mutants are reached by all tests. `run.mjs` says how many of them are enough, beside those that call the mutated function directly: one
 * half comes first, and the other half is spread over all files.
 */
const maxTests = Number(process.env.AUTHMOUNT_MUTATION_TESTS);
/** Folders, and names of files, as patterns. */
const directTests = [
  // other files of this folder need databases, or many simultaneous calls
  "adapters/(?:expiring-map(?:-entries)?|in-memory|memory(?:-[a-z]+)?|rows)",
  "assessment",
  "bearer",
  "cli",
  "clients",
  "create-auth-server",
  "end-user",
  "events",
  "fetching",
  "host",
  "http",
  "interaction",
  "metadata-document",
  "on-demand",
  "options",
  "protocol",
  "recall",
  // other files of this folder make requests
  "resource-server/(?:create-resource-server|introspect|options|remote-[a-z]+)",
  "review",
  "signing",
  "storage/(?:calls|client-(?:key-)?record|end-marks)",
  "strangers",
  "system",
  "testing",
  "tokens",
];
const direct = new RegExp(`^__tests__/(?:${directTests.join("|")})[./]`);
let tried = 0;

/**
 * Stryker names the tests to run in one expression, `(^title$)|(^title$)…`. With thousands of titles it takes seconds to look for each test in
 * it, so they become the keys of a map.
 */
Mocha.prototype.grep = function grep(expression) {
  if (!expression) return this;
  const escaped = expression.source.slice("(^".length, -"$)".length).split("$)|(^");
  const titles = escaped.map((title) => title.replaceAll(/\\(.)/gs, "$1"));
  const step = Math.ceil((2 * titles.length) / maxTests);
  /** Title → whether the test always runs. */
  const wanted = new Map(titles.map((title, at) => [title, at % step === 0 || direct.test(title)]));
  tried = 0;
  this.options.grep = { test: (title) => wanted.has(title) && (wanted.get(title) || tried < maxTests / 2) };
  return this;
};

/**
 * Code that runs while a test file loads, and in tests as well, would get a new process for each of its mutants. Its tests notice the mutant in
 * the process that there is.
 */
exports.mochaHooks = {
  afterAll() {
    const { static: whileLoading = {}, perTest = {} } =
      Reflect.get(globalThis, "__stryker__")?.mutantCoverage ?? {};
    for (const inTest of Object.values(perTest))
      for (const mutant of Object.keys(inTest)) delete whileLoading[mutant];
  },
};

function called(fn) {
  if (fn.length === 0) return fn();
  return new Promise((resolve, reject) => fn((error) => (error === undefined ? resolve() : reject(error))));
}

/** Runs a test or a hook. Stryker switches Mocha's own limit off. */
async function limited(fn) {
  let timer;
  const isLate = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the test takes too long")), limitMilliseconds);
  });
  try {
    await Promise.race([called(fn), isLate]);
  } finally {
    clearTimeout(timer);
  }
}

Mocha.interfaces.bdd = (root) => {
  const suites = [root];
  root.on("pre-require", (context, file, mocha) => {
    const common = commonInterface(suites, context, mocha);
    const ofFile = Mocha.Suite.create(root, path.relative(process.cwd(), file));
    // the next mutant is near this one, so the same tests may notice it: they come first then
    const toFront = (error) => {
      root.suites.splice(root.suites.indexOf(ofFile), 1);
      root.suites.unshift(ofFile);
      throw error;
    };
    const describe = (title, fn) => common.suite.create({ title, file, fn });
    const it = (title, fn) => {
      const test = new Mocha.Test(title, () => {
        tried += 1;
        return limited(fn).catch(toFront);
      });
      test.file = file;
      suites[0].addTest(test);
    };
    describe.each = bind(describe);
    it.each = bind(it);
    const hook = (name) => (fn) => common[name](() => limited(fn));
    Object.assign(context, {
      describe,
      it,
      test: it,
      expect,
      jest,
      beforeAll: hook("before"),
      beforeEach: hook("beforeEach"),
      afterAll: hook("after"),
      afterEach: hook("afterEach"),
    });
    // what a file sets up is for its own tests only, and two files may have tests of the same name
    suites.unshift(ofFile);
  });
  root.on("post-require", () => void suites.shift());
};
