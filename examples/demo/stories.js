// @ts-check
/**
 * What the buttons of the playground do. A new capability gets an entry in a group here, or a group of its own.
 * The script of the page reads these entries from the buttons.
 */

/** @typedef {import("./types").Story} Story */
/** @typedef {Readonly<Record<string, Story>>} Stories */

const withPerson = ["web", "portal", "native", "browser"];
const withRefreshToken = ["web", "portal", "native"];
const noPerson = "No person signs in for the Night Job.";
const noRefreshToken = "Browser App and Night Job get no refresh token.";

/** @type {Stories} */
const flow = {
  run: {
    text: "Run the flow",
    note: "Sign in and allow access when you are asked. Then the client redeems its code and calls the API.",
    machineNote: "Client credentials: the client asks for a token with its own secret and calls the API.",
    actions: ["start", "call"],
    isNew: true,
    anyPair: true,
  },
  signIn: {
    text: "Sign in with this app",
    note: "OpenID Connect: the client asks for openid, profile and email at Orders. It gets an ID token beside the access token, and asks userinfo.",
    actions: ["start", "userinfo"],
    clients: withPerson,
    because: noPerson,
    choices: { api: "orders", scope: "openid profile email" },
    isNew: true,
  },
  device: {
    text: "Sign in on another screen",
    note: "The way of terminals and televisions (RFC 8628): the client shows a code and a link, you open the link on any screen, your phone for example, and the client polls until you have answered.",
    actions: ["device", "call"],
    clients: ["native"],
    because: "Only the Phone App is registered for the device grant.",
    isNew: true,
  },
};

