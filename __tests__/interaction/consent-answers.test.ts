// The answers of consent pages, ours and the host's, and to whom they are bound.
import { createHmac } from "node:crypto";
import type { EndUser } from "../../lib/end-user/port";
import {
  asksForAccount,
  choosingAccount,
  consentFormToken,
  consentFormTokenMatches,
  formDecision,
  hostDecision,
  isShownForm,
  notFromOurPage,
  withoutAnswer,
} from "../../lib/interaction/consent-answers";
import type { PageAnswer, PendingRequest } from "../../lib/interaction/pending-request";
import { scopeField } from "../../lib/pages/consent-page";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { issuerRecord, pendingRecord } from "../records/records";

const secrets = ["new secret", "old secret"];
const asked = pendingRecord({
  parameters: { client_id: "web" },
  shownScopes: ["orders:read", "orders:write"],
  consentSubject: "alice",
});
const alice: EndUser = { subject: "alice", displayName: "Alice", facts: {}, context: undefined };
const aliceAtWork: EndUser = { ...alice, context: { key: "work" } };
const bob: EndUser = { ...alice, subject: "bob" };

function tokenOf(pending: PendingRequest, endUser: EndUser, secret = "new secret"): string {
  const { subject, context } = endUser;
  return consentFormToken({ ...pending, consentSubject: subject, contextKey: context?.key }, secret);
}

function decisionOf(fields: object, answer: PageAnswer = "approve", pending = asked) {
  return formDecision(parametersFromObject(fields), {
    answer,
    found: { pending, issuer: issuerRecord() },
    secrets,
  });
}

describe("the token of a consent form (RFC 6749 §10.12)", () => {
  it("is made for this purpose only, and stays the same from version to version", () => {
    const bound = '["authmount consent form","IIIIIIIIIIIIIIIIIIIIII","alice","",[]]';
    expect(tokenOf(asked, alice)).toBe(createHmac("sha256", "new secret").update(bound).digest("base64url"));
  });

  it.each<[string, string | undefined, boolean]>([
    ["the first secret", tokenOf(asked, alice), true],
    ["an earlier secret", tokenOf(asked, alice, "old secret"), true],
    ["another secret", tokenOf(asked, alice, "foreign"), false],
    ["another person", tokenOf(asked, bob), false],
    ["another context", tokenOf(asked, aliceAtWork), false],
    ["an earlier page", tokenOf({ ...asked, endMarks: ["mark"] }, alice), false],
    ["another request", tokenOf({ ...asked, interactionId: "J".repeat(22) }, alice), false],
    ["nobody", undefined, false],
  ])("counts for one form and one person: of %s", (_, token, matches) => {
    expect(consentFormTokenMatches(token, { binding: asked, secrets })).toBe(matches);
  });
});

describe("the answer in a consent form", () => {
  it.each<[string, EndUser, boolean]>([
    ["the one who was asked", alice, true],
    ["somebody else", bob, false],
    ["the same person in another context", aliceAtWork, false],
  ])("is that of %s: %#", (_, endUser, isTheirs) => {
    expect(decisionOf({ form_token: tokenOf(asked, alice) }).isBy(endUser)).toBe(isTheirs);
  });

  it.each<[string, object, PageAnswer, readonly string[] | "denied"]>([
    ["the ticked scopes", { [scopeField(1)]: "on", [scopeField(0)]: "off" }, "approve", ["orders:write"]],
    ["nothing", {}, "approve", []],
    ["a no, whatever is ticked", { [scopeField(0)]: "on" }, "deny", "denied"],
  ])("allows %s", (_, fields, answer, allowed) => {
    expect(decisionOf(fields, answer).answer(asked.shownScopes)).toEqual(allowed);
  });

  it.each([
    [asked, []],
    [{ ...asked, endMarks: ["mark"] }, ["mark"]],
  ])("was given under the end marks of its page", (pending, endMarks) => {
    expect(decisionOf({}, "approve", pending).endMarks).toEqual(endMarks);
    expect(hostDecision({}, pending).endMarks).toEqual(endMarks);
  });

  it("tells the developer why a form is refused", () => {
    expect(notFromOurPage()).toMatchObject({
      description: "The form was not sent from this site.",
      code: "form-of-another-site",
      situation: "answer",
    });
    expect(withoutAnswer()).toMatchObject({
      description: "The form has no answer.",
      code: "form-without-answer",
      situation: "answer",
    });
  });
});

describe("the form that was shown last", () => {
  const { consentSubject: _, ...notAsked } = asked;
  const nobody = { ...alice, subject: undefined } as unknown as EndUser;

  it.each<[string, PendingRequest, string | undefined, boolean]>([
    ["the form", asked, tokenOf(asked, alice), true],
    ["a form without a token", asked, undefined, false],
    ["the form of somebody else", asked, tokenOf(asked, bob), false],
    ["a form although nobody was asked", notAsked, tokenOf(notAsked, alice), false],
    ["a form for nobody although nobody was asked", notAsked, tokenOf(notAsked, nobody), false],
  ])("is known by its token: %s", (_name, pending, token, isShown) => {
    expect(isShownForm(parametersFromObject({ form_token: token }), { pending, secrets })).toBe(isShown);
  });

  it.each([
    ["switch", true],
    ["approve", false],
    ["", false],
  ])("asks for another account by decision=%s", (decision, asks) => {
    expect(asksForAccount(parametersFromObject({ decision }))).toBe(asks);
  });

  it.each([
    [undefined, "select_account"],
    ["login consent", "login consent select_account"],
    ["select_account", "select_account"],
    ["unknown", "select_account"],
  ])("adds the wish to the prompt %s (OpenID Connect Core §3.1.2.1)", (prompt, wanted) => {
    const parameters = { client_id: "web", ...(prompt !== undefined && { prompt }) };
    expect(choosingAccount({ ...asked, parameters }).parameters).toEqual({
      client_id: "web",
      prompt: wanted,
    });
  });
});
