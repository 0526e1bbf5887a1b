import type { Consent } from "../../lib";
import { endedMeanwhile, findStanding, readMarks } from "../../lib/end-user/standing";
import {
  approvalEndKey,
  clientEndKey,
  consentEndKey,
  endKeysOf,
  subjectConsentsEndKey,
  subjectEndKey,
} from "../../lib/protocol/end-mark";
import { loggedStorage } from "../fixture/call-log";

const now = 1_100;
const pair = { subject: "alice", clientId: "web", apiId: "orders" };
const key = { ...pair, contextKey: "acme" };
const consent: Consent = { ...key, scopes: ["orders:read"], grantedAt: 900, expiresAt: 9_000 };
const digest = "d".repeat(43);

/** Every mark that concerns the consent: the key that it is stored under, by its name. */
const keys = {
  subject: subjectEndKey("alice"),
  client: clientEndKey("web"),
  approval: approvalEndKey(pair),
  ofSubject: subjectConsentsEndKey("alice"),
  everyContext: consentEndKey(pair),
  oneContext: consentEndKey(key),
  narrowed: endKeysOf(key).consent[3],
};
type MarkName = keyof typeof keys;

interface Given {
  readonly ended?: readonly MarkName[];
  readonly before?: Partial<Consent>;
  readonly clientDigest?: string;
  readonly withConsent?: boolean;
}

/** What is in force. Each mark is its name. */
async function standingOf({ ended = [], before, clientDigest, withConsent = true }: Given) {
  const { storage, calls } = loggedStorage();
  if (before) await storage.consents.save({ ...consent, ...before }, now);
  for (const mark of ended) await storage.endMarks.save({ key: keys[mark], mark, expiresAt: 9_000 }, now);
  calls.length = 0;
  const standing = await findStanding({ storage }, { key, withConsent, clientDigest, now });
  return { standing, calls };
}

describe("the end marks that concern an approval (RFC 7009 §2.1)", () => {
  const all = Object.keys(keys) as MarkName[];

  it("are read each under its own key, in one call", async () => {
    const { storage, calls } = loggedStorage();
    for (const mark of all) await storage.endMarks.save({ key: keys[mark], mark, expiresAt: 9_000 }, now);
    calls.length = 0;
    expect(await readMarks({ storage }, { endKeys: endKeysOf(key), now })).toEqual({
      approval: ["subject", "client", "approval"],
      consent: ["ofSubject", "everyContext", "oneContext", "narrowed"],
    });
    expect(calls.map(([name]) => name)).toEqual(["endMarks.find"]);
  });

  it.each(all)("are all that an approval is born under, and no place without one: %s", async (mark) => {
    const { standing } = await standingOf({ ended: [mark] });
    expect(standing.endMarks).toStrictEqual([mark]);
  });

  it("are none where nothing was ended", async () => {
    const { standing } = await standingOf({});
    expect(standing.endMarks).toStrictEqual([]);
    expect(standing.marks).toEqual({
      approval: [undefined, undefined, undefined],
      consent: [undefined, undefined, undefined],
    });
  });
});

describe("a remembered consent (RFC 6749 §10.2)", () => {
  it.each<[string, Given]>([
    ["nothing was ended", {}],
    ["the person's authorizations were ended, and consents kept", { ended: ["subject"] }],
    ["a withdrawal has just begun", { ended: ["approval"] }],
    ["it was given after the end", { before: { endMarks: ["client"] }, ended: ["client"] }],
    ["the client says of itself what it said", { before: { clientDigest: digest }, clientDigest: digest }],
  ])("counts: %s", async (_, given) => {
    const { standing } = await standingOf({ before: {}, ...given });
    expect([standing.consent?.scopes, standing.isFirstVisit]).toEqual([["orders:read"], false]);
  });

  it.each<[string, Given]>([
    ["its client was ended", { ended: ["client"] }],
    ["all consents of the person were", { ended: ["ofSubject"] }],
    ["it was withdrawn in every context", { ended: ["everyContext"] }],
    ["it was withdrawn in this one", { ended: ["oneContext"] }],
    ["less was allowed after it", { ended: ["narrowed"] }],
    ["one of two ends came after it", { before: { endMarks: ["client"] }, ended: ["client", "oneContext"] }],
    ["the client says something else of itself", { before: { clientDigest: "e" }, clientDigest: digest }],
    ["it was for a registered client", { clientDigest: digest }],
    ["it was for one that nobody registered", { before: { clientDigest: digest } }],
  ])("does not count, and is no first visit: %s", async (_, given) => {
    const { standing } = await standingOf({ before: {}, ...given });
    expect([standing.consent, standing.isFirstVisit]).toEqual([undefined, false]);
  });

  it.each([
    ["was looked up", true, ["endMarks.find", "consents.find"]],
    ["was not looked up", false, ["endMarks.find"]],
  ])("that is not there means a first visit only if it %s", async (_, withConsent, names) => {
    const { standing, calls } = await standingOf({ withConsent });
    expect([standing.consent, standing.isFirstVisit]).toEqual([undefined, withConsent]);
    expect(calls.map(([name]) => name)).toEqual(names);
  });
});

describe("the refusal of what was ended meanwhile", () => {
  it("is a no of the person for the client, and says to the host what has ended it (RFC 6749 §4.1.2.1)", () => {
    const { code, description, reason } = endedMeanwhile();
    expect({ code, description, reason }).toEqual({
      code: "access_denied",
      description: "The end user did not grant access.",
      reason:
        "while this request was under way, what it relies on was ended (auth.consents.revoke, auth.subjects, auth.clients)",
    });
  });
});
