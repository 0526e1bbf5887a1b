// @ts-check
/** What a host installs and loads for each peer; the versions are those in this folder's `package.json`. */
"use strict";
const { dependencies } = require("./package.json");

/**
 * @typedef {{
 *   readonly title: string;
 *   readonly packages: readonly (keyof typeof dependencies)[];
 *   readonly imports?: readonly string[];
 * }} Peer
 *   `imports` is set if they differ from the packages. Express is among them if it is needed.
 */

/** @type {readonly Peer[]} */
const peers = [
  { title: "oidc-provider", packages: ["oidc-provider"] },
  {
    title: "@node-oauth/express-oauth-server",
    packages: ["express", "@node-oauth/express-oauth-server"],
  },
  {
    title: "@jmondi/oauth2-server",
    packages: ["express", "@jmondi/oauth2-server"],
    imports: ["express", "@jmondi/oauth2-server", "@jmondi/oauth2-server/express"],
  },
  {
    title: "@modelcontextprotocol/sdk",
    packages: ["express", "@modelcontextprotocol/sdk"],
    imports: [
      "express",
      "@modelcontextprotocol/sdk/server/auth/router.js",
      "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js",
    ],
  },
  { title: "oauth2orize", packages: ["express", "oauth2orize"] },
  {
    title: "passport, passport-http-bearer",
    packages: ["express", "passport", "passport-http-bearer"],
  },
  { title: "express-jwt", packages: ["express", "express-jwt"] },
  { title: "express-oauth2-jwt-bearer", packages: ["express", "express-oauth2-jwt-bearer"] },
];

/** Returns `name@version` for the installer. @param {Peer} peer */
const installable = ({ packages }) => packages.map((name) => `${name}@${dependencies[name]}`);

module.exports = { installable, peers };
