// @ts-check
/** Defects in signing in to other apps. */
"use strict";

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "an ID token is issued although the authorization ended while the host answered",
    file: "lib/tokens/identity.ts",
    find: "hasWaited ? await standing(ports, asked) : asked.authorization",
    replace: "asked.authorization",
    tests: ["openid/claims"],
  },
  {
    name: "an end of the client while the host answered does not count",
    file: "lib/tokens/identity.ts",
    find: "(await authorizationStands({ storage }, question)) ? authorization : undefined",
    replace: "authorization?.revoked === false ? authorization : undefined",
    tests: ["openid/claims"],
  },
  {
    name: "a client that is disabled while the host answers still hears of the person",
    file: "lib/tokens/identity.ts",
    find: "clients.findHolder(clientId, { apiId, fresh: true })",
    replace: "clients.findHolder(clientId, { apiId, fresh: false })",
    tests: ["openid/claims", "openid/userinfo"],
  },
  {
    name: "userinfo answers a token that its client has taken back while the host answered",
    file: "lib/tokens/identity.ts",
    find: "isRevoked || !holder?.hasSubscription",
    replace: "!holder?.hasSubscription",
    tests: ["openid/userinfo"],
  },
  {
    name: "claims are told that the person took back while the host answered",
    file: "lib/tokens/identity.ts",
    find: "intersect(asked.scopes, last.grantedScopes)",
    replace: "asked.scopes",
    tests: ["openid/claims", "openid/userinfo"],
  },
  {
    name: "claims are told that no scope opens",
    file: "lib/protocol/openid.ts",
    find: ".filter(([name]) => opened.has(name))",
    replace: "",
    tests: ["openid/id-token"],
  },
  {
    name: "userinfo answers for the tokens of every issuer of the API",
    file: "lib/bearer/userinfo.ts",
    find: "token.issuer !== issuer.identifier",
    replace: "false",
    tests: ["openid/userinfo"],
  },
  {
    name: "userinfo tells what was taken back within the lag",
    file: "lib/bearer/userinfo.ts",
    find: "intersect(token.scopes, authorization.grantedScopes)",
    replace: "token.scopes",
    tests: ["openid/userinfo"],
  },
  {
    name: "people are led to any place after they have signed out",
    file: "lib/protocol/post-logout-uri.ts",
    find: "postLogoutRedirectUris?.includes(uri)",
    replace: "true",
    tests: ["openid/sign-out"],
  },
  {
    name: "anybody can lead people to a place of a client by its id alone",
    file: "lib/interaction/sign-out.ts",
    find: "if (target !== undefined && ofHint === undefined)",
    replace: "if (false)",
    tests: ["openid/sign-out"],
  },
  {
    name: "a hint that nobody can read fails",
    file: "lib/interaction/sign-out.ts",
    find: "idTokens.verify(hint) ?? {}",
    replace: "idTokens.verify(hint)",
    tests: ["lab/fuzz/openid"],
  },
  {
    name: "a sign-out leads to places of other clients",
    file: "lib/interaction/sign-out.ts",
    find: "!(client && verifyPostLogoutUri(client, target))",
    replace: "!client",
    tests: ["openid/sign-out", "lab/fuzz/openid"],
  },
  {
    name: "the event of a sign-out has the whole hint",
    file: "lib/interaction/sign-out.ts",
    find: 'throw refused("id_token_hint is no ID token of this issuer.", "logout-hint-not-ours")',
    replace:
      'throw new OAuthError("invalid_request", { description: "No.", code: "logout-hint-not-ours", reason: hint })',
    tests: ["lab/fuzz/openid"],
  },
  {
    name: "a state of any length goes into the URL of a sign-out",
    file: "lib/interaction/sign-out.ts",
    find: '[target, state, uiLocales].join("")',
    replace: '""',
    tests: ["lab/fuzz/openid"],
  },
  {
    name: "an access token passes for a hint",
    file: "lib/signing/verify-jwt.ts",
    find: 'crit === undefined && typ === "JWT"',
    replace: "crit === undefined",
    tests: ["openid/id-token-hint"],
  },
  {
    name: "a client without a person gets identity scopes",
    file: "lib/grants/client-credentials.ts",
    find: "const asker = { client, issuer: withoutPeople(issuer) };",
    replace: "const asker = { client, issuer };",
    tests: ["openid/scopes"],
  },
];

module.exports = { defects };
