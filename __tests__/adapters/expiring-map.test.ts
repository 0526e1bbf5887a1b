import * as fc from "fast-check";
import { type ExpiringMap, expiringMap } from "../../lib/adapters/memory/expiring-map";

const now = 1_000;

interface Entry {
  readonly name: string;
  readonly expiresAt: number;
}

/** A map whose entries are all in one group. */
function newMap(maxEntries: number): ExpiringMap<Entry> {
  return expiringMap({ maxEntries, groupsOf: () => ["all"] });
}

function entriesOf(map: ExpiringMap<Entry>, at: number): readonly string[] {
  return map.inGroup("all", at).map(({ name }) => name);
}

/** False when the map refuses because it is full. */
function wasSet(
  map: ExpiringMap<Entry>,
  { key, value, at }: { key: string; value: Entry; at: number },
): boolean {
  try {
    map.set(key, value, at);
    return true;
  } catch {
    return false;
  }
}

function entry(name: string, expiresAt: number): Entry {
  return { name, expiresAt };
}

describe("expiring map", () => {
  it("ends an entry at its absolute time, whether or not it has been swept away", () => {
    const map = newMap(10);
    map.set("a", entry("a", 1_010), now);
    expect(map.get("a", 1_009)?.name).toBe("a");
    expect(map.get("a", 1_010)).toBeUndefined();
    expect(entriesOf(map, 1_009)).toEqual(["a"]);
    expect(entriesOf(map, 1_010)).toEqual([]);
  });

  it("frees the room of what has expired, a minute after its end at the latest", () => {
    const map = newMap(3);
    for (const name of ["a", "b", "c"]) map.set(name, entry(name, 1_010), now);
    for (const name of ["d", "e", "f"]) map.set(name, entry(name, 1_200), 1_070);
    expect(entriesOf(map, 1_070)).toEqual(["d", "e", "f"]);
  });

  it("refuses only when it is full of living entries", () => {
    const map = newMap(2);
    map.set("a", entry("a", 1_010), now);
    map.set("b", entry("b", 1_200), now);
    expect(() => map.set("c", entry("c", 1_200), 1_009)).toThrow(
      expect.objectContaining({ code: "memory-full" }),
    );
    map.set("c", entry("c", 1_200), 1_010);
    expect(entriesOf(map, 1_010)).toEqual(["b", "c"]);
  });

  it("loses nothing when it refuses", () => {
    const map = newMap(2);
    map.set("a", entry("a", 2_000), now);
    map.set("b", entry("b", 2_000), now);
    expect(() => map.set("c", entry("c", 2_000), now)).toThrow(
      expect.objectContaining({ code: "memory-full" }),
    );
    expect(entriesOf(map, now)).toEqual(["a", "b"]);
    expect(map.get("c", now)).toBeUndefined();
  });

  it("keeps an entry that was replaced by a later one when the time of the first has passed", () => {
    const map = newMap(1);
    map.set("a", entry("a", 1_010), now);
    map.set("a", entry("later a", 5_000), now);
    map.set("a", entry("latest a", 6_000), 1_500);
    expect(map.get("a", 5_999)?.name).toBe("latest a");
    expect(() => map.set("b", entry("b", 9_000), 5_500)).toThrow(
      expect.objectContaining({ code: "memory-full" }),
    );
    map.set("b", entry("b", 9_000), 6_100);
    expect(entriesOf(map, 6_100)).toEqual(["b"]);
  });

  it("takes up a key again that has expired or was deleted", () => {
    const map = newMap(1);
    map.set("a", entry("a", 1_010), now);
    map.set("a", entry("new a", 1_100), 1_020);
    expect(map.get("a", 1_020)?.name).toBe("new a");
    map.delete("a");
    expect(map.get("a", 1_020)).toBeUndefined();
    map.set("a", entry("newest a", 1_100), 1_020);
    expect(map.get("a", 1_020)?.name).toBe("newest a");
  });

  it("ends what it holds in time after one key came and went 10,000 times", () => {
    const map = newMap(2);
    map.set("old", entry("old", 1_100), now);
    for (let time = 0; time < 10_000; time += 1) {
      map.delete("a");
      map.set("a", entry(`${time}`, 1_200), now);
    }
    expect(map.get("a", 1_199)?.name).toBe("9999");
    map.set("b", entry("b", 9_000), 1_130);
    map.set("c", entry("c", 9_000), 1_230);
    expect(entriesOf(map, 1_230)).toEqual(["b", "c"]);
  });
});

