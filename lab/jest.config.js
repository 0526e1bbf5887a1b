"use strict";

const path = require("node:path");
const { projects, ...whole } = require("../jest.config");

/**
 * The laboratory: what needs more packages, servers or time than the tests of the library. Its tests import `lib/` and the hosts and servers of
 * `__tests__/`, which find their packages in the root.
 *
 * @type {import("jest").Config}
 */
module.exports = {
  ...whole,
  ...projects[0],
  displayName: "lab",
  rootDir: path.join(__dirname, ".."),
  roots: ["<rootDir>/lab", "<rootDir>/lib", "<rootDir>/__tests__"],
  // helpers of `__tests__/` run code of the docs, with packages that are only here
  modulePaths: ["<rootDir>/lab/node_modules"],
  testMatch: ["<rootDir>/lab/**/*.test.ts"],
};
