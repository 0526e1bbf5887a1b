import { ownRecord, ownText } from "../../lib/protocol/own";

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
