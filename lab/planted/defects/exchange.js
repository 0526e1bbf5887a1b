// @ts-check
/** Defects in token exchange: who may exchange what, what the new token says, and what ends it. */
"use strict";

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "any client exchanges tokens of any API in the table",
    file: "lib/grants/token-exchange.ts",
    find: "if (!api.issuers.includes(expected) || !source.clients.includes(client.clientId)) return [];",
    replace: "if (!api.issuers.includes(expected)) return [];",
    tests: ["grants/token-exchange"],
  },
  {
    name: "a token of a method that the API has dropped is exchanged",
    file: "lib/grants/token-exchange.ts",
    find: "if (!api.issuers.includes(expected) || !source",
    replace: "if (!api || !source",
    tests: ["attacks/exchanges"],
  },
  {
    name: "a token of another sign-in is exchanged",
    file: "lib/grants/token-exchange.ts",
    find: 'if (typeof genuine === "string" || genuine.accessToken.issuer !== expected) return [];',
    replace: 'if (typeof genuine === "string") return [];',
    tests: ["grants/token-exchange"],
  },
  {
    name: "an exchanged token outlives the one that it was exchanged for",
    file: "lib/grants/token-exchange.ts",
    find: "Math.min(asked.accessTokenSeconds, left)",
    replace: "asked.accessTokenSeconds",
    tests: ["grants/token-exchange"],
  },
  {
    name: "a chain widens what it was made of",
    file: "lib/grants/token-exchange.ts",
    find: "const { actor: before, authorizationScopes = used.map(([name]) => name) } = accessToken;",
    replace: "const { actor: before } = accessToken, authorizationScopes = used.map(([name]) => name);",
    tests: ["grants/token-exchange"],
  },
  {
    name: "what is stored is refused afterwards",
    file: "lib/grants/token-exchange.ts",
    find: "  checkAlive(ports, { request, decided });\n  const accessToken = await issueAccessToken(ports, issue);",
    replace:
      "  const accessToken = await issueAccessToken(ports, issue);\n  checkAlive(ports, { request, decided });",
    tests: ["grants/token-exchange"],
  },
  {
    name: "an exchanged token does not carry the end marks that it was born under",
    file: "lib/tokens/issue-tokens.ts",
    find: "const hasMarks = authorizationId === undefined || exchanged !== undefined;",
    replace: "const hasMarks = authorizationId === undefined;",
    tests: ["grants/exchanged-token-ends"],
  },
  {
    name: "an exchanged token does not end with its person's client",
    file: "lib/tokens/read-access-token.ts",
    find: "return exchangedValidity({ storage, clients }, { ...question, authorization, asOf: holder.asOf });",
    replace: 'return { kind: "valid", accessToken, asOf: holder.asOf };',
    tests: ["grants/exchanged-token-ends"],
  },
  {
    name: "a scope that was taken back stays in what it became",
    file: "lib/tokens/read-access-token.ts",
    find: 'if (validity.kind === "ended" || validity.accessToken !== origin) return ended("token-taken-back");',
    replace: 'if (validity.kind === "ended") return ended("token-taken-back");',
    tests: ["grants/exchanged-token-ends"],
  },
  {
    name: "a token names another actor than the client that has it",
    file: "lib/protocol/access-token.ts",
    find: "if (!actor || actor.subject !== client_id || !authorizationScopes) return undefined;",
    replace: "if (!actor || !authorizationScopes) return undefined;",
    tests: ["protocol/actor"],
  },
];

module.exports = { defects };
