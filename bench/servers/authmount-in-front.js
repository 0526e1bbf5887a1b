// @ts-check
/** authmount with its memory storage and with its client endpoints in front of Express. */
"use strict";
const { memoryStorage } = require("../..");
const { clientOf, newSecrets, startHost } = require("../authmount-host");

/** @type {import("../types").ServerFile} */
module.exports = {
  title: "authmount, in front of Express",
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const secrets = newSecrets();
    const storage = memoryStorage({ maxEntries: 10_000_000, clients: [clientOf(secrets)] });
    const { auth, listener, routes } = await startHost({ ...secrets, format, storage });
    const { silent: _silent, protected: _protected, ...others } = routes;
    // the two routes that only Express answers are left out
    return { listener: auth.inFrontOf(listener), routes: others };
  },
};
