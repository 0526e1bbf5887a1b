import { keyGroups } from "../../lib/storage/memory/key-groups";

describe("keys by their group", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["none", [], []],
    ["one", ["a"], ["a"]],
    ["one that was added twice", ["a", "a"], ["a"]],
    ["several, in their order", ["b", "a", "c"], ["b", "a", "c"]],
    ["several, some of them added twice", ["b", "a", "b", "a"], ["b", "a"]],
  ])("are %s, and counted", (_, added, keys) => {
    const groups = keyGroups();
    groups.add("another", "x");
    for (const key of added) groups.add("one", key);
    expect(groups.keysOf("one")).toEqual(keys);
    expect(groups.firstOf("one")).toBe(keys[0]);
    expect(groups.sizeOf("one")).toBe(keys.length);
    expect(groups.size).toBe(keys.length > 0 ? 2 : 1);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["a key of the group", ["a"], ["b"]],
    ["a key that it does not have", ["x"], ["a", "b"]],
    ["a key twice", ["a", "a"], ["b"]],
    ["every key", ["b", "a"], []],
  ])("are fewer without %s", (_, removed, keys) => {
    const groups = keyGroups();
    for (const key of ["a", "b"]) groups.add("one", key);
    for (const key of removed) groups.remove("one", key);
    expect(groups.keysOf("one")).toEqual(keys);
    expect([groups.sizeOf("one"), groups.size]).toEqual([keys.length, keys.length > 0 ? 1 : 0]);
  });

  it("are left alone when a key is removed from another group, or a single one under another name", () => {
    const groups = keyGroups();
    groups.add("one", "a");
    groups.remove("two", "a");
    groups.remove("one", "b");
    expect([groups.keysOf("one"), groups.size]).toEqual([["a"], 1]);
  });
});
