// @ts-check
/** authmount with its memory storage. */
"use strict";
const { memoryStorage } = require("../..");
const { clientOf, newSecrets, startHost } = require("../authmount-host");

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "authmount",
  formats: ["jwt", "opaque"],
  start({ format }) {
    const secrets = newSecrets();
    const storage = memoryStorage({ maxEntries: 10_000_000, clients: [clientOf(secrets)] });
    return startHost({ ...secrets, format, storage });
  },
};
