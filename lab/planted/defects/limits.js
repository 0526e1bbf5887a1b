// @ts-check
/** Defects in the host's limit on requests of clients, and in the limits of storage. */
"use strict";

const file = "lib/endpoints/rate-limit.ts";

/** @type {readonly import("../defects").Defect[]} */
const defects = [
  {
    name: "rate limit: a request that authentication does not read names a client",
    file,
    find: "if (malformed || parameters.unusable.size > 0) return undefined;",
    replace: "",
    tests: ["flows/rate-limit"],
  },
  {
    name: "rate limit: the claimed id may be any text",
    file,
    find: '"clientId" in presented && isClientId(presented.clientId)',
    replace: '"clientId" in presented',
    tests: ["flows/rate-limit", "attacks/guessers"],
  },
  {
    name: "answer that is none is the first that is known",
    file: "lib/host/ask.ts",
    find: "if (!ofKind)\n    throw invalidAnswer(",
    replace: "if (!ofKind) return { kind: kinds[0] };\n  if (!ofKind)\n    throw invalidAnswer(",
    tests: ["flows/rate-limit-failures", "host/ask"],
  },
  {
    name: "rate limit: a hook that fails allows",
    file,
    find: "return refuse(thrown);",
    replace: 'decision = { kind: "allowed" };',
    tests: ["flows/rate-limit-failures"],
  },
  {
    name: "rate limit: a misspelt callback counts as left out",
    file,
    find: 'if (typeof answered === "function") return decision;',
    replace: "return decision;",
    tests: ["flows/rate-limit-failures"],
  },
  {
    name: "rate limit: the client may come back at once",
    file,
    find: "retryAfterSeconds >= 1",
    replace: "retryAfterSeconds >= 0",
    tests: ["flows/rate-limit-failures"],
  },
  {
    name: "rate limit: nobody hears of a callback that fails",
    file,
    find: "Promise.resolve(decision.answered(outcome)).catch(report);",
    replace: "Promise.resolve(decision.answered(outcome)).catch(() => undefined);",
    tests: ["flows/rate-limit-failures"],
  },
  {
    name: "rate limit: an answer that came too late has no outcome",
    file,
    find: "tell(checkedDecision(late), { outcome, report })",
    replace: "late",
    tests: ["flows/rate-limit-failures"],
  },
  {
    name: "rate limit: a limited request gets 503",
    file,
    find: "status: 429 }",
    replace: "status: 503 }",
    tests: ["flows/rate-limit"],
  },
  {
    name: "rate limit: the outcome of a refusal does not say which",
    file,
    find: "...(oauthError && { oauthError }),",
    replace: "...(statusOf(response) >= 500 && oauthError && { oauthError }),",
    tests: ["flows/rate-limit", "attacks/guessers"],
  },
  {
    name: "rate limit: a misspelt hook counts as left out",
    file: "lib/options/check.ts",
    find: '"rateLimit",',
    replace: "",
    tests: ["options/check"],
  },
  {
    name: "rate limit: a preflight is answered before the host is asked",
    file: "lib/http/routes.ts",
    find: "if (!rateLimit) return (await answer()).response;",
    replace: "return (await answer()).response;",
    tests: ["flows/rate-limit"],
  },
  {
    name: "rate limit: the origin of a script is looked up before the host is asked",
    file: "lib/http/routes.ts",
    find: 'const form = await readForm(req);\n  if (form.kind !== "form") {',
    replace: 'const form = await readForm(req);\n  await lookUpOrigin?.();\n  if (form.kind !== "form") {',
    tests: ["flows/rate-limit"],
  },
  {
    name: "limit of authorizations: what is in use and what was never used are counted together",
    file: "lib/storage/ending-order.ts",
    find: "(lastUsedAt !== undefined) === isUsed",
    replace: "isUsed || lastUsedAt === -1",
    tests: ["attacks/one-client-floods", "adapters/memory-authorizations"],
  },
  {
    name: "limit of authorizations: of those never used, the newest goes",
    file: "lib/storage/ending-order.ts",
    find: "a.createdAt - b.createdAt ||",
    replace: "b.createdAt - a.createdAt ||",
    tests: ["adapters/memory-authorizations"],
  },
  {
    name: "limit of authorizations: of those in use, the oldest goes",
    file: "lib/storage/ending-order.ts",
    find: "(a.lastUsedAt ?? 0) - (b.lastUsedAt ?? 0) ||",
    replace: "",
    tests: ["adapters/memory-authorizations"],
  },
  {
    name: "limit of authorizations: SQLite counts both pools together",
    file: "lib/adapters/rows.ts",
    find: "PARTITION BY last_used_at > 0 ORDER BY",
    replace: "ORDER BY",
    tests: ["adapters/sqlite-contract"],
  },
  {
    name: "limit of consents in memory: they are nobody's",
    file: "lib/adapters/memory/storage.ts",
    find: ", ownerOf: personOf }",
    replace: " }",
    tests: ["adapters/memory-bounds"],
  },
  {
    name: "limit of end marks in memory: they are nobody's",
    file: "lib/adapters/memory/storage.ts",
    find: "expiringMap<EndMark>({ maxEntries, ownerOf: holderOf })",
    replace: "expiringMap<EndMark>({ maxEntries })",
    tests: ["adapters/memory-bounds"],
  },
  {
    name: "limit of end marks in memory: it also holds for the end of everything of a person",
    file: "lib/adapters/memory/storage.ts",
    find: "endsEverything(endMark) ? undefined : ownerOfMark(endMark)",
    replace: "ownerOfMark(endMark)",
    tests: ["adapters/memory-bounds"],
  },
  {
    name: "limit of end marks in memory: the second mark of a withdrawal is its own owner",
    file: "lib/protocol/end-mark.ts",
    find: 'return keyIn(ownerOfMark(first), first.mark, "ended");',
    replace: 'return keyOf(first.mark, first.mark, "ended");',
    tests: ["adapters/memory-bounds", "protocol/end-mark"],
  },
];

module.exports = { defects };
