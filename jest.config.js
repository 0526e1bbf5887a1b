"use strict";

const swc = {
  swcrc: false,
  jsc: { target: "es2023", parser: { syntax: "typescript" } },
  module: { type: "commonjs" },
  sourceMaps: "inline",
};

/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "node",
  maxWorkers: "100%",
  // no test measures time; a busy machine must not fail one
  testTimeout: 60_000,
  testMatch: ["<rootDir>/__tests__/**/*.test.ts"],
  // openid-client, oauth4webapi and jose publish ES modules only
  transform: { "^.+\\.[tj]s$": ["@swc/jest", swc] },
  transformIgnorePatterns: ["/node_modules/(?!(openid-client|oauth4webapi|jose)/)", "<rootDir>/dist/"],
  collectCoverageFrom: ["lib/**/*.ts"],
};
