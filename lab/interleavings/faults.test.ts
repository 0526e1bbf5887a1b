// Every pair of operations again, where one call fails: the process stops, or the answer is late or lost. With `AUTHMOUNT_LONG=1`, each
// fault at each call of each schedule; otherwise one fault at one call in three (at fewer where a pair has many schedules), and pairs with an
// operation beside the family only where the two touch something in common. RFC 9700 §4.14.2, 7009 §2.1.
import { type OperationName, operationNames } from "./operations";
import { expectNothing, isLong, pairsWith, settingsOf, stopTimers } from "./search";

stopTimers();

describe("two operations on one family while one call fails", () => {
  it.each(operationNames)("%s and any other: every rule holds", async (name: OperationName) => {
    const settings = pairsWith(name).flatMap(settingsOf);
    const schedules = await expectNothing(settings, { plan: isLong ? "all" : "now and then", title: name });
    expect(schedules).toBeGreaterThanOrEqual(settings.length);
  });
});
