// Every pair of operations on one family, in every order of their calls: of storage, of the host's callbacks, and of the clock. RFC 9700
// §4.14.2, 7009 §2.1.
import { type OperationName, operationNames } from "./operations";
import { expectNothing, pairsWith, settingsOf, stopTimers } from "./search";

stopTimers();

describe("two operations on one family, in every order of their calls", () => {
  it.each(operationNames)("%s and any other: every rule holds", async (name: OperationName) => {
    const settings = pairsWith(name).flatMap(settingsOf);
    const schedules = await expectNothing(settings, { plan: "none", title: name });
    expect(schedules).toBeGreaterThanOrEqual(settings.length);
  });
});
