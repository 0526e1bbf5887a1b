import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { NewEvent } from "../../lib/events/port";
import { useNotes } from "../../lib/bearer/note-use";
import { everythingUnderWay } from "../storage/latch";

const idOf = (number: number): string => String(number).padStart(22, "0");

/** A storage that keeps what it was told, and a clock. */
function bed(noteUse: () => Promise<void> = async () => undefined) {
  const [noted, events]: [(readonly [string, number])[], NewEvent[]] = [[], []];
  let now = 1_000_000;
  const authorizations = {
    noteUse(...told: [string, number]) {
      noted.push(told);
      return noteUse();
    },
  };
  const note = useNotes({
    storage: { authorizations },
    emit: (event) => void events.push(event),
    clock: () => now,
  });
  const advance = (seconds: number): void => void (now += seconds);
  return { note, noted, events, advance, now: () => now };
}

describe("a use of an authorization (RFC 6749 §1.3)", () => {
  it("is noted at the first call, and again an hour later", () => {
    const { note, noted, advance, now } = bed();
    const began = now();
    for (const seconds of [0, 0, 3_599, 1, 1, 3_600]) {
      advance(seconds);
      note({ authorizationId: "A" });
    }
    expect(noted).toEqual([0, 3_600, 7_201].map((after) => ["A", began + after]));
  });

  it("is noted for each by itself", () => {
    const { note, noted } = bed();
    for (const authorizationId of ["A", "B", "A", "B"]) note({ authorizationId });
    expect(noted.map(([id]) => id)).toEqual(["A", "B"]);
  });

  it("is none when a client calls for itself", () => {
    const { note, noted } = bed();
    note({});
    expect(noted).toEqual([]);
  });

  it("is not noted more often by a clock that is set back", () => {
    const { note, noted, advance, now } = bed();
    const began = now();
    for (const seconds of [0, -7_200, 7_199, -60]) {
      advance(seconds);
      note({ authorizationId: "A" });
    }
    // time goes on from where it was before the step
    expect(noted).toEqual([
      ["A", began],
      ["A", began - 1],
    ]);
  });

  it("is an event when it cannot be stored, and is not tried again for an hour", async () => {
    const cause = new Error("no connection");
    const { note, noted, events, advance } = bed(() => Promise.reject(cause));
    note({ authorizationId: "A" });
    note({ authorizationId: "A" });
    await everythingUnderWay();
    expect(events).toEqual([{ kind: "server-error", authorizationId: "A", cause }]);
    advance(3_600);
    note({ authorizationId: "A" });
    await everythingUnderWay();
    expect([noted.length, events.length]).toEqual([2, 2]);
  });
});

// The attacker is many signed-in people, whose tokens call again and again to fill the memory of the process.
describe("what is remembered of uses (RFC 6749 §10.10)", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const heapBytes = async (): Promise<number> => {
    await everythingUnderWay();
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  it("has a bound: beyond it, those that called longest ago are forgotten, and only written again", async () => {
    const { note, noted } = bed();
    for (let number = 0; number < 50_000; number += 1) note({ authorizationId: idOf(number) });
    note({ authorizationId: idOf(0) });
    expect(noted).toHaveLength(50_000);
    noted.length = 0;
    const full = await heapBytes();
    for (let number = 50_000; number < 150_000; number += 1) note({ authorizationId: idOf(number) });
    noted.length = 0;
    // 100,000 that were kept would take 20 MB
    expect((await heapBytes()) - full).toBeLessThan(5_000_000);
    for (const number of [149_999, 100_000, 99_999, 0]) note({ authorizationId: idOf(number) });
    expect(noted.map(([id]) => Number(id))).toEqual([99_999, 0]);
  });
});
