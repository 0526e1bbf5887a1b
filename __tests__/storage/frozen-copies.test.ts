import { frozenCopies } from "../../lib/storage/memory/frozen-copies";

interface Thing {
  readonly name?: string;
  readonly list?: readonly unknown[];
  readonly part?: unknown;
}

describe("copies of records that nobody can change (RFC 6749 §10.5)", () => {
  it.each<[string, Thing]>([
    ["texts, and nothing else", { name: "a" }],
    ["nothing at all", {}],
    ["a list of texts", { list: ["a", "b"] }],
    ["an empty list", { list: [] }],
    ["a list of objects", { list: [{ name: "a" }, { name: "b" }] }],
    ["a list of texts and objects", { list: ["a", { name: "b" }] }],
    ["null", { part: null }],
    ["null in an object", { part: { inner: null } }],
    ["undefined", { part: undefined }],
    ["lists and objects in each other", { part: { inner: [["a"], { list: [1, true] }] } }],
  ])("are equal to records with %s", (_, record) => {
    expect(frozenCopies<Thing>()(record)).toStrictEqual(record);
  });

  it("are frozen everywhere, and independent of the record", () => {
    const record = { list: [{ names: ["a"] }, "b"], part: { inner: { names: ["c"] } } };
    const copy = frozenCopies<Thing>()(record) as typeof record;
    const [first] = copy.list as [{ names: string[] }, string];
    const everything = [
      copy,
      copy.list,
      first,
      first.names,
      copy.part,
      copy.part.inner,
      copy.part.inner.names,
    ];
    expect(everything.every(Object.isFrozen)).toBe(true);
    (record.list[0] as { names: string[] }).names.push("another");
    record.part.inner.names.push("another");
    expect(copy).toEqual({ list: [{ names: ["a"] }, "b"], part: { inner: { names: ["c"] } } });
    expect(Object.isFrozen(record.list)).toBe(false);
  });

  it("share one list for equal lists of texts, and none with other copies", () => {
    const copy = frozenCopies<Thing>();
    const [first, second, third] = [["a", "b"], ["a", "b"], ["ab"]].map((list) => copy({ list }).list);
    expect(second).toBe(first);
    expect(third).toEqual(["ab"]);
    expect(frozenCopies<Thing>()({ list: ["a", "b"] }).list).not.toBe(first);
  });

  it("keep a list of texts that is frozen already", () => {
    const copy = frozenCopies<Thing>();
    const list = Object.freeze(["a"]);
    copy({ list: ["a"] });
    expect(copy({ list }).list).toBe(list);
  });

  it("have the parts of a base that are not given anew, and leave the base as it is", () => {
    const copy = frozenCopies<Thing>();
    const base = copy({ name: "a", list: ["a"], part: { inner: 1 } });
    const changed = copy({ name: "b" }, base);
    expect(changed).toEqual({ name: "b", list: ["a"], part: { inner: 1 } });
    expect([changed.list, changed.part]).toEqual([base.list, base.part]);
    expect(changed.part).toBe(base.part);
    expect(base.name).toBe("a");
  });
});