describe("the entries of an expiring map", () => {
  it("are frozen everywhere, and independent of what was given", () => {
    const map = expiringMap<Entry & { readonly part: unknown }>({ maxEntries: 10 });
    const part = { list: ["a", { names: ["b"] }], none: null };
    const given = { ...entry("a", 2_000), part };
    map.set("a", given, now);
    part.list.push("another");
    const kept = map.get("a", now)?.part as typeof part;
    expect(kept).toEqual({ list: ["a", { names: ["b"] }], none: null });
    const everything = [map.get("a", now), kept, kept.list, kept.list[1]];
    expect(everything.every(Object.isFrozen)).toBe(true);
    expect(Object.isFrozen(given)).toBe(false);
    map.change("a", { name: "b" });
    expect(map.get("a", now)).toEqual({ ...entry("b", 2_000), part: kept });
    expect(Object.isFrozen(map.get("a", now))).toBe(true);
  });

  it("keeps keys that every object inherits", () => {
    const map = newMap(5);
    expect(map.get("constructor", now)).toBeUndefined();
    map.set("__proto__", entry("proto", 2_000), now);
    expect(map.get("__proto__", now)?.name).toBe("proto");
  });

  it("answers as a plain list of entries would, in any order of calls and times, and refuses no more than it says", () => {
    const keys = ["a", "b", "c", "d", "e"];
    const step = fc.record({
      kind: fc.constantFrom("set", "set", "delete"),
      key: fc.constantFrom(...keys),
      waits: fc.nat(40),
      lives: fc.nat(100),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (steps, maxEntries) => {
        const map = newMap(maxEntries);
        const model = new Map<string, Entry>();
        let at = now;
        for (const [index, { kind, key, waits, lives }] of steps.entries()) {
          at += waits;
          const value = entry(`${key}${index}`, at + lives);
          if (kind === "delete") {
            map.delete(key);
            model.delete(key);
          } else if (wasSet(map, { key, value, at })) {
            model.set(key, value);
          } else {
            expect(model.size).toBeGreaterThanOrEqual(maxEntries);
          }
          const living = [...model].filter(([, { expiresAt }]) => at < expiresAt);
          expect(living.length).toBeLessThanOrEqual(maxEntries);
          const expected = keys.map((name) => living.find(([known]) => known === name)?.[1]);
          expect(keys.map((name) => map.get(name, at))).toEqual(expected);
        }
      }),
    );
  });
});

/** Sets another entry at each of these times. */
function pass(map: ExpiringMap<Entry>, times: readonly number[]): void {
  for (const at of times) map.set(`at ${at}`, entry("other", at + 60), at);
}

