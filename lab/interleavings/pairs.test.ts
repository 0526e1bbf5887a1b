// Every pair of operations on one family, in every order of their calls: of storage, of the host's callbacks, and of the clock. RFC 9700
// §4.14.2, 7009 §2.1. Without `AUTHMOUNT_LONG=1`, pairs with an operation beside the family run in `faults` only, which also runs each
// schedule without a fault.
import { replay } from "./explore";
import { type OperationName, operationNames, operationOf } from "./operations";
import { expectNothing, isBeside, isLong, memories, pairsWith, settingsOf, stopTimers } from "./search";
import { newWorld } from "./worlds";

stopTimers();

/** The operations that are refused even when nothing else happens. */
const refused: readonly OperationName[] = [
  "replay",
  "deny",
  "deny on a page of the host",
  "refresh to the host's no",
  "deny the registered client",
  "visit the registered client silently",
  "refresh without the key",
  "replay without the key",
  "poll",
  "deny the device",
];

describe("an operation alone", () => {
  it.each(operationNames)("%s: it does what it is for, and every rule holds", async (name) => {
    for (const memory of memories) {
      const { only: format = "jwt" } = operationOf(name);
      const world = await newWorld({ names: [name], memory, format });
      const { problems } = await replay(world, []);
      expect(problems).toEqual([]);
      expect(world.summary()).toMatch(refused.includes(name) ? /^refused/ : /^done/);
    }
  });
});

describe("two operations on one family, in every order of their calls", () => {
  const names = operationNames.filter((name) => isLong || !isBeside(name));
  it.each(names)("%s and any other: every rule holds", async (name: OperationName) => {
    const pairs = pairsWith(name).filter((pair) => pair.every((one) => names.includes(one)));
    const settings = pairs.flatMap(settingsOf);
    const schedules = await expectNothing(settings, { plan: "none", title: name });
    expect(schedules).toBeGreaterThanOrEqual(settings.length);
  });
});
