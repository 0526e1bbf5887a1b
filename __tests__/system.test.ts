import crypto from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { hostEmitter, randomValues } from "../lib/system";

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

describe("the channel of events", () => {
  const event = { kind: "token-refreshed", issuer: "https://host.example", scopes: ["a"] } as const;
  const published: (readonly [string, object])[] = [];
  const onMessage = (told: unknown): void => void published.push(["published", told as object]);
  const emit = hostEmitter({
    onEvent: (told) => void published.push(["emitted", told]),
    isProduction: true,
  });

  beforeEach(() => void (published.length = 0));
  afterEach(() => {
    unsubscribe("authmount:event", onMessage);
    jest.restoreAllMocks();
  });

  it("gets each event with its time, before the handler of the host", () => {
    jest.spyOn(Date, "now").mockReturnValue(1_000_000);
    subscribe("authmount:event", onMessage);
    emit(event);
    const told = { at: 1_000, ...event };
    expect(published).toEqual([
      ["published", told],
      ["emitted", told],
    ]);
  });

  it("gets a copy: a subscriber that changes its event changes nobody else's", () => {
    subscribe("authmount:event", onMessage);
    emit(event);
    const [[, first], [, second]] = published as [[string, typeof event], [string, typeof event]];
    expect(first.scopes).not.toBe(event.scopes);
    expect(first.scopes).not.toBe(second.scopes);
  });

  it("costs nothing while nobody subscribes: the clock is read for the handler only", () => {
    const clock = jest.spyOn(Date, "now");
    emit(event);
    expect(clock).toHaveBeenCalledTimes(1);
    expect(published).toHaveLength(1);
  });
});
