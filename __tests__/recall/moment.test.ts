import { deadlineIn, momentsOf, mostSecondsBetween, secondsBetween } from "../../lib/recall/moment";

let ran = 50_000;
beforeEach(() => {
  jest.spyOn(performance, "now").mockImplementation(() => ran);
});
afterEach(() => jest.restoreAllMocks());

describe("the time between two moments (RFC 9111 §4.2.3)", () => {
  it.each([
    ["the clock", { byClock: 7, byProcess: 1_000 }, [7, 7]],
    ["the process, if the clock says less", { byClock: 0, byProcess: 2_500 }, [2.5, 2.5]],
    [
      "the process, and may be any, if the clock was set back",
      { byClock: -500, byProcess: 0 },
      [0, Infinity],
    ],
  ])("is that of %s", (_, { byClock, byProcess }, expected) => {
    const clock = { now: 1_000 };
    const moment = momentsOf(() => clock.now);
    const earlier = moment();
    clock.now += byClock;
    ran += byProcess;
    const later = moment();
    expect([secondsBetween(earlier, later), mostSecondsBetween(earlier, later)]).toEqual(expected);
  });

  it("goes on by a clock that was set back", () => {
    const clock = { now: 1_000 };
    const moment = momentsOf(() => clock.now);
    const first = moment();
    clock.now = 500;
    const second = moment();
    clock.now = 510;
    expect(secondsBetween(first, moment())).toBe(10);
    expect(mostSecondsBetween(second, moment())).toBe(10);
  });
});

describe("a deadline", () => {
  it("has come once its seconds have passed", () => {
    const isOver = deadlineIn(2);
    ran += 1_999;
    expect(isOver()).toBe(false);
    ran += 1;
    expect(isOver()).toBe(true);
  });
});
