/** What a clock does to the global `Date`, without a server. */
import { testClock } from "../../lib/testing/test-clock";
import { expectOwnDate, stopClock } from "../hosts/clock";

const RealDate = Date;
expectOwnDate();

describe("Date under a moved clock", () => {
  it("is a Date in every way", () => {
    const before = new Date();
    const clock = testClock();
    clock.advance(86_400);
    const after = new Date();
    expect(after.getTime() - before.getTime()).toBeGreaterThanOrEqual(86_400_000);
    expect(Date.parse(Date()) - before.getTime()).toBeGreaterThan(86_390_000);
    expect(before).toBeInstanceOf(Date);
    expect(after).toBeInstanceOf(Date);
    expect(after).toBeInstanceOf(RealDate);
    expect(new Date(0).toISOString()).toBe("1970-01-01T00:00:00.000Z");
    expect(new Date(2026, 0, 2).getFullYear()).toBe(2026);
    expect(new Date("2026-01-02T00:00:00Z").getTime()).toBe(Date.UTC(2026, 0, 2));
    expect(structuredClone(after)).toEqual(after);
    expect([Date.name, Date.length]).toEqual(["Date", 7]);
    class HostDate extends Date {
      day(): number {
        return Math.floor(this.getTime() / 86_400_000);
      }
    }
    expect(new HostDate(86_400_000).day()).toBe(1);
    expect(new HostDate().getTime()).toBeGreaterThanOrEqual(after.getTime());
    clock.restore();
    expect(Date.now() - before.getTime()).toBeLessThan(86_400_000);
  });
});

describe("clocks", () => {
  it("add up, and give back their own, in any order", () => {
    const start = Date.now();
    const [first, second, third] = [testClock(), testClock(), testClock()];
    const passed = (): number => Math.floor((Date.now() - start) / 1_000_000);
    first.advance(1_000_000);
    second.advance(2_000_000);
    third.advance(4_000_000);
    expect(passed()).toBe(7_000);
    second.restore();
    expect(passed()).toBe(5_000);
    second.restore();
    first.restore();
    expect(passed()).toBe(4_000);
    const [before, now, after] = [Date.now(), third.now(), Date.now()];
    expect(now).toBeGreaterThanOrEqual(Math.floor(before / 1000));
    expect(now).toBeLessThanOrEqual(Math.floor(after / 1000));
    third.restore();
    third.restore();
    expect(passed()).toBe(0);
  });

  it("refuse to move once they are restored: nothing would move", () => {
    const clock = testClock();
    clock.restore();
    expect(() => clock.advance(1)).toThrow(expect.objectContaining({ code: "restored-clock" }));
  });

  it.each([0, -1, 1.5, NaN, Infinity, 1e12, "60", undefined])("refuse to move by %p", (seconds) => {
    const clock = testClock();
    expect(() => clock.advance(seconds as number)).toThrow(
      expect.objectContaining({ code: "wrong-seconds" }),
    );
    clock.restore();
  });

  it("say so when somebody else has stopped the time: it would not move", () => {
    const clock = testClock();
    stopClock();
    expect(() => clock.advance(60)).toThrow(expect.objectContaining({ code: "clock-replaced" }));
    jest.restoreAllMocks();
    clock.advance(60);
    clock.restore();
  });

  it("have not moved then", () => {
    stopClock(1_000);
    const clock = testClock();
    const { now } = Date;
    Date.now = () => 5;
    expect(() => clock.advance(60)).toThrow(expect.objectContaining({ code: "clock-replaced" }));
    Date.now = now;
    expect(clock.now()).toBe(1_000);
    clock.restore();
  });

  it("move a time that was stopped before", () => {
    const stopped = stopClock(1_000);
    const clock = testClock();
    clock.advance(60);
    expect(clock.now()).toBe(1_060);
    stopped.advance(1);
    expect([clock.now(), new Date().getTime()]).toEqual([1_061, 1_061_000]);
    clock.restore();
    expect(Date.now()).toBe(1_000_000 + 1_000);
  });
});
