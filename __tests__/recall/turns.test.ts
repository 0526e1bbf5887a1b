import { derivationTurns } from "../../lib/clients/client-secret";
import type { InTurn } from "../../lib/recall/turns";
import { introspectionTurns } from "../../lib/resource-server/introspect";
import { refusalOf } from "../host/asked";
import { everythingUnderWay, type Latch, newLatch } from "../storage/latch";

interface Queue {
  /** Names in the order in which they were begun. */
  readonly begun: string[];
  /** Names in the order in which they were refused. */
  readonly refused: string[];
  /** Asks for a derivation of this client. */
  readonly ask: (clientId: string, name?: string) => Promise<unknown>;
  /** Lets one that runs end. */
  readonly endOne: () => Promise<void>;
  readonly endAll: () => Promise<void>;
}

/** Derivations that run until they are let go. */
function queue(inTurn: InTurn = derivationTurns()): Queue {
  const running: Latch[] = [];
  const begun: string[] = [];
  const refused: string[] = [];
  const endOne = async (): Promise<void> => {
    running.shift()?.open();
    await everythingUnderWay();
  };
  return {
    begun,
    refused,
    async ask(clientId, name = clientId) {
      try {
        return await inTurn(clientId, async () => {
          begun.push(name);
          const latch = newLatch();
          running.push(latch);
          await latch.opened;
          return name;
        });
      } catch (error) {
        refused.push(name);
        return error;
      }
    },
    endOne,
    async endAll() {
      while (running.length > 0) await endOne();
    },
  };
}

/** The derivations are asked for at once; in the end there is what came of each. */
function askMany({ ask }: Queue, { clientId, count }: { clientId: string; count: number }) {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(clientId, `${clientId}${index}`)));
}

describe("derivations that wait (RFC 6749 §2.3.1, §10.10)", () => {
  it("run two at a time, and each gives its own answer", async () => {
    const made = queue();
    const answers = askMany(made, { clientId: "a", count: 4 });
    await everythingUnderWay();
    expect(made.begun).toEqual(["a0", "a1"]);
    await made.endOne();
    expect(made.begun).toEqual(["a0", "a1", "a2"]);
    await made.endAll();
    expect(await answers).toEqual(["a0", "a1", "a2", "a3"]);
  });

  it("take turns, one client after the other", async () => {
    const made = queue();
    void askMany(made, { clientId: "a", count: 5 });
    void askMany(made, { clientId: "b", count: 2 });
    void made.ask("c");
    await everythingUnderWay();
    await made.endAll();
    expect(made.begun).toEqual(["a0", "a1", "a2", "b0", "c", "a3", "b1", "a4"]);
  });

  it("leave their place to the next when they fail", async () => {
    const inTurn = derivationTurns();
    const failure = new Error("no memory");
    await Promise.allSettled([1, 2, 3].map(() => inTurn("a", () => Promise.reject(failure))));
    expect(await inTurn("a", async () => "done")).toBe("done");
  });

  it("leave two places free when nobody waits any more", async () => {
    const made = queue();
    void askMany(made, { clientId: "a", count: 3 });
    await everythingUnderWay();
    await made.endAll();
    void askMany(made, { clientId: "b", count: 3 });
    await everythingUnderWay();
    expect(made.begun.slice(3)).toEqual(["b0", "b1"]);
    await made.endAll();
  });
});

describe("more derivations than may wait (RFC 6749 §2.3.1, §10.10)", () => {
  it("are a hundred, however many have waited before", async () => {
    const made = queue();
    for (const clientId of ["a", "b"]) {
      const all = askMany(made, { clientId, count: 102 });
      await everythingUnderWay();
      await made.endAll();
      await all;
    }
    expect(made.refused).toEqual([]);
    expect(made.begun).toHaveLength(204);
  });

  it("cost the client with the most of them its oldest one", async () => {
    const made = queue();
    void askMany(made, { clientId: "running", count: 2 });
    void made.ask("first");
    const flood = askMany(made, { clientId: "flood", count: 98 });
    void made.ask("second");
    await everythingUnderWay();
    expect(made.refused).toEqual([]);
    void made.ask("third");
    await everythingUnderWay();
    expect(made.refused).toEqual(["flood0"]);
    void made.ask("fourth");
    await everythingUnderWay();
    expect(made.refused).toEqual(["flood0", "flood1"]);
    await made.endAll();
    const [refusal] = await flood;
    expect(await refusalOf(Promise.reject(refusal as Error))).toEqual({
      error: "temporarily_unavailable",
      description: "Too many client authentications at once.",
      code: "too-many-secret-checks",
    });
    expect(made.begun.slice(2, 7)).toEqual(["first", "flood2", "second", "third", "fourth"]);
  });

  it("cost a client its only one when each client has one", async () => {
    const made = queue();
    void askMany(made, { clientId: "running", count: 2 });
    for (let index = 0; index < 101; index += 1) void made.ask(`c${index}`);
    await everythingUnderWay();
    expect(made.refused).toEqual(["c0"]);
    await made.endAll();
    expect(made.begun.slice(2, 4)).toEqual(["c1", "c2"]);
    expect(made.begun).toHaveLength(102);
  });
});

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
    begin: (count: number): Promise<void>[] => Array.from({ length: count }, () => inTurn("", call)),
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
    const inTurn = introspectionTurns();
    const calls = openCalls(inTurn);
    const held = calls.begin(32);
    const begun = jest.fn(async () => "begun");
    const failure = failureOf(inTurn("", begun));
    expect([...timers].map(({ milliseconds }) => milliseconds)).toEqual([5_000]);
    for (const { run } of timers) run();
    expect(await failure).toMatchObject({
      code: "introspection-queue-late",
    });
    await calls.endAll();
    await Promise.all(held);
    expect(begun).not.toHaveBeenCalled();
    expect(await inTurn("", begun)).toBe("begun");
  });

  it("1,000 calls may wait, and one more costs the oldest of them its place", async () => {
    const inTurn = introspectionTurns();
    const calls = openCalls(inTurn);
    const running = calls.begin(32);
    const oldest = jest.fn(async () => "begun");
    const failure = failureOf(inTurn("", oldest));
    const accepted = calls.begin(1_000);
    expect(await failure).toMatchObject({
      code: "introspection-queue-full",
    });
    await calls.endAll();
    await Promise.all([...running, ...accepted]);
    expect(oldest).not.toHaveBeenCalled();
  });
});

describe("turns at an authorization server that answers", () => {
  it("calls begin in the order in which they came, and one that fails makes room", async () => {
    const timers = heldTimers();
    const inTurn = introspectionTurns();
    const order: number[] = [];
    const calls = Array.from({ length: 100 }, (_, index) =>
      inTurn("", async () => {
        order.push(index);
        throw new Error("refused");
      }).catch(() => undefined),
    );
    await Promise.all(calls);
    expect(order).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(timers.size).toBe(0);
  });

  it("no more than 32 calls run at once, also after places were handed on", async () => {
    const calls = openCalls(introspectionTurns());
    const first = calls.begin(100);
    expect(calls.running()).toBe(32);
    for (let ended = 0; ended < 40; ended += 1) await calls.endFirst(1);
    const second = calls.begin(100);
    expect(calls.running()).toBe(32);
    await calls.endAll();
    await Promise.all([...first, ...second]);
  });

  it("places that nobody waits for become free again, and no more than these", async () => {
    const calls = openCalls(introspectionTurns());
    const first = calls.begin(32);
    await calls.endAll();
    const second = calls.begin(40);
    expect(calls.running()).toBe(32);
    await calls.endAll();
    await Promise.all([...first, ...second]);
  });
});
