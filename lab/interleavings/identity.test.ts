// What gives ID tokens, with each end, in every order of their calls, where `openid.claims` answers later. `faults` has userinfo with every
// other operation. OpenID Connect Core §3.1.3.3, §12.2; RFC 7009 §2.1, 9700 §4.14.2.
import type { OperationName } from "./operations";
import { expectNothing, memories, stopTimers } from "./search";

stopTimers();

const ends: readonly OperationName[] = [
  "revoke the refresh token",
  "revoke the access token",
  "revoke the authorization of the tokens",
  "revoke the authorization of the code",
  "revoke the client",
  "withdraw",
  "revoke the subject and consents",
  "erase the subject",
  "disable the client",
  "delete the client",
  "client changed",
  "end the API",
  "take back a part",
  "refresh to the host's no",
  "refresh to fewer scopes",
  "replay",
];

/** They touch it only where they take back all. */
const ofTokens = /refresh token|access token|of the tokens|refresh to|replay/;

const pairs: readonly (readonly OperationName[])[] = [
  ...[...ends, "redeem" as const].filter((end) => !ofTokens.test(end)).map((end) => ["redeem", end] as const),
  ...[...ends, "refresh" as const, "retry" as const]
    .filter((end) => !end.endsWith("of the code"))
    .map((end) => ["refresh", end] as const),
  ["retry", "withdraw"],
  ["retry", "disable the client"],
];

describe("what gives ID tokens, and what ends them, in every order of their calls", () => {
  it.each(pairs.map((names) => [names.join(" + "), names] as const))("%s", async (title, names) => {
    const settings = memories.map((memory) => ({ names, memory, format: "openid" }) as const);
    expect(await expectNothing(settings, { plan: "none", title })).toBeGreaterThanOrEqual(settings.length);
  });
});
