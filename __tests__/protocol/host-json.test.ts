import { frozen, isTextList, ownRecord, parseHostObject } from "../../lib/protocol/host-json";

describe("an object that the host returns (RFC 8259 §3, §4)", () => {
  it.each([
    ["every kind of JSON value", { a: "text", b: 1, c: true, d: null, e: [null, "x"], f: { g: null } }],
    ["nothing", {}],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
  ])("is copied with %s", (_, value) => {
    const copy = parseHostObject(value);
    expect(copy).toEqual({ ...value });
    expect(copy).not.toBe(value);
    expect(Object.isFrozen(copy)).toBe(true);
  });

  it("is frozen at every depth", () => {
    const copy = parseHostObject({ list: [{ inner: {} }] }) as { list: { inner: object }[] };
    expect([copy.list, copy.list[0], copy.list[0]?.inner].map(Object.isFrozen)).toEqual([true, true, true]);
  });

  it("has its dates as text", () => {
    expect(parseHostObject({ at: new Date(0) })).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  });

  class Account {
    readonly id = "a";
    toJSON(): object {
      return { id: this.id };
    }
  }
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;

  it.each<[string, unknown]>([
    ["null", null],
    ["undefined", undefined],
    ["a text", "{}"],
    ["a list", [{}]],
    ["a Map", new Map()],
    ["a promise", Promise.resolve({})],
    ["a date", new Date(0)],
    ["an instance of a class, whatever its toJSON returns", new Account()],
    ["an object with undefined in it", { a: undefined }],
    ["an object with NaN in it", { a: { b: Number.NaN } }],
    ["an object with a Map in it", { a: [new Map()] }],
    ["an object with a function in it", { a: () => 1 }],
    ["an object with a bigint in it", { a: 1n }],
    ["an object with itself in it", circle],
    ["an object whose toJSON returns text", { toJSON: () => "text" }],
    [
      "an object that throws when it is read",
      {
        get a(): string {
          throw new Error("no");
        },
      },
    ],
  ])("is nothing that can be used: %s", (_, value) => {
    expect(parseHostObject(value)).toBeUndefined();
  });
});

describe("parts of what the host returns", () => {
  it.each<[unknown, boolean]>([
    [[], true],
    [["a", "b"], true],
    [["a", 1], false],
    [[["a"]], false],
    [[undefined], false],
    ["a", false],
    [undefined, false],
    [{ 0: "a", length: 1 }, false],
  ])("%j is a list of texts: %p", (value, expected) => {
    expect(isTextList(value)).toBe(expected);
  });

  it.each([["text"], [5], [null], [undefined]])(
    "stay as they are when nothing can be frozen: %p",
    (value) => {
      expect(frozen(value)).toBe(value);
    },
  );
});

describe("copies of what is kept (RFC 6749 §10)", () => {
  it("have lists of their own, which later changes of the original don't reach", () => {
    const original = { clientId: "web", scopes: ["read"], nested: { deep: true } };
    const copy = ownRecord(original);
    expect(copy).toStrictEqual(original);
    original.scopes.push("write");
    original.clientId = "other";
    expect(copy).toStrictEqual({ clientId: "web", scopes: ["read"], nested: { deep: true } });
  });
});
