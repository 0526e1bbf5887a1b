// @ts-check
/** Defects in codes, refresh tokens and what the host decides about them. */
"use strict";

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "code of another client",
    file: "lib/protocol/authorization.ts",
    find: 'if (authorization.clientId !== client.clientId) return "the code was issued to another client";',
    replace: "",
    tests: ["grants/authorization-code"],
  },
  {
    name: "code and refresh token of another issuer of the same API",
    file: "lib/protocol/authorization.ts",
    find: "return issuer === at.identifier;",
    replace: "return apiId === at.api.apiId;",
    tests: ["endpoints/authorization", "grants/refresh-token"],
  },
  {
    name: "redirect URI of the token request only begins alike",
    file: "lib/protocol/authorization.ts",
    find: "if (redirectUri !== undefined && redirectUri !== code.redirectUri)",
    replace: "if (redirectUri !== undefined && !redirectUri.startsWith(code.redirectUri))",
    tests: ["protocol/tokens", "grants/authorization-code"],
  },
  {
    name: "verifier may be left out",
    file: "lib/protocol/authorization.ts",
    find: 'if (codeVerifier === undefined) return "code_verifier is missing";',
    replace: "if (codeVerifier === undefined) return undefined;",
    tests: ["protocol/tokens"],
  },
  {
    name: "verifier without a challenge (downgrade)",
    file: "lib/protocol/authorization.ts",
    find: ': "code_verifier was sent, but the authorization request had no code_challenge";',
    replace: ": undefined;",
    tests: ["grants/authorization-code"],
  },
  {
    name: "verifier is compared by its length only",
    file: "lib/protocol/authorization.ts",
    find: "return computed.length === challenge.length && timingSafeEqual(computed, challenge);",
    replace: "return computed.length === challenge.length;",
    tests: ["protocol/tokens"],
  },
  {
    name: "verifier may be shorter than 43 characters",
    file: "lib/protocol/authorization.ts",
    find: "[A-Za-z0-9._~-]{43,128}",
    replace: "[A-Za-z0-9._~-]{32,128}",
    tests: ["protocol/parameters"],
  },
  {
    name: "plain code challenges pass",
    file: "lib/requests/check-authorization-request.ts",
    find: 'if (method !== "S256")',
    replace: 'if (method !== "S256" && method !== "plain")',
    tests: ["protocol/authorization-request"],
  },
  {
    name: "public clients may leave PKCE out",
    file: "lib/requests/check-authorization-request.ts",
    find: "if (challenge === undefined && method === undefined && client.confidential) return undefined;",
    replace: "if (challenge === undefined && method === undefined) return undefined;",
    tests: ["protocol/authorization-request"],
  },
  {
    name: "code counts in its last second",
    file: "lib/grants/authorization-code.ts",
    find: "if (code.redeemBefore <= now)",
    replace: "if (code.redeemBefore < now)",
    tests: ["grants/authorization-code"],
  },
  {
    name: "expiry of a code is looked at before its replay",
    file: "lib/grants/authorization-code.ts",
    find: "if (code.consumed) throw await refuseReplay(ports, { code, request });",
    replace:
      'if (code.redeemBefore <= now) throw invalidGrant("the code has expired");\n  if (code.consumed) throw await refuseReplay(ports, { code, request });',
    tests: ["grants/authorization-code"],
  },
  {
    name: "record of a code ends with the code, so that no replay is noticed",
    file: "lib/tokens/issue-code.ts",
    find: "expiresAt: redeemBefore + accessTokenSeconds,",
    replace: "expiresAt: redeemBefore,",
    tests: ["grants/authorization-code"],
  },
  {
    name: "code is spent before the tokens are stored",
    file: "lib/grants/authorization-code.ts",
    find: `  const [accessToken] = await allStored([
    issueAccessToken(ports, { request, authorization, decided }),
    refreshToken && ports.storage.refreshTokens.create(refreshToken.record, request.now),
  ]);
  checkAlive(ports, { request, decided });
  // of any number of simultaneous requests exactly one wins; the tokens that the others stored are given to nobody
  const outcome = await ports.storage.authorizationCodes.consume(code, request.now);
`,
    replace: `  checkAlive(ports, { request, decided });
  const outcome = await ports.storage.authorizationCodes.consume(code, request.now);
  const [accessToken] = await allStored([
    issueAccessToken(ports, { request, authorization, decided }),
    refreshToken && ports.storage.refreshTokens.create(refreshToken.record, request.now),
  ]);
`,
    tests: ["endpoints/token-storage-failures", "grants/authorization-code"],
  },
  {
    name: "loser of a race for a code revokes nothing",
    file: "lib/grants/authorization-code.ts",
    find: 'if (outcome !== "consumed") throw await refuseReplay(ports, { code, request });',
    replace: 'if (outcome !== "consumed") throw invalidGrant("the code was used");',
    tests: ["grants/authorization-code"],
  },
  {
    name: "outcome of spending a code is not looked at",
    file: "lib/grants/authorization-code.ts",
    find: 'if (outcome !== "consumed") throw await refuseReplay(ports, { code, request });',
    replace: "",
    tests: ["grants/authorization-code"],
  },
  {
    name: "scopes that were taken out of the subscription are issued for a code",
    file: "lib/grants/authorization-code.ts",
    find: "const scopes = stillRegistered(authorization.grantedScopes, request);",
    replace: "const scopes = authorization.grantedScopes;",
    tests: ["grants/authorization-code"],
  },
  {
    name: "code is read, and used up a moment later (memory)",
    file: "lib/storage/memory/memory-storage.ts",
    find: 'if (!code || code.consumed) return "not-consumed";',
    replace: 'if (!code || code.consumed) return "not-consumed";\n      await Promise.resolve();',
    tests: ["storage/contract"],
  },
  {
    name: "refresh token is read, and rotated a moment later (memory)",
    file: "lib/storage/memory/memory-storage.ts",
    find: 'if (token.used) return token.use ?? "not-rotated";',
    replace: 'if (token.used) return token.use ?? "not-rotated";\n      await Promise.resolve();',
    tests: ["storage/contract"],
  },
  {
    name: "refresh token of another client",
    file: "lib/protocol/authorization.ts",
    find: 'if (authorization.clientId !== client.clientId) return "the refresh token was issued to another client";',
    replace: "",
    tests: ["grants/refresh-token"],
  },
  {
    name: "refresh token counts in its last second",
    file: "lib/grants/refresh-token.ts",
    find: "token.expiresAt <= now)",
    replace: "token.expiresAt < now)",
    tests: ["grants/refresh-token"],
  },
  {
    name: "refresh may ask for every scope of the subscription",
    file: "lib/grants/refresh-token.ts",
    find: "!isSubset(named.requestedScopes, grantedScopes)",
    replace: "false",
    tests: ["grants/refresh-token"],
  },
  {
    name: "refresh issues scopes that were taken out of the subscription",
    file: "lib/grants/refresh-token.ts",
    find: "if (scope === undefined) return stillRegistered(grantedScopes, request);",
    replace: "if (scope === undefined) return grantedScopes;",
    tests: ["grants/refresh-token"],
  },
  {
    name: "replay of a refresh token revokes nothing",
    file: "lib/grants/refresh-token.ts",
    find: 'throw await revokeAfterReplay(ports, { replayed: "refresh_token", authorizationId, request });',
    replace: 'throw invalidGrant("the refresh token was used");',
    tests: ["grants/refresh-token"],
  },
  {
    name: "replay is reported and not revoked",
    file: "lib/grants/grant.ts",
    find: "await storage.authorizations.revoke(authorizationId, request.now);",
    replace: "",
    tests: ["grants/refresh-token"],
  },
  {
    name: "retry window never closes: operands the wrong way round",
    file: "lib/grants/refresh-token.ts",
    find: "now - usedAt <= refreshRetrySeconds",
    replace: "usedAt - now <= refreshRetrySeconds",
    tests: ["grants/refresh-retry"],
  },
  {
    name: "retry window ends a second early",
    file: "lib/grants/refresh-token.ts",
    find: "now - usedAt <= refreshRetrySeconds",
    replace: "now - usedAt < refreshRetrySeconds",
    tests: ["grants/refresh-retry"],
  },
  {
    name: "clock that is far back keeps the retry window open",
    file: "lib/grants/refresh-token.ts",
    find: " && usedAt <= now + clockDriftSeconds;",
    replace: ";",
    tests: ["grants/refresh-retry"],
  },
  {
    name: "retry although the successor was used",
    file: "lib/grants/refresh-token.ts",
    find: "if (record && !record.used)",
    replace: "if (record)",
    tests: ["grants/refresh-retry"],
  },
  {
    name: "salt of a successor is its time",
    file: "lib/tokens/refresh-successor.ts",
    find: "const salt = randomId();",
    replace: "const salt = String(usedAt);",
    tests: ["grants/refresh-retry-secrets"],
  },
  {
    name: "successor is derived again with the newest secret only",
    file: "lib/tokens/refresh-successor.ts",
    find: "const known = keys.find((one) => one.secretId === secretId);",
    replace: "const [known] = keys;",
    tests: ["grants/refresh-retry-secrets"],
  },
  {
    name: "refresh tokens outlive their authorization",
    file: "lib/tokens/issue-tokens.ts",
    find: "Math.min(now + refreshTokenIdleSeconds, refreshableUntil)",
    replace: "now + refreshTokenIdleSeconds",
    tests: ["grants/refresh-token"],
  },
  {
    name: "refresh token is rotated before the access token is stored",
    file: "lib/grants/refresh-token.ts",
    find: "const accessToken = await issueAccessToken(ports, { request, authorization, decided });\n  checkAlive(ports, { request, decided });\n  const refreshToken = next ? await rotate(ports, { presented, next }) : repeated;",
    replace:
      "const refreshToken = next ? await rotate(ports, { presented, next }) : repeated;\n  const accessToken = await issueAccessToken(ports, { request, authorization, decided });",
    tests: ["endpoints/token-storage-failures", "grants/refresh-token"],
  },
  {
    name: "authorization ends before the last access token",
    file: "lib/tokens/issue-code.ts",
    find: "expiresAt: lastIssue + accessTokenSeconds,",
    replace: "expiresAt: lastIssue,",
    tests: ["grants/refresh-token"],
  },
  {
    name: "host widens the scopes of a token",
    file: "lib/tokens/decide-token.ts",
    find: "if (!Array.isArray(scopes) || !isSubset(scopes, proposal.scopes))",
    replace: "if (!Array.isArray(scopes))",
    tests: ["grants/token-decision"],
  },
  {
    name: "host makes a token live longer than the API says",
    file: "lib/tokens/decide-token.ts",
    find: " && (value as number) <= most;",
    replace: ";",
    tests: ["grants/token-decision"],
  },
  {
    name: "no second look after tokens.decide",
    file: "lib/tokens/decide-token.ts",
    find: "if (answered !== returned) await checkNotEnded(ports, proposal);",
    replace: "",
    tests: ["grants/token-decision-withdrawal"],
  },
  {
    name: "host may set the claim client_id",
    file: "lib/protocol/host-claims.ts",
    find: "iat jti client_id scope",
    replace: "iat jti scope",
    tests: ["grants/token-decision", "grants/token-decision-careless"],
  },
  {
    name: "token without any scope where the subscription has lost them all",
    file: "lib/grants/grant.ts",
    find: "if (left.length > 0 || scopes.length === 0) return left;",
    replace: "return left;",
    tests: ["grants/refresh-token", "grants/authorization-code"],
  },
  {
    name: "code without a challenge of a client that is public by now",
    file: "lib/protocol/authorization.ts",
    find: `    if (!client.confidential)
      return "the client is public by now, and the authorization request had no code_challenge";
`,
    replace: "",
    tests: ["attacks/stolen-code", "protocol/tokens"],
  },
  {
    name: "refresh token for a client that may no longer refresh",
    file: "lib/grants/authorization-code.ts",
    find: "return mayRefresh ? newRefreshToken(",
    replace: "return mayRefresh || true ? newRefreshToken(",
    tests: ["attacks/stolen-code"],
  },
  {
    name: "expires_in counts from before tokens.decide",
    file: "lib/grants/token-answer.ts",
    find: "const passed = secondsSince(request, clock);",
    replace: "const passed = 0;",
    tests: ["grants/token-decision"],
  },
  {
    name: "code and refresh token are spent on a token that is dead already",
    file: "lib/grants/token-answer.ts",
    find: "if (secondsSince(request, clock) < decided.accessTokenSeconds) return;",
    replace: "return;",
    tests: ["grants/token-decision"],
  },
  {
    name: "code and refresh token are spent on a token that dies in this second",
    file: "lib/grants/token-answer.ts",
    find: "secondsSince(request, clock) < decided.accessTokenSeconds",
    replace: "secondsSince(request, clock) <= decided.accessTokenSeconds",
    tests: ["grants/token-decision"],
  },
  {
    name: "worthless code beside a refresh token keeps a document from being fetched",
    file: "lib/clients/presented-grant.ts",
    find: "return found.some(",
    replace: "return found.slice(0, 1).some(",
    tests: ["clients/presented-grant", "endpoints/fetched-client-keys"],
  },
  {
    name: "revocation looks by a clock that may be ahead",
    file: "lib/protocol/time.ts",
    find: "return now - clockDriftSeconds;",
    replace: "return now;",
    tests: ["attacks/clock-steps"],
  },
  {
    name: "revocation of an access token that only a clock that is ahead calls expired is left out",
    file: "lib/endpoints/revocation.ts",
    find: "if (expiresAt <= slowest) return;",
    replace: "if (expiresAt <= now) return;",
    tests: ["attacks/clock-steps"],
  },
  {
    name: "end of one authorization looks by a clock that may be ahead",
    file: "lib/end-user/ends.ts",
    find: "storage.authorizations.find(authorizationId, bySlowestClock(now))",
    replace: "storage.authorizations.find(authorizationId, now)",
    tests: ["attacks/clock-steps"],
  },
  {
    name: "end of everything of a person leaves what a clock that is ahead calls expired (memory)",
    file: "lib/storage/memory/memory-authorizations.ts",
    find: `revokeAll: async (selection) => {
      // what the caller's clock calls expired may still be used where a clock is behind
      const notRevoked = livingIn(selection, -Infinity);`,
    replace: `revokeAll: async (selection, now) => {
      const notRevoked = livingIn(selection, now);`,
    tests: ["attacks/clock-steps"],
  },
];

module.exports = { defects };
