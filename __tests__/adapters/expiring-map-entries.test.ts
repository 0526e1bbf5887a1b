import { type ExpiringMap, expiringMap } from "../../lib/adapters/memory/expiring-map";
import { type Looks, watchedEnd } from "./watched-end";

const now = 1_000;

interface Owned {
  readonly name: string;
  readonly group: string;
  readonly owner?: string | undefined;
  readonly expiresAt: number;
}

const entry = (name: string, changes: Partial<Owned> = {}): Owned => ({
  name,
  group: "all",
  expiresAt: 9_000,
  ...changes,
});

function newMap(maxEntries = 10_000): ExpiringMap<Owned> {
  return expiringMap({ maxEntries, groupsOf: ({ group }) => [group], ownerOf: ({ owner }) => owner });
}

/** A map with these entries, in one group. */
function mapOf(...names: readonly string[]): ExpiringMap<Owned> {
  const map = newMap();
  for (const name of names) map.set(name, entry(name), now);
  return map;
}

const namesIn = (map: ExpiringMap<Owned>, group = "all"): readonly string[] =>
  map.inGroup(group, now).map(({ name }) => name);

describe("an entry that is changed", () => {
  it("stays in its group", () => {
    const map = mapOf("a", "b");
    map.change("a", { name: "changed" });
    expect(namesIn(map).toSorted()).toEqual(["b", "changed"]);
  });

  it("goes to another group when the change says so", () => {
    const map = mapOf("a", "b");
    map.change("a", { group: "others" });
    expect([namesIn(map), namesIn(map, "others")]).toEqual([["b"], ["a"]]);
  });

  it("must be there: nothing happens where there is none", () => {
    const map = mapOf("a");
    map.change("b", { name: "changed" });
    expect(namesIn(map)).toEqual(["a"]);
  });
});

/** How many entries the map takes of this owner, one after the other, at most 100. */
function taken(map: ExpiringMap<Owned>, owner: string | undefined, changes: Partial<Owned> = {}): number {
  for (let count = 0; count < 100; count += 1) {
    try {
      map.set(`${owner}'s ${count}`, entry("owned", { owner, ...changes }), now);
    } catch {
      return count;
    }
  }
  return 100;
}

describe("the room of an expiring map (RFC 9700 §4.14)", () => {
  it("is whole for entries that nobody owns", () => {
    expect(taken(newMap(20), undefined)).toBe(20);
  });

  it("is refused to an owner that holds more than there is left, with words that name it", () => {
    const map = newMap(20);
    expect(taken(map, "greedy")).toBe(11);
    expect(() => map.set("one more", entry("a", { owner: "greedy" }), now)).toThrow(
      expect.objectContaining({ code: "memory-share-used-up" }),
    );
    expect(taken(map, "another")).toBe(5);
    expect(taken(map, undefined)).toBe(4);
  });

  it("is not used up by what an owner replaces or changes", () => {
    const map = newMap(20);
    for (let times = 0; times < 50; times += 1) {
      map.set("the same", entry("a", { owner: "greedy" }), now);
      map.change("the same", { name: "b" });
    }
    expect(taken(map, "greedy")).toBe(10);
  });

  it("is free again by as much as an owner has given up, and no more", () => {
    const map = newMap(20);
    taken(map, "greedy");
    for (const count of [0, 1, 2]) map.delete(`greedy's ${count}`);
    map.delete("greedy's 0");
    for (const name of ["x", "y"]) map.set(name, entry(name, { owner: "greedy" }), now);
    map.set("z", entry("z", { owner: "greedy" }), now);
    expect(() => map.set("one more", entry("a", { owner: "greedy" }), now)).toThrow(
      expect.objectContaining({ code: "memory-share-used-up" }),
    );
  });

  it("is free again when what an owner holds has expired", () => {
    const map = newMap(20);
    expect(taken(map, "greedy", { expiresAt: 1_100 })).toBe(11);
    for (let count = 0; count < 11; count += 1)
      map.set(`later ${count}`, entry("a", { owner: "greedy" }), 1_100);
    expect(() => map.set("one more", entry("a", { owner: "greedy" }), 1_100)).toThrow(
      expect.objectContaining({ code: "memory-share-used-up" }),
    );
  });
});

/** A map that has been swept, and the looks at ends from now on. */
function watched(maxEntries?: number): {
  map: ExpiringMap<Owned>;
  looks: Looks;
  end: (at: number) => number;
} {
  const looks: Looks = { count: 0 };
  return { map: newMap(maxEntries), looks, end: (at) => watchedEnd(looks, at) };
}

describe("an expiring map looks at little", () => {
  it("at no other entry when one is set, however many there are", () => {
    const { map, looks, end } = watched();
    for (let n = 0; n < 1_100; n += 1) map.set(`${n}`, entry("a", { expiresAt: end(9_000) }), now);
    looks.count = 0;
    map.set("another", entry("b"), now);
    expect(looks.count).toBe(0);
  });

  it("at what is about to end, once a second, when it is full", () => {
    const { map, looks, end } = watched(3);
    for (const name of ["a", "b", "c"]) map.set(name, entry(name, { expiresAt: end(1_019) }), now);
    const refused = (at: number): number => {
      looks.count = 0;
      expect(() => map.set("d", entry("d"), at)).toThrow(expect.objectContaining({ code: "memory-full" }));
      return looks.count;
    };
    expect(refused(1_001)).toBeGreaterThan(0);
    expect(refused(1_001)).toBe(0);
    expect(refused(1_002)).toBeGreaterThan(0);
  });

  it("at nothing that expires while there is room", () => {
    const { map, looks, end } = watched();
    map.set("a", entry("a", { expiresAt: end(1_010) }), now);
    looks.count = 0;
    for (const at of [1_010, 1_011, 1_299]) map.set(`at ${at}`, entry("b"), at);
    expect(looks.count).toBe(0);
  });
});
