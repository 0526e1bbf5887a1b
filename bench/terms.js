// @ts-check
/** The values that every server of the benchmark is configured with, so that one generator can talk to all of them. */
"use strict";
const { createHash, generateKeyPairSync } = require("node:crypto");

/** `openid.js` measures signing in to other apps; everything else measures OAuth alone. */
const openid = process.env["BENCH_OPENID"] !== undefined;
const verifier = "a-code-verifier-of-the-benchmark-0123456789-abcdef";

module.exports = {
  clientId: "bench",
  clientSecret: "Y2xpZW50LXNlY3JldC1vZi10aGUtYmVuY2htYXJrLTAxMjM",
  redirectUri: "https://client.example/callback",
  openid,
  scope: openid ? "openid email" : "read",
  /** What userinfo says besides `sub`. */
  claims: { email: "alice@example.com", email_verified: true },
  subject: "alice",
  state: "a-state-of-the-benchmark",
  verifier,
  challenge: createHash("sha256").update(verifier).digest("base64url"),
  /** The session cookie of a person who has signed in and consented. */
  cookie: "session=alice",
  /** What the session cookie of any other person begins with; the subject follows. */
  cookieOf: "session=of-",
  /** The answer of a protected route, and of F1. */
  greeting: { message: "hello", from: "the benchmark" },
  /** The answer of F2: as long as a token endpoint's answer with an opaque token. */
  tokenAnswer: {
    access_token: "dG9rZW4tb2YtdGhlLWZsb29yLW9mLXRoZS1iZW5jaG1hcms",
    token_type: "bearer",
    expires_in: 3600,
    scope: "read",
  },
  /** Returns a new ES256 key; every process has a different one. */
  newSigningKey: () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
};
