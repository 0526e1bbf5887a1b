import crypto from "node:crypto";
import { randomValues } from "../lib/system";

describe("random values (RFC 6749 §10.10)", () => {
  it("are base64url of so many bytes", () => {
    const { randomId, randomToken } = randomValues();
    expect(randomId()).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(randomToken()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it("never come twice, over many draws from the system and from two sources", () => {
    const [one, other] = [randomValues(), randomValues()];
    const values = Array.from({ length: 20_000 }, (_, index) => [
      index % 2 === 0 ? one.randomId() : one.randomToken(),
      other.randomId(),
    ]).flat();
    expect(new Set(values).size).toBe(40_000);
    const parts = values.map((value) => value.slice(0, 20));
    expect(new Set(parts).size).toBe(40_000);
  });

  it("have no byte that was left at zero", () => {
    const { randomToken } = randomValues();
    const seen = Array.from({ length: 32 }, () => new Set<number>());
    for (let time = 0; time < 2_000; time += 1) {
      for (const [place, byte] of Buffer.from(randomToken(), "base64url").entries()) seen[place]?.add(byte);
    }
    // each place has had nearly every one of the 256 values
    expect(Math.min(...seen.map(({ size }) => size))).toBeGreaterThan(200);
  });

  it("use up each draw from the system to its last byte, as draws are slow", () => {
    const draws = jest.spyOn(crypto, "randomFillSync");
    const { randomToken } = randomValues();
    const drawn = Array.from({ length: 257 }, () => {
      randomToken();
      return draws.mock.calls.length;
    });
    expect([drawn[0], drawn[127], drawn[128], drawn[255], drawn[256]]).toEqual([1, 1, 2, 2, 3]);
    jest.restoreAllMocks();
  });
});
