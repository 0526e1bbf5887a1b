import { type InTurn, takingTurns } from "../../lib/resource-server/in-turn";
import { everythingUnderWay } from "../fixture/latch";

afterEach(() => void jest.restoreAllMocks());

/** A timer that runs when the test says so. */
interface HeldTimer {
  readonly milliseconds: number | undefined;
  readonly run: () => void;
}

/** The timers that wait from now on. */
function heldTimers(): ReadonlySet<HeldTimer> {
  const held = new Set<HeldTimer>();
  const { clearTimeout: clearOwn } = globalThis;
  jest.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, milliseconds?: number) => {
    const timer: HeldTimer = { milliseconds, run };
    held.add(timer);
    return timer;
  }) as unknown as typeof setTimeout);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    if (!held.delete(timer as unknown as HeldTimer)) clearOwn(timer);
  });
  return held;
}

/** Calls that last until they are ended. */
function openCalls(inTurn: InTurn) {
  /** Ends the calls that run, in the order in which they began. */
  const ends: (() => void)[] = [];
  const call = (): Promise<void> => new Promise((end) => ends.push(end));
  return {
    running: () => ends.length,
    begin: (count: number): Promise<void>[] => Array.from({ length: count }, () => inTurn(call)),
    async endFirst(count: number): Promise<void> {
      for (const end of ends.splice(0, count)) end();
      await everythingUnderWay();
    },
    async endAll(): Promise<void> {
      while (ends.length > 0) await this.endFirst(ends.length);
    },
  };
}

/** What was thrown. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "nothing",
    (error: unknown) => error,
  );
}

describe("turns at an authorization server that hangs (RFC 7662 §4)", () => {
  it("a call waits for its turn for five seconds at most, and is not begun afterwards", async () => {
    const timers = heldTimers();
    const inTurn = takingTurns();
    const calls = openCalls(inTurn);
    const held = calls.begin(32);
    const begun = jest.fn(async () => "begun");
    const failure = failureOf(inTurn(begun));
    expect([...timers].map(({ milliseconds }) => milliseconds)).toEqual([5_000]);
    for (const { run } of timers) run();
    expect(await failure).toMatchObject({
      message: "introspection: no turn within five seconds",
      code: "AUTHMOUNT_LATE",
    });
    await calls.endAll();
    await Promise.all(held);
    expect(begun).not.toHaveBeenCalled();
    expect(await inTurn(begun)).toBe("begun");
  });

  it("1,000 calls may wait, and one more is refused at once", async () => {
    const inTurn = takingTurns();
    const calls = openCalls(inTurn);
    const accepted = calls.begin(1_032);
    const refused = jest.fn(async () => "begun");
    expect(await failureOf(inTurn(refused))).toMatchObject({
      message: "introspection: too many tokens are waiting to be introspected",
      code: "AUTHMOUNT_LATE",
    });
    await calls.endAll();
    await Promise.all(accepted);
    expect(refused).not.toHaveBeenCalled();
  });
});

describe("turns at an authorization server that answers", () => {
  it("calls begin in the order in which they came, and one that fails makes room", async () => {
    const timers = heldTimers();
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
    expect(timers.size).toBe(0);
  });

  it("no more than 32 calls run at once, also after places were handed on", async () => {
    const calls = openCalls(takingTurns());
    const first = calls.begin(100);
    expect(calls.running()).toBe(32);
    for (let ended = 0; ended < 40; ended += 1) await calls.endFirst(1);
    const second = calls.begin(100);
    expect(calls.running()).toBe(32);
    await calls.endAll();
    await Promise.all([...first, ...second]);
  });

  it("places that nobody waits for become free again, and no more than these", async () => {
    const calls = openCalls(takingTurns());
    const first = calls.begin(32);
    await calls.endAll();
    const second = calls.begin(40);
    expect(calls.running()).toBe(32);
    await calls.endAll();
    await Promise.all([...first, ...second]);
  });
});
