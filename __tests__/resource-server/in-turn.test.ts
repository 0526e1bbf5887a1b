import { takingTurns } from "../../lib/resource-server/in-turn";

describe("turns at an authorization server that hangs", () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it("a call waits for its turn for five seconds at most, and is not begun afterwards", async () => {
    const inTurn = takingTurns();
    const begun = jest.fn(async () => "begun");
    const ends: (() => void)[] = [];
    const held = Array.from({ length: 32 }, () => inTurn(() => new Promise<void>((end) => ends.push(end))));
    const failures: unknown[] = [];
    const late = inTurn(begun).catch((error: unknown) => failures.push(error));
    await jest.advanceTimersByTimeAsync(5_000);
    expect(failures).toMatchObject([
      { message: "introspection: no turn within five seconds", code: "AUTHMOUNT_LATE" },
    ]);
    for (const end of ends) end();
    await Promise.all([...held, late]);
    expect(begun).not.toHaveBeenCalled();
    expect(await inTurn(begun)).toBe("begun");
  });

  it("calls begin in the order in which they came, and one that fails makes room", async () => {
    const inTurn = takingTurns();
    const order: number[] = [];
    const calls = Array.from({ length: 100 }, (_, index) =>
      inTurn(async () => {
        order.push(index);
        throw new Error("refused");
      }).catch(() => undefined),
    );
    await Promise.all(calls);
    expect(order).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(jest.getTimerCount()).toBe(0);
  });

  it("no more than 32 calls run at once, also after places were handed on", async () => {
    const inTurn = takingTurns();
    const ends: (() => void)[] = [];
    const calls = Array.from({ length: 100 }, () => inTurn(() => new Promise<void>((end) => ends.push(end))));
    for (let ended = 0; ended < 40; ended += 1) {
      ends[ended]?.();
      await jest.advanceTimersByTimeAsync(0);
    }
    calls.push(
      ...Array.from({ length: 100 }, () => inTurn(() => new Promise<void>((end) => ends.push(end)))),
    );
    await jest.advanceTimersByTimeAsync(0);
    expect(ends).toHaveLength(72);
    for (let ended = 40; ended < 200; ended += 1) {
      ends[ended]?.();
      await jest.advanceTimersByTimeAsync(0);
    }
    await Promise.all(calls);
  });
});
