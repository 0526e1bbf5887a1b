import { lagMemory } from "../../lib/recall/lag-memory";

type Answer = "yes" | "no";

/** A memory whose look-ups wait to be answered, one by one; only "yes" is worth remembering. */
function watchedMemory(lagSeconds: number, asOf?: number) {
  const clock = { now: 1_000 };
  const asked: { answer: (answer: Answer) => void; fail: (error: Error) => void }[] = [];
  const facts = {
    placesOf: (answer: Answer) => (answer === "yes" ? 1 : 0),
    ...(asOf !== undefined && { asOf: () => asOf }),
  };
  const recall = lagMemory<Answer>({ lagSeconds, clock: () => clock.now }, facts);
  const ask = (): Promise<Answer> =>
    new Promise((answer, fail) => {
      asked.push({ answer, fail });
    });
  return { clock, asked, recall: (key = "a key") => recall(key, ask) };
}

describe("answers that rely on something remembered (RFC 7662 §4)", () => {
  it("are as old as that: together the two are never older than the lag", async () => {
    const { asked, clock, recall } = watchedMemory(5, 997);
    const first = recall();
    asked[0]?.answer("yes");
    await first;
    clock.now = 1_001;
    expect(await recall()).toBe("yes");
    clock.now = 1_002;
    void recall();
    expect(asked).toHaveLength(2);
  });

  it("are not shared when they are too old by then", async () => {
    const { asked, recall } = watchedMemory(5, 995);
    const [first, second] = [recall(), recall()];
    asked[0]?.answer("yes");
    await first;
    await new Promise(setImmediate);
    expect(asked).toHaveLength(2);
    asked[1]?.answer("yes");
    expect(await second).toBe("yes");
  });
});

describe("a look-up that is as old as the lag (RFC 7662 §4)", () => {
  it("is not waited for, as with a lag of 0 seconds", () => {
    const { asked, recall } = watchedMemory(0);
    jest.spyOn(performance, "now").mockReturnValue(50_000);
    void recall();
    void recall();
    expect(asked).toHaveLength(2);
    jest.restoreAllMocks();
  });
});

describe("a clock that is set back while nobody asks (RFC 7662 §4)", () => {
  let ran = 50_000;
  beforeEach(() => {
    jest.spyOn(performance, "now").mockImplementation(() => ran);
  });
  afterEach(() => jest.restoreAllMocks());

  it.each([
    [4.9, 1],
    [5, 2],
  ])("makes no answer last longer than the lag: %d seconds later it was asked %i times", async (...given) => {
    const [seconds, times] = given;
    const { asked, recall } = watchedMemory(5);
    const first = recall();
    asked[0]?.answer("yes");
    await first;
    // by the clock no time has passed
    ran += seconds * 1000;
    void recall();
    expect(asked).toHaveLength(times);
  });

  it("nor an answer that relies on something remembered", async () => {
    const { asked, recall } = watchedMemory(5, 997);
    const first = recall();
    asked[0]?.answer("yes");
    await first;
    ran += 2_000;
    void recall();
    expect(asked).toHaveLength(2);
  });

  it("nor a look-up be shared that began more than a second ago", () => {
    const { asked, recall } = watchedMemory(5);
    void recall();
    ran += 1_001;
    void recall();
    expect(asked).toHaveLength(2);
  });
});

