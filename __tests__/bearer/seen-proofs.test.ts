import v8 from "node:v8";
import vm from "node:vm";
import { seenProofs } from "../../lib/bearer/seen-proofs";

const [mine, other] = ["thumbprint of mine", "thumbprint of another"];

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

/** Megabytes, after what nobody uses is gone. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_000_000;
}

describe("proofs that a process has seen (RFC 9449 §11.1)", () => {
  it("count once", () => {
    const note = seenProofs();
    const proof = { thumbprint: mine, proofId: "one", now: 1_000 };
    expect([note(proof), note(proof), note({ ...proof, proofId: "two" })]).toEqual([true, false, true]);
  });

  it("are of one key each: two clients may choose the same id", () => {
    const note = seenProofs();
    const proof = { proofId: "one", now: 1_000 };
    expect([note({ ...proof, thumbprint: mine }), note({ ...proof, thumbprint: other })]).toEqual([
      true,
      true,
    ]);
  });

  it("are known as long as a proof can be used: 60 seconds, and 30 that its clock may be ahead", () => {
    for (const start of [0, 45, 89, 90, 91]) {
      const note = seenProofs();
      note({ thumbprint: other, proofId: "first", now: 1_000 });
      const at = (now: number): boolean => note({ thumbprint: mine, proofId: "one", now });
      expect(at(1_000 + start)).toBe(true);
      for (const later of [0, 30, 60, 89]) expect([later, at(1_000 + start + later)]).toEqual([later, false]);
    }
  });

  it("are forgotten later", () => {
    const note = seenProofs();
    const at = (now: number): boolean => note({ thumbprint: mine, proofId: "one", now });
    expect([at(1_000), at(1_090), at(1_180)]).toEqual([true, false, true]);
  });

  it("are known when the clock was set forward and back", () => {
    const note = seenProofs();
    note({ thumbprint: mine, proofId: "one", now: 1_000 });
    note({ thumbprint: other, proofId: "one", now: 9_000 });
    expect(note({ thumbprint: mine, proofId: "one", now: 1_001 })).toBe(false);
  });

  it("push out those of the same key only, the oldest first, beyond 1,000 of one key", () => {
    const note = seenProofs();
    const noted = (thumbprint: string, id: number): boolean =>
      note({ thumbprint, proofId: `proof ${id}`, now: 1_000 });
    noted(other, 0);
    for (let id = 0; id < 120_000; id++) noted(mine, id);
    expect(noted(other, 0)).toBe(false);
    expect([noted(mine, 119_999), noted(mine, 119_000)]).toEqual([false, false]);
    expect(noted(mine, 118_999)).toBe(true);
  });

  it("keep at most 100,000 in memory, whoever sends them", () => {
    const note = seenProofs();
    const before = heapUsed();
    for (let id = 0; id < 300_000; id++)
      note({ thumbprint: `thumbprint ${id % 2_000}`, proofId: `proof ${id}`, now: 1_000 });
    // 300,000 would take three times as much
    expect(heapUsed() - before).toBeLessThan(20);
    expect(note({ thumbprint: "thumbprint 1999", proofId: "proof 299999", now: 1_000 })).toBe(false);
  });

  it("keep little of many keys with one proof each", () => {
    const note = seenProofs();
    const before = heapUsed();
    for (let id = 0; id < 300_000; id++) note({ thumbprint: `thumbprint ${id}`, proofId: "one", now: 1_000 });
    expect(heapUsed() - before).toBeLessThan(60);
    expect(note({ thumbprint: "thumbprint 299999", proofId: "one", now: 1_000 })).toBe(false);
  });
});
