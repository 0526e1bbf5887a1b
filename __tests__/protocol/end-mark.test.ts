import { createHash } from "node:crypto";
import {
  answerKey,
  apiEndKey,
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endedKey,
  endsEverything,
  endKeysOf,
  lessenedKey,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";

const audience = "https://api.example/orders";

describe("the keys that an approval reads (RFC 7009 §2.1)", () => {
  const all = { subject: "alice", clientId: "web", apiId: "orders" };

  it.each(["", "acme"])("are those under which ends store their marks, in the context %j", (contextKey) => {
    const one = { ...all, contextKey };
    expect(endKeysOf(one, audience)).toEqual({
      subject: subjectEndKey("alice"),
      client: clientEndKey("web"),
      api: apiEndKey(audience),
      approval: approvalEndKey(one),
      consents: subjectConsentsEndKey("alice"),
      everyContext: consentEndKey(all),
      oneContext: consentEndKey(one),
      narrowed: expect.any(String) as string,
      lessened: lessenedKey(all),
    });
  });

  it("are others for each page, answer and person", () => {
    const pages = ["a page 0", "a page 1"].flatMap((page) =>
      ["alice", "bob"].map((subject) => ({ subject, page })),
    );
    const keys = pages.flatMap((one) => [answerKey(one, "yes"), answerKey(one, "no")]);
    expect(new Set(keys).size).toBe(8);
  });

  it("are nine different ones, and others for each context", () => {
    const keys = ["", "acme"].flatMap((contextKey) =>
      Object.values(endKeysOf({ ...all, contextKey }, audience)),
    );
    expect(new Set(keys).size).toBe(11);
  });
});

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}

describe("the key of an end mark (RFC 7009 §2.1, 6749 §10.2)", () => {
  const selection = { subject: "alice", clientId: "web", apiId: "orders" };

  // marks are stored for years: another key would bring back what was ended
  it.each<[string, () => string, string, string[]]>([
    ["a client", () => clientEndKey("web"), "web", ["client"]],
    ["an API", () => apiEndKey(audience), audience, ["api"]],
    ["an end user", () => subjectEndKey("alice"), "alice", ["subject"]],
    ["an end user's consents", () => subjectConsentsEndKey("alice"), "alice", ["consents"]],
    ["approvals", () => approvalEndKey(selection), "alice", ["approval", "web", "orders"]],
    ["a consent in every context", () => consentEndKey(selection), "alice", ["consent", "web", "orders"]],
    [
      "a consent in one context",
      () => consentEndKey({ ...selection, contextKey: "acme" }),
      "alice",
      ["consent", "web", "orders", "acme"],
    ],
    [
      "an end that is complete",
      () => endedKey({ key: subjectEndKey("alice"), mark: "a mark" }),
      "alice",
      ["a mark", "ended"],
    ],
  ])("of %s is the same in every version, and names nobody", (_, keyOf, owner, parts) => {
    const key = keyOf();
    expect(key).toBe(`${digestOf(owner).slice(0, 22)}.${digestOf(parts)}`);
    expect(key).toMatch(/^[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/);
  });

  it("says whether it ends everything of somebody", () => {
    const all = [
      clientEndKey("web"),
      apiEndKey(audience),
      subjectEndKey("alice"),
      subjectConsentsEndKey("alice"),
    ];
    expect(all.map((key) => endsEverything({ key }))).toEqual([true, true, true, true]);
    const one = [consentEndKey(selection), endedKey({ key: subjectEndKey("alice"), mark: "M" }), "alice"];
    expect(one.map((key) => endsEverything({ key }))).toEqual([false, false, false]);
  });

  it("of a consent without a context is that of the empty one", () => {
    expect(endKeysOf(selection, audience)).toEqual(endKeysOf({ ...selection, contextKey: "" }, audience));
  });
});