describe("expiring map by a clock that is set (RFC 7519 §4.1.4)", () => {
  const decade = 10 * 365 * 86_400;

  /** What the map still holds of `entry("a", 2_000)`, asked by a time at which it lived. */
  const holdsA = (map: ExpiringMap<Entry>): boolean => map.get("a", now) !== undefined;

  function withA(): ExpiringMap<Entry> {
    const map = newMap(1_000);
    map.set("a", entry("a", 2_000), now);
    return map;
  }

  it("forgets what has expired, two sweeps after its end", () => {
    const map = withA();
    pass(map, [2_000, 2_299]);
    expect(holdsA(map)).toBe(true);
    pass(map, [2_300]);
    expect(holdsA(map)).toBe(false);
  });

  it("forgets it too where calls are hours apart", () => {
    const map = withA();
    pass(map, [10_000, 20_000]);
    expect(holdsA(map)).toBe(false);
  });

  it.each([
    ["a few minutes", 1_100],
    ["a day", 86_400],
    ["ten years", decade],
  ])("loses nothing when it was %s ahead for less than five minutes", (_, step) => {
    const map = withA();
    pass(map, [now + 10, now + step, now + step + 100, now + step + 299, now + 320, now + 620]);
    expect(map.get("a", now + 620)?.name).toBe("a");
  });

  it("forgets what a clock calls expired that stays ahead", () => {
    const map = withA();
    pass(map, [now + decade, now + decade + 300]);
    expect(holdsA(map)).toBe(false);
  });

  it.each([
    ["a minute", 60],
    ["an hour", 3_600],
    ["ten years", decade],
  ])("goes on sweeping after a step of %s ahead and back", (_, step) => {
    const map = newMap(1_000);
    pass(map, [now, now + step, now + step + 400, now]);
    map.set("a", entry("a", 2_000), now);
    pass(map, [2_000, 2_300, 2_600]);
    expect(holdsA(map)).toBe(false);
  });

  it.each([
    ["ahead and back", [now + decade, now]],
    ["back", [now - decade]],
    ["back and ahead", [now - decade, now]],
  ])("has room again for what has expired after a step %s", (_, steps) => {
    const map = newMap(2);
    map.set("a", entry("a", now + decade + 9_000), now);
    for (const at of steps) map.set("a", entry("a", now + decade + 9_000), at);
    const at = steps.at(-1) ?? now;
    map.set("b", entry("b", at + 10), at);
    expect(() => map.set("c", entry("c", at + 900), at + 9)).toThrow(
      expect.objectContaining({ code: "memory-full" }),
    );
    map.set("c", entry("c", at + 900), at + 10);
    expect(entriesOf(map, at + 10)).toEqual(["a", "c"]);
  });

  it("never loses what has not ended by any clock, and holds nothing for good, by clocks that go anywhere", () => {
    const steps = fc.array(
      fc.record({ step: fc.integer({ min: -2_000, max: 2_000 }), lives: fc.nat(4_000) }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (taken) => {
        const map = newMap(1_000);
        let at = 100_000;
        let latest = at;
        const set: Entry[] = [];
        for (const [index, { step, lives }] of taken.entries()) {
          at += step;
          latest = Math.max(latest, at);
          set.push(entry(`${index}`, at + lives));
          map.set(`${index}`, entry(`${index}`, at + lives), at);
          const living = set.filter(({ expiresAt }) => latest < expiresAt);
          expect(living.filter(({ name }) => map.get(name, at) === undefined)).toEqual([]);
        }
        pass(map, [at + 10_000, at + 20_000, at + 30_000]);
        expect(map.inGroup("all", -1)).toHaveLength(2);
      }),
    );
  });
});

interface Named extends Entry {
  readonly group: string;
}

const named = (name: string, group: string): Named => ({ ...entry(name, 2_000), group });

function grouped(): ExpiringMap<Named> {
  return expiringMap({ maxEntries: 100, groupsOf: ({ group }) => [group] });
}

function namesIn(map: ExpiringMap<Named>, group: string): readonly string[] {
  return map.inGroup(group, now).map(({ name }) => name);
}

describe("expiring map groups", () => {
  it("have the living entries of one group, in the order in which they came", () => {
    const map = grouped();
    for (const name of ["a", "b", "c"]) map.set(name, named(name, "one"), now);
    map.set("d", named("d", "two"), now);
    map.set("e", { ...named("e", "one"), expiresAt: now }, now);
    expect(namesIn(map, "one")).toEqual(["a", "b", "c"]);
    expect(namesIn(map, "two")).toEqual(["d"]);
    expect(namesIn(map, "three")).toEqual([]);
  });

  it("follow an entry that is replaced, changed or deleted", () => {
    const map = grouped();
    for (const name of ["a", "b"]) map.set(name, named(name, "one"), now);
    map.set("a", named("new a", "two"), now);
    map.change("b", { name: "new b" });
    expect([namesIn(map, "one"), namesIn(map, "two")]).toEqual([["new b"], ["new a"]]);
    map.delete("b");
    map.delete("a");
    expect([namesIn(map, "one"), namesIn(map, "two")]).toEqual([[], []]);
  });

  it("lose what has been swept away", () => {
    const map = grouped();
    for (const name of ["a", "b"]) map.set(name, named(name, "one"), now);
    for (const at of [5_000, 6_000]) map.set("c", { ...named("c", "two"), expiresAt: 9_000 }, at);
    expect(namesIn(map, "one")).toEqual([]);
    expect(namesIn(map, "two")).toEqual(["c"]);
  });
});
