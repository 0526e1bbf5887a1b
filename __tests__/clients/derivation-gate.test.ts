import { type DerivationGate, derivationGate } from "../../lib/clients/derivation-gate";
import { refusalOf } from "../fixture/asked";
import { everythingUnderWay, type Latch, newLatch } from "../fixture/latch";

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

/** A gate, and derivations that run until they are let go. */
function queue(gate: DerivationGate = derivationGate()): Queue {
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
        return await gate(clientId, async () => {
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
    const gate = derivationGate();
    const failure = new Error("no memory");
    await Promise.allSettled([1, 2, 3].map(() => gate("a", () => Promise.reject(failure))));
    expect(await gate("a", async () => "done")).toBe("done");
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
      code: "temporarily_unavailable",
      description: "Too many client authentications at once.",
      reason:
        "more than a hundred scrypt checks of client secrets are waiting (RFC 6749 §2.3.1): use generateClientSecret(), whose secrets are cheap to check",
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
