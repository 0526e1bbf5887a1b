import type { Consent } from "../../lib";
import { endedMeanwhile, findBasis } from "../../lib/end-user/approval-basis";
import {
  apiEndKey,
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endKeysOf,
  lessenedKey,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";
import { loggedStorage } from "../host/call-log";

const now = 1_100;
const pair = { subject: "alice", clientId: "web", apiId: "orders" };
const key = { ...pair, contextKey: "acme" };
const consent: Consent = { ...key, scopes: ["orders:read"], grantedAt: 900, endMarks: [], expiresAt: 9_000 };
const audience = "https://api.example/orders";
const digest = "d".repeat(43);

/** Every mark that concerns the consent: the key that it is stored under, by its name. */
const keys = {
  subject: subjectEndKey("alice"),
  client: clientEndKey("web"),
  api: apiEndKey(audience),
  approval: approvalEndKey(pair),
  consents: subjectConsentsEndKey("alice"),
  everyContext: consentEndKey(pair),
  oneContext: consentEndKey(key),
  narrowed: endKeysOf(key, audience).narrowed,
  lessened: lessenedKey(pair),
};
type MarkName = keyof typeof keys;

interface Given {
  readonly ended?: readonly MarkName[];
  readonly before?: Partial<Consent>;
  readonly clientDigest?: string;
  readonly withConsent?: boolean;
}

/** What is in force. Each mark is its name. */
async function basisOf({ ended = [], before, clientDigest, withConsent = true }: Given) {
  const { storage, calls } = loggedStorage();
  if (before) await storage.consents.save({ ...consent, ...before }, now);
  for (const mark of ended) await storage.endMarks.save({ key: keys[mark], mark, expiresAt: 9_000 }, now);
  calls.length = 0;
  const basis = await findBasis({ storage }, { key, audience, withConsent, clientDigest, now });
  return { basis, calls };
}

describe("the end marks that concern an approval (RFC 7009 §2.1)", () => {
  const all = Object.keys(keys) as MarkName[];

  it("are read each under its own key, in one call", async () => {
    const { basis, calls } = await basisOf({ ended: all, withConsent: false });
    expect(basis.marks).toEqual(Object.fromEntries(all.map((mark) => [mark, mark])));
    expect(calls.map(([name]) => name)).toEqual(["endMarks.find"]);
  });

  it.each(all)("are all that an approval is born under, and no place without one: %s", async (mark) => {
    const { basis } = await basisOf({ ended: [mark] });
    expect(basis.endMarks).toStrictEqual([mark]);
  });

  it("are none where nothing was ended", async () => {
    const { basis } = await basisOf({});
    expect(basis.endMarks).toStrictEqual([]);
    expect(basis.marks).toStrictEqual(Object.fromEntries(all.map((mark) => [mark, undefined])));
  });
});

describe("a remembered consent (RFC 6749 §10.2)", () => {
  it.each<[string, Given]>([
    ["nothing was ended", {}],
    ["the person's authorizations were ended, and consents kept", { ended: ["subject"] }],
    ["a withdrawal has just begun", { ended: ["approval"] }],
    ["it was given after the end of the API", { before: { endMarks: ["api"] }, ended: ["api"] }],
    ["it was given after the end", { before: { endMarks: ["client"] }, ended: ["client"] }],
    ["the client says of itself what it said", { before: { clientDigest: digest }, clientDigest: digest }],
  ])("counts: %s", async (_, given) => {
    const { basis } = await basisOf({ before: {}, ...given });
    expect([basis.consent?.scopes, basis.isFirstVisit]).toEqual([["orders:read"], false]);
  });

  it.each<[string, Given]>([
    ["its client was ended", { ended: ["client"] }],
    ["its API was ended", { ended: ["api"] }],
    ["all consents of the person were", { ended: ["consents"] }],
    ["it was withdrawn in every context", { ended: ["everyContext"] }],
    ["it was withdrawn in this one", { ended: ["oneContext"] }],
    ["less was allowed after it", { ended: ["narrowed"] }],
    ["one of two ends came after it", { before: { endMarks: ["client"] }, ended: ["client", "oneContext"] }],
    ["the client says something else of itself", { before: { clientDigest: "e" }, clientDigest: digest }],
    ["it was for a registered client", { clientDigest: digest }],
    ["it was for one that nobody registered", { before: { clientDigest: digest } }],
  ])("does not count, and is no first visit: %s", async (_, given) => {
    const { basis } = await basisOf({ before: {}, ...given });
    expect([basis.consent, basis.isFirstVisit]).toEqual([undefined, false]);
  });

  it.each([
    ["was looked up", true, ["endMarks.find", "consents.find"]],
    ["was not looked up", false, ["endMarks.find"]],
  ])("that is not there means a first visit only if it %s", async (_, withConsent, names) => {
    const { basis, calls } = await basisOf({ withConsent });
    expect([basis.consent, basis.isFirstVisit]).toEqual([undefined, withConsent]);
    expect(calls.map(([name]) => name)).toEqual(names);
  });
});

describe("the refusal of what was ended meanwhile", () => {
  it("is a no of the person for the client, and says to the host what has ended it (RFC 6749 §4.1.2.1)", () => {
    const { error, description, code } = endedMeanwhile();
    expect({ error, description, code }).toEqual({
      error: "access_denied",
      description: "The end user did not grant access.",
      code: "ended-meanwhile",
    });
  });
});
