// @ts-check
/** What the buttons of the start page do. The script of the page reads this from the buttons. */

/** @typedef {import("./types").Story} Story */
/** @typedef {Readonly<Record<string, Story>>} Stories */

const withPerson = ["web", "portal", "native", "browser"];
const withRefreshToken = ["web", "portal", "native"];

/** @type {Stories} */
const flow = {
  run: {
    text: "Run the flow",
    note: "Sign in and allow access when you are asked. Then the client redeems its code and calls the API.",
    actions: ["start", "call"],
    isNew: true,
    anyPair: true,
  },
};

/** @type {Stories} */
const furtherSteps = {
  call: { text: "Call the API", note: "With the access token that the client has.", actions: ["call"] },
  change: {
    text: "Order something",
    note: "Needs orders:write; refused if you did not allow it.",
    actions: ["change"],
  },
  refresh: {
    text: "Refresh",
    note: "Exchanges the refresh token for a new access token and a new refresh token.",
    actions: ["refresh"],
  },
  silentRefresh: {
    text: "Refresh silently",
    note: "In a hidden iframe with prompt=none, as a client in a page does it.",
    actions: ["silentRefresh"],
    clients: ["browser"],
  },
  clientCredentials: {
    text: "Client credentials",
    note: "A token for the client itself. Refused for public clients.",
    actions: ["clientCredentials"],
  },
  introspect: {
    text: "Introspect",
    note: "What the token means, for confidential clients only. This is the way to read an opaque token.",
    actions: ["introspect"],
  },
  revoke: { text: "Revoke", note: "The client revokes its access token.", actions: ["revoke"] },
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
    note: "The code is redeemed twice: invalid_grant, and the tokens of the first time are revoked.",
    actions: ["start", "call", "replayCode", "call"],
    clients: withPerson,
    isNew: true,
  },
  reusedRefreshToken: {
    text: "Reused refresh token",
    note: "The old one is used again: invalid_grant, and the new one and its access token are revoked too.",
    actions: ["start", "refresh", "reuseRefreshToken", "refresh", "call"],
    clients: withRefreshToken,
    isNew: true,
  },
  wrongApi: {
    text: "Token of the wrong API",
    note: "The token works at its own API; the other API answers invalid_token.",
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
    note: "It is not registered: an error page, and no redirect that could send anything there.",
    actions: ["open"],
    clients: withPerson,
    choices: { redirectUri: "/elsewhere", sendRedirectUri: true },
    isNew: true,
  },
  wideScope: {
    text: "Too wide a scope",
    note: "More than this API offers: invalid_scope.",
    actions: ["start"],
    choices: { scope: "orders:read reports:read everything" },
    isNew: true,
  },
  noIssuer: {
    text: "An invalid pair",
    note: "Reports does not accept people who sign in with a password: 404, there is no such authorization server.",
    actions: ["open"],
    clients: withPerson,
    choices: { method: "password", api: "reports" },
    isNew: true,
    anyPair: true,
  },
};

module.exports = { flow, furtherSteps, failures };
