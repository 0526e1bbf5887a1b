import { origin, pairPath } from "../hosts/apis";
import { authorize } from "../browser/authorize";
import { encode, formFields } from "../browser/browser";
import { stopClockForEachTest } from "../hosts/clock";
import { bothScopes, expectNothingGranted, outcomeOf, postAnswer, showPage, yes } from "../browser/consent";
import { bob, signedIn } from "../hosts/host";

stopClockForEachTest();

describe("the form_token of the built-in page (RFC 6749 §10.12, 9700 §4.7)", () => {
  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["guessed", "A".repeat(43)],
    ["too short", "A"],
    ["beyond ASCII", "é".repeat(43)],
  ])("with a form_token that is %s: the page is shown again", async (_, formToken) => {
    const visit = await showPage();
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: formToken });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with a repeated form_token: the page is shown again", async () => {
    const visit = await showPage();
    const { form_token: token = "" } = formFields(visit.page.text);
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: [token, token] });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with the form_token of another interaction", async () => {
    const visit = await showPage();
    const other = await authorize(visit.browser, { client: "web", fields: bothScopes });
    const { form_token: token } = formFields(other.text);
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: token });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with the form_token of another end user", async () => {
    const visit = await showPage();
    visit.host.session = bob;
    const { interaction = "" } = formFields(visit.page.text);
    const bobsPage = await visit.browser.get(`${pairPath()}/authorize/resume?interaction=${interaction}`);
    const { form_token: token } = formFields(bobsPage.text);
    expect(token).not.toBe(formFields(visit.page.text)["form_token"]);
    visit.host.session = signedIn;
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: token });
    expect(outcomeOf(answer)).toBe("asked");
    expect(answer.text).toContain("<bdi>Alice</bdi>");
    await expectNothingGranted(visit);
  });

  it("with the whole form of the attacker's own page", async () => {
    const visit = await showPage();
    const attacker = visit.host.browser();
    visit.host.session = bob;
    const theirs = await authorize(attacker, { client: "other" });
    visit.host.session = signedIn;
    const answer = await visit.browser.post(`${pairPath()}/authorize/consent`, yes(theirs));
    expect(answer.status).toBe(400);
    await expectNothingGranted(visit);
  });

  it("may not deny either", async () => {
    const visit = await showPage();
    const answer = await visit.browser.answer(visit.page, "deny", { form_token: "A".repeat(43) });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });
});

describe("forged answers on the built-in page (RFC 6749 §10.12, 9700 §4.7)", () => {
  it.each([
    ["from another site", { Origin: "https://evil.example" }],
    ["from a sibling domain", { Origin: "https://evil.host.example" }],
    ["from the client's own site", { Origin: "https://web.example" }],
    ["from the host over http", { Origin: "http://host.example" }],
    ["from another port", { Origin: "https://host.example:444" }],
    ["from a sandboxed frame", { Origin: "null" }],
    [
      "from another site that says it is same-origin",
      { Origin: "https://evil.example", "Sec-Fetch-Site": "same-origin" },
    ],
    ["without Origin, from another site", { "Sec-Fetch-Site": "cross-site" }],
    ["without Origin, from a sibling domain", { "Sec-Fetch-Site": "same-site" }],
  ])("%s: refused on a page", async (_, headers) => {
    const visit = await showPage();
    const answer = await postAnswer(visit, yes(visit.page), headers);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("The form was not sent from this site.");
    expect(answer.headers["location"]).toBeUndefined();
    expect(answer.headers["set-cookie"]).toBeUndefined();
    await expectNothingGranted(visit);
  });

  it.each([
    ["a browser that names the origin", { Origin: origin }],
    ["a browser that sends no Origin but Sec-Fetch-Site", { "Sec-Fetch-Site": "same-origin" }],
    ["a browser that says nothing", {}],
  ])("but the page's own form counts in %s", async (_, headers) => {
    const visit = await showPage();
    expect(outcomeOf(await postAnswer(visit, yes(visit.page), headers))).toBe("granted");
  });

  it("without the cookie: refused on a page", async () => {
    const visit = await showPage();
    const answer = await visit.host.browser().post(`${pairPath()}/authorize/consent`, yes(visit.page));
    expect(answer.status).toBe(400);
    await expectNothingGranted(visit);
  });

  it.each([
    ["missing", undefined],
    ["unknown", "A".repeat(22)],
  ])("with an interaction that is %s: refused on a page", async (_, interaction) => {
    const visit = await showPage();
    expect((await visit.browser.answer(visit.page, "approve", { interaction })).status).toBe(400);
    await expectNothingGranted(visit);
  });

  it("in the URL instead of the form: refused on a page", async () => {
    const visit = await showPage();
    const path = `${pairPath()}/authorize/consent?${encode(yes(visit.page))}`;
    expect((await visit.browser.post(path)).status).toBe(400);
    await expectNothingGranted(visit);
  });
});