describe("look-ups of one key at one time (RFC 7662 §4)", () => {
  it("are one, and all who wait get its answer", async () => {
    const { asked, recall } = watchedMemory(5);
    const waiting = [recall(), recall(), recall()];
    expect(asked).toHaveLength(1);
    asked[0]?.answer("yes");
    expect(await Promise.all(waiting)).toEqual(["yes", "yes", "yes"]);
    expect(await recall()).toBe("yes");
    expect(asked).toHaveLength(1);
  });

  it("are not shared between keys", () => {
    const { asked, recall } = watchedMemory(5);
    void recall("a");
    void recall("b");
    expect(asked).toHaveLength(2);
  });

  it("are never shared with a lag of 0: each may have come after a revocation", () => {
    const { asked, recall } = watchedMemory(0);
    void recall();
    void recall();
    expect(asked).toHaveLength(2);
  });

  it("are not shared when the first began more than a second ago: it may hang", async () => {
    const { clock, asked, recall } = watchedMemory(5);
    const early = recall();
    clock.now += 1;
    void recall();
    expect(asked).toHaveLength(1);
    clock.now += 1;
    const late = recall();
    expect(asked).toHaveLength(2);
    asked[1]?.answer("no");
    expect(await late).toBe("no");
    // the first one began before, so what it says is not remembered
    asked[0]?.answer("yes");
    expect(await early).toBe("yes");
    void recall();
    expect(asked).toHaveLength(3);
  });

  it("are shared with a newer one, also after an older one has ended", async () => {
    const { clock, asked, recall } = watchedMemory(5);
    const oldest = recall();
    clock.now += 2;
    const newer = recall();
    asked[0]?.answer("yes");
    expect(await oldest).toBe("yes");
    const newest = recall();
    expect(asked).toHaveLength(2);
    asked[1]?.answer("yes");
    expect(await Promise.all([newer, newest])).toEqual(["yes", "yes"]);
  });

  it("share a failure, and the next one asks again", async () => {
    const { asked, recall } = watchedMemory(5);
    const waiting = [recall(), recall()];
    asked[0]?.fail(new Error("the database is away"));
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const next = recall();
    expect(asked).toHaveLength(2);
    asked[1]?.answer("yes");
    expect(await next).toBe("yes");
  });

  it("share no answer that is not worth remembering: each asks for itself then", async () => {
    const { asked, recall } = watchedMemory(5);
    const waiting = [recall(), recall()];
    asked[0]?.answer("no");
    expect(await waiting[0]).toBe("no");
    await new Promise(setImmediate);
    expect(asked).toHaveLength(2);
    asked[1]?.answer("yes");
    expect(await waiting[1]).toBe("yes");
  });

  it("keep nothing of what has ended", async () => {
    const { clock, asked, recall } = watchedMemory(5);
    const first = recall();
    asked[0]?.answer("yes");
    await first;
    clock.now += 5;
    const second = recall();
    expect(asked).toHaveLength(2);
    asked[1]?.answer("no");
    expect(await second).toBe("no");
  });
});

describe("a clock that is set (RFC 7662 §4)", () => {
  it.each([1, 4, 299, 1_000, 100_000])("back by %i seconds ends what is remembered", async (step) => {
    const { clock, asked, recall } = watchedMemory(300);
    const first = recall();
    asked[0]?.answer("yes");
    await first;
    clock.now += 299;
    expect(await recall()).toBe("yes");
    clock.now -= step;
    void recall();
    expect(asked).toHaveLength(2);
  });

  it("ahead and back brings nothing back", async () => {
    const { clock, asked, recall } = watchedMemory(5);
    const answerNext = async (answer: Answer): Promise<void> => {
      const look = recall();
      asked.at(-1)?.answer(answer);
      await look;
    };
    await answerNext("yes");
    clock.now += 100_000;
    await answerNext("yes");
    expect(asked).toHaveLength(2);
    clock.now -= 99_999;
    await answerNext("yes");
    expect(asked).toHaveLength(3);
    clock.now += 99_999;
    void recall();
    expect(asked).toHaveLength(4);
  });

  it("back while a look-up runs keeps its answer from being remembered, and from being shared", async () => {
    const { clock, asked, recall } = watchedMemory(5);
    const first = recall();
    clock.now -= 3;
    void recall();
    expect(asked).toHaveLength(2);
    asked[0]?.answer("yes");
    await first;
    clock.now += 1;
    void recall();
    expect(asked).toHaveLength(2);
    clock.now += 1;
    void recall();
    expect(asked).toHaveLength(3);
  });
});