/** They continue with the client and the tokens of the story before. @type {Stories} */
const furtherSteps = {
  call: { text: "Call the API", note: "With the access token that the client has.", actions: ["call"] },
  change: {
    text: "Order something",
    note: "Needs the scope orders:write. The API refuses it if you did not allow that.",
    actions: ["change"],
    apis: ["orders"],
    because: "Only the Orders API takes orders.",
  },
  orderMuch: {
    text: "An order above 100",
    note: "The API takes it only after a sign-in with a one-time code. Its challenge says so, and the client has the person sign in again (step-up). After such a sign-in it passes at once.",
    actions: ["orderMuch", "stepUp", "orderMuch"],
    clients: withPerson,
    apis: ["orders"],
    because: "It needs a person, and the Orders API.",
  },
  refresh: {
    text: "Refresh",
    note: "Exchanges the refresh token for a new access token and a new refresh token.",
    actions: ["refresh"],
    clients: withRefreshToken,
    because: noRefreshToken,
  },
  silentRefresh: {
    text: "Refresh silently",
    note: "In a hidden iframe with prompt=none, the way a client in a browser does it.",
    actions: ["silentRefresh"],
    clients: ["browser"],
    because: "Only a client that runs in a page refreshes in an iframe.",
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
  otherOrganization: {
    text: "Other organization",
    note: "The person switches to their other organization. Each login keeps its organization, so the next refresh still returns the first one. A new flow asks for consent again, unless the client is trusted, and brings its own refresh tokens. The person’s page of apps lists both.",
    actions: ["otherOrganization", "refresh", "call", "start", "call"],
    clients: withRefreshToken,
    because: noRefreshToken,
  },
  disable: {
    text: "Disable",
    note: "Disables the person in the host's own table, which the host checks for every token and every sign-in.",
    actions: ["disable"],
    clients: withPerson,
    because: noPerson,
  },
  enable: {
    text: "Enable",
    note: "Enables the person. They can sign in again, but revoked tokens stay revoked.",
    actions: ["enable"],
    clients: withPerson,
    because: noPerson,
  },
};

/** @type {Stories} */
const failures = {
  noPkce: {
    text: "No PKCE",
    outcome: "invalid_request",
    note: "A public client asks without a code challenge. The error goes back to the client by redirect.",
    actions: ["start"],
    clients: ["native", "browser"],
    because: "Only public clients must use PKCE.",
    choices: { pkce: false },
    isNew: true,
    noPage: true,
  },
  replayedCode: {
    text: "Replayed code",
    outcome: "invalid_grant",
    note: "The code is redeemed twice. The second time is refused, and the tokens of the first time are revoked.",
    actions: ["start", "call", "replayCode", "call"],
    clients: withPerson,
    because: noPerson,
    isNew: true,
  },
  reusedRefreshToken: {
    text: "Reused refresh token",
    outcome: "invalid_grant",
    note: "An old refresh token is used again. It is refused, and the new one and its access token are revoked too.",
    actions: ["start", "refresh", "refresh", "reuseRefreshToken", "refresh", "call"],
    clients: withRefreshToken,
    because: noRefreshToken,
    isNew: true,
  },
  lostAnswer: {
    text: "Lost response",
    outcome: "invalid_grant",
    note: "The response to a refresh is lost, so the client sends the same refresh token again. Orders allows that for 30 seconds: the same new refresh token comes back. Once that one is used, the old one is a replay, and all tokens of this login are revoked.",
    actions: ["start", "loseAnswer", "refresh", "refresh", "reuseRefreshToken", "call"],
    clients: withRefreshToken,
    because: noRefreshToken,
    choices: { api: "orders" },
    isNew: true,
  },
  disabledPerson: {
    text: "Disabled person",
    outcome: "invalid_grant",
    note: "The host disables the person, then refuses the next refresh, which revokes the authorization, and the next sign-in. At the end, the person is enabled again.",
    actions: ["start", "disable", "call", "refresh", "call", "askAgain", "enable"],
    clients: withRefreshToken,
    because: noRefreshToken,
    isNew: true,
  },
  signedOutEverywhere: {
    text: "Signed out everywhere",
    outcome: "invalid_grant",
    note: "The host ends the person's sessions, then revokes all their logins. The refresh is refused at once, the access token within revocationLagSeconds: 0 here, 5 by default.",
    actions: ["start", "call", "signOutEverywhere", "refresh", "call"],
    clients: withRefreshToken,
    because: noRefreshToken,
    isNew: true,
  },
  wrongApi: {
    text: "Token of the wrong API",
    outcome: "invalid_token",
    note: "The token works at its own API. The other API refuses it.",
    actions: ["start", "call", "callOtherApi"],
    isNew: true,
  },
  signedOut: {
    text: "prompt=none, signed out",
    outcome: "login_required",
    note: "No page may be shown, and nobody is signed in. The error goes back to the client by redirect.",
    actions: ["signOut", "start"],
    clients: withPerson,
    because: noPerson,
    choices: { prompt: "none" },
    isNew: true,
    noPage: true,
  },
  wrongRedirectUri: {
    text: "Wrong redirect URI",
    outcome: "error page",
    note: "It isn't registered, so the person sees an error page, and nothing is sent there.",
    actions: ["open"],
    clients: withPerson,
    because: noPerson,
    choices: { redirectUri: "/elsewhere", sendRedirectUri: true },
    isNew: true,
  },
  wideScope: {
    text: "Scope too broad",
    outcome: "invalid_scope",
    note: "The client asks for more than this API offers.",
    actions: ["start"],
    choices: { scope: "orders:read reports:read everything" },
    isNew: true,
    noPage: true,
  },
  noIssuer: {
    text: "An invalid pair",
    outcome: "404",
    note: "Reports does not accept people who sign in with a password, so there is no such authorization server.",
    actions: ["open"],
    clients: withPerson,
    because: noPerson,
    choices: { method: "password", api: "reports" },
    isNew: true,
    anyPair: true,
  },
};

/** In the order of the page. @type {readonly import("./types").StoryGroup[]} */
const groups = [
  { name: "flow", title: "Run", stories: flow },
  { name: "further", title: "Continue with the token", stories: furtherSteps },
  { name: "failures", title: "Make it fail", stories: failures },
];

module.exports = { failures, flow, furtherSteps, groups };
