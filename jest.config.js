"use strict";

const swc = {
  swcrc: false,
  jsc: { target: "es2023", parser: { syntax: "typescript" } },
  module: { type: "commonjs" },
  sourceMaps: "inline",
  // every test file compiles all of lib/ again, and a copy of the source in each map takes a quarter of that time
  inlineSourcesContent: false,
};

/** What a project has to be told for itself; Jest takes the rest from the whole run only. */
const project = {
  testEnvironment: "node",
  setupFiles: ["<rootDir>/__tests__/no-warnings.js"],
  // openid-client, oauth4webapi, jose, Auth.js and the cookie of light-my-request publish ES modules only; pglite imports at run time, which Jest allows in compiled files only
  transform: { "^.+\\.c?[tj]s$": ["@swc/jest", swc] },
  transformIgnorePatterns: [
    "(?<!light-my-request)/node_modules/(?!(openid-client|oauth4webapi|jose|@auth|@electric-sql|light-my-request/node_modules)/)",
    "<rootDir>/dist/",
  ],
};

/**
 * Files whose requests go to the client endpoints. Left out although theirs do too:
 * - flows/{mounting,body-parsers}, recipes and attacks/canary (with misplaced-secrets) are about middleware of the host ahead of
 *   the router
 * - flows/in-front* compare both ways by themselves
 * - attacks/{code-race,floods,storage-faults,stolen-storage,token-forgery,token-substitution}, storage/time-limit* and
 *   flows/mixed-storage are slow or about what is behind both
 */
const clientEndpointTests = [
  "endpoints/{token,token-*,revocation,introspection,registration,metadata}",
  "grants/*",
  "flows/{authorization-code,pairs,key-rotation,rotated-keys,rate-limit}",
  "attacks/{stolen-code,stolen-refresh-token,cross-site,cross-site-cookies,parameter-pollution}",
  "{events,channels}",
];

/** @type {import("jest").Config} */
module.exports = {
  maxWorkers: "100%",
  // a worker that keeps the memory of many test files runs the later ones ten times slower
  workerIdleMemoryLimit: "500MB",
  // no test measures time; a busy machine must not fail one
  testTimeout: 600_000,
  // `npm test` collects it: a branch of these rooms, where the rules of the standards are, that no test takes fails the run
  collectCoverageFrom: ["lib/{grants,protocol,tokens}/**/*.ts"],
  coverageReporters: ["text-summary"],
  coverageThreshold: { global: { branches: 100 } },
  projects: [
    { ...project, displayName: "Express", testMatch: ["<rootDir>/__tests__/**/*.test.ts"] },
    {
      ...project,
      displayName: "in front of Express",
      // read by testHost
      globals: { inFrontOfExpress: true },
      testMatch: clientEndpointTests.map((name) => `<rootDir>/__tests__/${name}.test.ts`),
    },
  ],
};
