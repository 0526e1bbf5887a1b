// Three operations on one family, in every order of their calls, and again with a fault now and then. With `AUTHMOUNT_LONG=1`, each fault
// at each call. RFC 9700 §4.14.2, 7009 §2.1.
import type { OperationName } from "./operations";
import { expectNothing, isLong, settingsOf, stopTimers } from "./search";

stopTimers();

const triples: readonly (readonly OperationName[])[] = [
  ["refresh", "refresh", "revoke the subject"],
  ["redeem", "redeem", "withdraw"],
  ["refresh", "retry", "replay"],
  ["approve", "deny", "withdraw"],
  ["approve", "revoke the client", "redeem"],
  ["refresh", "client changed", "revoke the authorization of the tokens"],
];

describe("three operations on one family, in every order of their calls", () => {
  it.each(triples.map((names) => [names.join(" + "), names] as const))("%s", async (title, names) => {
    await expectNothing(settingsOf(names), { plan: isLong ? "all" : "now and then", title });
  });
});
