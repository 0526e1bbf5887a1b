// @ts-check
/** What the buttons of the start page do. The page's script reads it from the buttons. */

/** @typedef {import("./types").Story} Story */
/** @typedef {Readonly<Record<string, Story>>} Stories */

const withPerson = ["web", "portal", "native", "browser"];
const withRefreshToken = ["web", "portal", "native"];

/** @type {Stories} */
const flow = {
  run: {
    text: "Run the flow",
    note: "Sign in and allow it where you are asked; then the client redeems its code and calls the API.",
    actions: ["start", "call"],
    isNew: true,
    anyPair: true,
  },
};

/** @type {Stories} */
const furtherSteps = {
  call: { text: "Call the API", note: "With the access token that the client holds.", actions: ["call"] },
  change: {
    text: "Order something",
    note: "Takes orders:write; refused when it was not allowed.",
    actions: ["change"],
  },
  refresh: {
    text: "Refresh",
    note: "A new access token and a new refresh token for the old one.",
    actions: ["refresh"],
  },
  silentRefresh: {
    text: "Refresh silently",
    note: "In a hidden iframe with prompt=none: what a client in a page does.",
    actions: ["silentRefresh"],
    clients: ["browser"],
  },
  clientCredentials: {
    text: "Client credentials",
    note: "A token for the client itself. Public clients may not.",
    actions: ["clientCredentials"],
  },
  introspect: {
    text: "Introspect",
    note: "What the token means, told to confidential clients only. The way to read an opaque one.",
    actions: ["introspect"],
  },
  revoke: { text: "Revoke", note: "The client gives its access token back.", actions: ["revoke"] },
};

/** @type {Stories} */
const failures = {
  noPkce: {
    text: "No PKCE",
    note: "A public client asks without a code challenge: invalid_request, by redirect.",
    actions: ["start"],
    clients: ["native", "browser"],
    choices: { pkce: false },
    isNew: true,
  },
  replayedCode: {
    text: "Replayed code",
    note: "The code is redeemed twice: invalid_grant, and the tokens of the first time die.",
    actions: ["start", "call", "replayCode", "call"],
    clients: withPerson,
    isNew: true,
  },
  reusedRefreshToken: {
    text: "Reused refresh token",
    note: "The old one is tried again: invalid_grant, and the new one dies too, with its access token.",
    actions: ["start", "refresh", "reuseRefreshToken", "refresh", "call"],
    clients: withRefreshToken,
    isNew: true,
  },
  wrongApi: {
    text: "Token of the wrong API",
    note: "The token is good at its own API and invalid_token at the other one.",
    actions: ["start", "call", "callOtherApi"],
    isNew: true,
  },
  signedOut: {
    text: "prompt=none without a session",
    note: "No page may be shown and nobody is signed in: login_required, by redirect.",
    actions: ["signOut", "start"],
    clients: withPerson,
    choices: { prompt: "none" },
    isNew: true,
  },
  wrongRedirectUri: {
    text: "Wrong redirect URI",
    note: "One that is not registered: a page, and no redirect that could carry anything there.",
    actions: ["open"],
    clients: withPerson,
    choices: { redirectUri: "/elsewhere", sendRedirectUri: true },
    isNew: true,
  },
  wideScope: {
    text: "Too wide a scope",
    note: "More than this API has to give: invalid_scope.",
    actions: ["start"],
    choices: { scope: "orders:read reports:read everything" },
    isNew: true,
  },
  noIssuer: {
    text: "A pair that is none",
    note: "Reports are not for people who sign in with a password: 404, there is no such authorization server.",
    actions: ["open"],
    clients: withPerson,
    choices: { method: "password", api: "reports" },
    isNew: true,
    anyPair: true,
  },
};

module.exports = { flow, furtherSteps, failures };
