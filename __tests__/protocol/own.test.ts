import { runInNewContext } from "node:vm";
import { ownAnswer, ownRecord, ownText } from "../../lib/protocol/own";

describe("copies of what is kept (RFC 6749 §10)", () => {
  it("have lists of their own, which later changes of the original don't reach", () => {
    const original = { clientId: "web", scopes: ["read"], nested: { deep: true } };
    const copy = ownRecord(original);
    expect(copy).toStrictEqual(original);
    original.scopes.push("write");
    original.clientId = "other";
    expect(copy).toStrictEqual({ clientId: "web", scopes: ["read"], nested: { deep: true } });
  });

  it.each(["", "a", "ä€🔑", " a "])("are the same text: %j", (text) => {
    expect(ownText(text)).toBe(text);
  });
});

class Narrow {
  readonly kind = "issue";
  readonly #scopes = ["read"];
  get scopes(): readonly string[] {
    return this.#scopes;
  }
  isNarrow(): boolean {
    return this.scopes.length === 1;
  }
}

class Short extends Narrow {
  get accessTokenSeconds(): number {
    return 60;
  }
}

describe("copies of what the host has answered (RFC 6749 §3.3)", () => {
  const plain = { kind: "issue", scopes: ["read"] };

  it.each([
    ["a plain object", plain],
    ["one without a prototype", Object.assign(Object.create(null) as object, plain)],
    ["one of another realm", runInNewContext('({ kind: "issue", scopes: ["read"] })') as object],
    [
      "one that inherits defaults",
      Object.assign(Object.create({ scopes: ["read"] }) as object, { kind: "issue" }),
    ],
    [
      "one that inherits defaults without a prototype",
      Object.create(Object.assign(Object.create(null), plain)) as object,
    ],
    ["one of a class with a getter", new Narrow()],
  ])("hold what %s holds", (_, answer) => {
    const copy = ownAnswer(answer);
    expect({ ...copy }).toEqual(plain);
    expect(Object.keys(copy).toSorted()).toEqual(["kind", "scopes"]);
  });

  it("hold what each class of a family has, with the last word for the youngest", () => {
    expect(ownAnswer(new Short())).toEqual({ ...plain, accessTokenSeconds: 60 });
    const defaults = { kind: "issue", scopes: ["read", "write"] };
    expect(ownAnswer(Object.assign(Object.create(defaults) as object, { scopes: ["read"] }))).toEqual(plain);
  });

  it("hold functions that the answer has itself", () => {
    const answered = jest.fn();
    expect(ownAnswer(Object.assign(new Narrow(), { answered }))).toEqual({ ...plain, answered });
  });

  it("have lists of their own", () => {
    const scopes = ["read"];
    const copy = ownAnswer({ scopes });
    scopes.push("write");
    expect(copy).toEqual({ scopes: ["read"] });
  });

  it.each([[undefined], [null], ["issue"], [5], [true]])(
    "are without a kind when the host returns %j",
    (answer) => {
      expect((ownAnswer(answer as unknown as object) as { kind?: unknown }).kind).toBeUndefined();
    },
  );

  it("are not changed by what somebody has added to all objects", () => {
    const everyObject = Object.prototype as { scopes?: unknown };
    everyObject.scopes = ["everything"];
    try {
      expect(Object.keys(ownAnswer({ kind: "issue" }))).toEqual(["kind"]);
      expect(Object.keys(ownAnswer(Object.create({ kind: "issue" }) as object))).toEqual(["kind"]);
    } finally {
      delete everyObject.scopes;
    }
  });
});
