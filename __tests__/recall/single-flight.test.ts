import { type Flight, flights, onceDone } from "../../lib/recall/single-flight";

describe("work that is under way (RFC 6749 §10.10)", () => {
  it.each([
    ["succeeds", () => Promise.resolve("done")],
    ["fails", () => Promise.reject(new Error("away"))],
  ])("is seen until it has ended: if it %s", async (_, work) => {
    const underWay = flights<Flight<string>>();
    const { answer } = underWay.show("a", { answer: work() });
    expect([underWay.get("a")?.answer, underWay.get("b")]).toEqual([answer, undefined]);
    expect(underWay.keys()).toEqual(["a"]);
    await Promise.allSettled([answer]);
    expect([underWay.get("a"), underWay.keys()]).toEqual([undefined, []]);
  });

  it("stays in the place that it has taken from older work", async () => {
    const underWay = flights<Flight<string>>();
    const older = underWay.show("a", { answer: Promise.resolve("older") });
    const newer = underWay.show("a", { answer: new Promise(() => undefined) });
    await older.answer;
    expect(underWay.get("a")).toBe(newer);
  });
});

describe("work that is done once (RFC 6749 §10.10)", () => {
  it("is shared by all who ask, and its answer is kept", async () => {
    const work = jest.fn(async () => ({}));
    const once = onceDone(work);
    const [first, second] = await Promise.all([once(), once()]);
    expect([second, await once()]).toEqual([first, first]);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it("begins anew after a failure, which all who waited got", async () => {
    const work = jest.fn(async () => "done").mockRejectedValueOnce(new Error("away"));
    const once = onceDone(work);
    const outcomes = await Promise.allSettled([once(), once()]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await once()).toBe("done");
    expect(work).toHaveBeenCalledTimes(2);
  });
});
