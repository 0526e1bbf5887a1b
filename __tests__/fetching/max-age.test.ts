import { type Headers, readMaxAge } from "../../lib/fetching/read-document";

/** The seconds by these values of Cache-Control. */
function secondsBy(...values: readonly string[]): number | undefined {
  return readMaxAge({ "cache-control": values });
}

describe("the time for which an answer is fresh (RFC 9111 §5.2.2)", () => {
  it.each([
    ["max-age=60", 60],
    ["MAX-AGE=60", 60],
    ['max-age="60"', 60],
    ["max-age=0", 0],
    ["public, max-age=60, immutable", 60],
    ["no-store", 0],
    ["No-Cache", 0],
    ["no-store, max-age=60", 0],
  ])("is by Cache-Control: %s", (value, seconds) => expect(secondsBy(value)).toBe(seconds));

  it.each([
    "x-no-store",
    "no-store-x",
    "x-no-cache",
    "no-caches",
    "x-max-age=5",
    "max-age-x=5",
    "s-max-age=5",
  ])("is not said by a directive whose name only contains a known one: %s", (value) => {
    expect(secondsBy(value)).toBeUndefined();
    expect(secondsBy(value, "max-age=60")).toBe(60);
  });

  it.each(["max-age=1h", "max-age=x60", "max-age=6.0", "max-age=+60", "max-age=", 'max-age=""', "max-age"])(
    "is none if max-age is no number: %s",
    (value) => expect(secondsBy(value)).toBe(0),
  );

  it.each([
    [["max-age=60", "max-age=5"], 5],
    [["max-age=5", "max-age=60"], 5],
    [["public", "max-age=5"], 5],
    [["max-age", "60"], 0],
  ])("is the smallest of several headers, each by itself: %j", (values, seconds) =>
    expect(secondsBy(...values)).toBe(seconds),
  );

  it.each<[string, Headers]>([
    ["no headers", {}],
    ["no Cache-Control", { age: ["5"], expires: ["0"] }],
    ["an empty one", { "cache-control": [""] }],
    ["no value of it", { "cache-control": [] }],
  ])("is not said with %s", (_, headers) => expect(readMaxAge(headers)).toBeUndefined());
});

describe("the time that has passed (RFC 9111 §5.1)", () => {
  it.each([
    [["10"], 50],
    [["60"], 0],
    [["61"], 0],
    [["10", "20"], 50],
    [["10 s"], 60],
    [["s10"], 60],
    [["-10"], 60],
    [[""], 60],
    [[], 60],
    [undefined, 60],
  ])("with Age %j leaves %i of 60 seconds", (age, seconds) =>
    expect(readMaxAge({ "cache-control": ["max-age=60"], age })).toBe(seconds),
  );
});
