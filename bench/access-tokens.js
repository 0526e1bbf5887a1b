// @ts-check
/** Creates ES256 access tokens for servers whose middleware needs tokens but which issue none themselves. */
"use strict";
const { randomUUID } = require("node:crypto");
const jwt = require("jsonwebtoken");
const terms = require("./terms");

/**
 * @param {{ privateKey: import("node:crypto").KeyObject; issuer: string; audience: string }} how
 * @returns {(count: number) => string[]}
 */
const newAccessTokens =
  ({ privateKey, issuer, audience }) =>
  (count) =>
    Array.from({ length: count }, () =>
      jwt.sign({ client_id: terms.clientId, scope: terms.scope }, privateKey, {
        algorithm: "ES256",
        header: { alg: "ES256", typ: "at+jwt" },
        issuer,
        audience,
        subject: terms.subject,
        jwtid: randomUUID(),
        expiresIn: 3600,
      }),
    );

module.exports = { newAccessTokens };
