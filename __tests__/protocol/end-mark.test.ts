import {
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endKeysOf,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";

describe("the keys that an approval reads (RFC 7009 §2.1)", () => {
  const all = { subject: "alice", clientId: "web", apiId: "orders" };

  it.each(["", "acme"])("are those under which ends store their marks, in the context %j", (contextKey) => {
    const one = { ...all, contextKey };
    expect(endKeysOf(one)).toEqual({
      approval: [subjectEndKey("alice"), clientEndKey("web"), approvalEndKey(one)],
      consent: [subjectConsentsEndKey("alice"), consentEndKey(all), consentEndKey(one)],
    });
  });

  it("are six different ones, and others for each context", () => {
    const keys = ["", "acme"].flatMap((contextKey) => {
      const { approval, consent } = endKeysOf({ ...all, contextKey });
      return [...approval, ...consent];
    });
    expect(new Set(keys).size).toBe(7);
  });
});
