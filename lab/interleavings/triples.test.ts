// Three operations on one family, in every order of their calls, and again with a fault now and then. With `AUTHMOUNT_LONG=1`, each fault
// at each call. RFC 9700 §4.14.2, 7009 §2.1.
import type { OperationName } from "./operations";
import { expectNothing, isLong, settingsOf, stopTimers } from "./search";

stopTimers();

const long: readonly (readonly OperationName[])[] = [
  ["approve in the other context", "withdraw the other context", "refresh"],
  ["refresh to fewer scopes", "refresh", "revoke the refresh token"],
  ["refresh to fewer scopes", "refresh to the host's no", "refresh"],
  ["take back a part", "withdraw", "approve silently"],
  ["take back a part", "approve fewer scopes", "refresh"],
];

/** With each fault at each call, it would have 2.7 million schedules. */
const longest: readonly OperationName[] = ["approve fewer scopes", "approve", "withdraw without a context"];

const triples: readonly (readonly OperationName[])[] = [
  ["refresh", "refresh", "revoke the subject"],
  ["redeem", "redeem", "withdraw"],
  ["refresh", "retry", "replay"],
  ["approve", "deny", "withdraw"],
  ["approve", "revoke the client", "redeem"],
  ["refresh", "client changed", "revoke the authorization of the tokens"],
  ["ask for the client itself", "revoke the client", "revoke the token of the client itself"],
  ["ask for the client itself", "revoke the subject", "delete the client"],
  ["approve the registered client", "deny the registered client", "visit the registered client silently"],
  ["approve the registered client", "register where there is no room", "registrations expire"],
  ["approve the registered client", "register where there is no room", "revoke the registered client"],
  ["refresh to the host's no", "refresh", "retry"],
  ["refresh to the host's no", "redeem", "revoke the authorization of the tokens"],
  ["prove by the assertion", "prove by the assertion", "introspect by the assertion"],
  ["approve the device", "deny the device", "poll"],
  ["approve the device", "poll", "revoke the subject"],
  ["poll for what is approved", "poll for what is approved", "withdraw"],
  // the short form has no time for these
  ...(isLong ? [...long, longest] : []),
];

describe("three operations on one family, in every order of their calls", () => {
  it.each(triples.map((names) => [names.join(" + "), names] as const))("%s", async (title, names) => {
    const plan = isLong && names !== longest ? "all" : "now and then";
    await expectNothing(settingsOf(names), { plan, title });
  });
});
