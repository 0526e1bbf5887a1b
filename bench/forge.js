// @ts-check
/** Makes tokens that nobody issued. */
"use strict";
const { randomBytes } = require("node:crypto");

/**
 * Makes one forged token for each good one: a JWT with the signature of another JWT, or random text of the same length.
 *
 * @param {readonly string[]} tokens
 * @returns {readonly string[]}
 */
function forge(tokens) {
  return tokens.map((token, index) => {
    const other = tokens[(index + 1) % tokens.length] ?? "";
    const [header, payload, signature] = token.split(".");
    if (signature !== undefined) return `${header}.${payload}.${other.split(".")[2]}`;
    return randomBytes(token.length).toString("base64url").slice(0, token.length);
  });
}

module.exports = { forge };
