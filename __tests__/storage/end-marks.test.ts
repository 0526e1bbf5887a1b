import { memoryStorage } from "../../lib";
import { clientEndKey, longestPossibleLifeSeconds } from "../../lib/protocol/end-mark";
import type { EndMarkStore } from "../../lib/storage/port";
import { findMarks, newClientEnd } from "../../lib/storage/end-marks";

const now = 1_000;

/** A store that gives this answer, whatever it is asked. */
function answering(answer: unknown): Pick<EndMarkStore, "find"> {
  return { find: async () => answer as never };
}

describe("the mark that ends a client (RFC 7009 §2.1)", () => {
  it("outlives everything that was issued to the client", () => {
    const { key, expiresAt } = newClientEnd("web", now);
    expect({ key, expiresAt }).toEqual({
      key: clientEndKey("web"),
      expiresAt: now + longestPossibleLifeSeconds,
    });
  });

  it("has 128 random bits as base64url, new ones each time", () => {
    const marks = Array.from({ length: 20 }, () => newClientEnd("web", now).mark);
    for (const mark of marks) expect(mark).toMatch(/^[\w-]{22}$/);
    expect(new Set(marks).size).toBe(20);
  });
});

describe("marks as the server reads them (RFC 7009 §2.1)", () => {
  it("have the names of their keys", async () => {
    const { endMarks } = memoryStorage({ clients: [] });
    for (const key of ["a", "b"]) await endMarks.save({ key, mark: `mark of ${key}`, expiresAt: 2_000 }, now);
    const keys = { second: "b", neither: "none", first: "a" };
    expect(await findMarks(endMarks, { keys, now })).toStrictEqual({
      second: "mark of b",
      neither: undefined,
      first: "mark of a",
    });
  });

  it("are undefined where a database says null", async () => {
    const keys = { one: "a", other: "b" };
    expect(await findMarks(answering([null, "a mark"]), { keys, now })).toStrictEqual({
      one: undefined,
      other: "a mark",
    });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a single mark", "a mark"],
    ["text of as many characters as there are keys", "ab"],
    ["an empty list", []],
    ["a list that is too short", ["a mark"]],
    ["a list that is too long", ["a mark", undefined, undefined]],
  ])(
    "are refused when the adapter answers with %s: that must not mean that nothing has ended",
    async (_, answer) => {
      await expect(
        findMarks(answering(answer), { keys: { one: "a", other: "b" }, now }),
      ).rejects.toMatchObject({ code: "incomplete-end-marks" });
    },
  );
});
