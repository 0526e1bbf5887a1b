import type { Response } from "supertest";
import type { Interaction } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Browser, type Fields, formFields } from "../browser/browser";
import { stopClockForEachTest } from "../hosts/clock";
import { allow, outcomeOf, postAnswer, rememberedScopes, showPage, yes } from "../browser/consent";
import { bob, signedIn, type TestHost, testHost, type TestHostOptions } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";
import { watchedHost } from "../hosts/watched-host";

stopClockForEachTest();

/** Alice, before the consent page of a request with these fields. */
async function open(host: TestHost, fields: Record<string, string> = {}) {
  const browser = host.browser();
  const page = await authorize(browser, { client: "web", fields });
  expect(outcomeOf(page)).toBe("asked");
  return { host, browser, page };
}

/** Alice asks for another account. */
async function ask(
  options: TestHostOptions = {},
  fields: Record<string, string> = {},
): Promise<{ host: TestHost; browser: Browser; page: Response; answer: Response }> {
  const opened = await open(testHost(options), fields);
  return { ...opened, answer: await opened.browser.answer(opened.page, "switch") };
}

describe('"Not you?" on the consent page (OpenID Connect Core §3.1.2.1, select_account)', () => {
  it("leads to the host's sign-in page, although Alice is signed in", async () => {
    const { host, page, answer } = await ask();
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toBe(`/signin?interaction=${formFields(page.text)["interaction"]}`);
    expect(host.asked.at(-1)).toEqual({ reauthenticate: true, prompt: ["select_account"] });
  });

  it("asks the person who signs in there, and gives the client their code", async () => {
    const { host, browser, answer } = await ask();
    const page = await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(page.text).toContain("Signed in as <bdi>bob</bdi>");
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", subject: "bob" });
    expect(await rememberedScopes(host, "alice")).toEqual([]);
  });

  it("keeps the request as it was: its state and its scopes", async () => {
    const { browser, answer } = await ask({}, { state: "mine", scope: "orders:write" });
    const page = await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(page.text).toContain("Change your orders");
    expect(page.text).not.toContain("See your orders");
    expect(redirectParameters(await browser.answer(page, "approve"))["state"]).toBe("mine");
  });

  it("lets Alice come back as herself, without a loop", async () => {
    const { host, browser, answer } = await ask();
    const page = await browser.get(resumePath(interactionOf(answer)));
    expect(page.text).toContain("Signed in as <bdi>Alice</bdi>");
    expect(host.asked.at(-1)?.reauthenticate).toBe(false);
    expect(host.events.some(({ kind }) => kind === "sign-in-repeated")).toBe(false);
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  });

  it("can be asked for again and again, and twice by an impatient person", async () => {
    const { browser, page, answer } = await ask();
    expect(outcomeOf(await browser.answer(page, "switch"))).toBe("/signin?interaction");
    const anew = await browser.get(resumePath(interactionOf(answer)));
    expect(outcomeOf(await browser.answer(anew, "switch"))).toBe("/signin?interaction");
  });

  it("tells the host's page of the wish, beside what the client wants", async () => {
    const { host, browser, answer } = await ask({}, { prompt: "consent" });
    expect(host.asked.at(-1)?.prompt).toEqual(["consent", "select_account"]);
    const { body } = await browser.follow(answer);
    expect((body as Interaction).prompt).toEqual(["consent", "select_account"]);
  });

  it("says what is wanted once, if the client wants it too", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { prompt: "select_account" } });
    const page = await browser.get(resumePath(interactionOf(first)));
    await browser.answer(page, "switch");
    expect(host.asked.at(-1)).toEqual({ reauthenticate: true, prompt: ["select_account"] });
  });

  it("accepts a sign-in with prompt=login and max_age, and asks nobody twice", async () => {
    const host = testHost();
    const browser = host.browser();
    const fields = { prompt: "login", max_age: "60" };
    const first = await authorize(browser, { client: "web", fields });
    const page = await signIn({ browser, id: interactionOf(first) });
    const answer = await browser.answer(page, "switch");
    const next = await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(next.text).toContain("<bdi>bob</bdi>");
  });

  it("counts as one request in the events", async () => {
    const { host, browser, answer } = await ask();
    await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(host.events.filter(({ kind }) => kind === "authorization-requested")).toHaveLength(1);
  });

  it("grants at once what the other person has allowed before", async () => {
    const host = testHost();
    host.session = bob;
    await allow(host);
    host.session = signedIn;
    const { browser, page } = await open(host);
    const answer = await browser.answer(page, "switch");
    expect(outcomeOf(await signIn({ browser, id: interactionOf(answer) }, "bob"))).toBe("granted");
  });

  it("ends at the client when the host knows no other account, and tells the developer", async () => {
    const host = testHost();
    host.session = () => signedIn;
    const { browser, page } = await open(host);
    const answer = redirectParameters(await browser.answer(page, "switch"));
    expect(answer["error"]).toBe("interaction_required");
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      code: "account-not-chosen",
    });
    expect((await browser.answer(page, "approve")).status).toBe(400);
  });

  it("ends at the client when the host denies", async () => {
    const host = testHost();
    const { browser, page } = await open(host);
    host.session = { kind: "denied" };
    expect(outcomeOf(await browser.answer(page, "switch"))).toBe("access_denied");
  });

  it("shows nothing to a request with prompt=none, which never sees the page", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { prompt: "none" } });
    expect(redirectParameters(response)["error"]).toBe("consent_required");
  });

  it("is over once the page was answered", async () => {
    const { browser, page } = await open(testHost());
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
    expect((await browser.answer(page, "switch")).status).toBe(400);
  });

  it("is on the page in a form of its own, so that Enter among the scopes never presses it", async () => {
    const { page } = await open(testHost());
    const forms = page.text.split("<form").slice(1);
    expect(
      forms.map((form) => [...form.matchAll(/value="(switch|approve|deny)"/g)].map(([, v]) => v)),
    ).toEqual([["switch"], ["approve", "deny"]]);
  });
});

/** The fields of the form, with the wish for another account. */
function switching(page: Response): Fields {
  return { ...yes(page), decision: "switch" };
}

describe("a forged wish for another account (RFC 6749 §10.12, 9700 §4.7)", () => {
  it.each([
    ["missing", undefined],
    ["guessed", "A".repeat(43)],
  ])("with a form_token that is %s sends nobody away: the page is shown again", async (_, formToken) => {
    const { host, browser, page } = await showPage();
    const answer = await browser.answer(page, "switch", { form_token: formToken });
    expect(outcomeOf(answer)).toBe("asked");
    expect(host.asked.every(({ reauthenticate }) => !reauthenticate)).toBe(true);
  });

  it("with the form_token of another interaction sends nobody away", async () => {
    const { browser, page } = await showPage();
    const other = await authorize(browser, { client: "web" });
    const { form_token: token } = formFields(other.text);
    expect(outcomeOf(await browser.answer(page, "switch", { form_token: token }))).toBe("asked");
  });

  it("with the form of another person's page shows the page of the one who is signed in", async () => {
    const { host, browser, page } = await showPage();
    host.session = bob;
    await browser.get(`${pairPath()}/authorize/resume?interaction=${formFields(page.text)["interaction"]}`);
    const answer = await browser.answer(page, "switch");
    expect(outcomeOf(answer)).toBe("asked");
    expect(answer.text).toContain("<bdi>Bob</bdi>");
  });

  it.each([
    ["from another site", { Origin: "https://evil.example" }],
    ["without Origin, from another site", { "Sec-Fetch-Site": "cross-site" }],
    ["from a sandboxed frame", { Origin: "null" }],
  ])("%s is refused on a page", async (_, headers) => {
    const visit = await showPage();
    const answer = await postAnswer(visit, switching(visit.page), headers);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("The form was not sent from this site.");
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  it("without the cookie is refused on a page", async () => {
    const { host, page } = await showPage();
    const answer = await host.browser().post(`${pairPath()}/authorize/consent`, switching(page));
    expect(answer.status).toBe(400);
  });

  it("at another issuer is refused on a page", async () => {
    const { browser, page } = await showPage();
    const elsewhere = `${pairPath({ method: "otp" })}/authorize/consent`;
    expect((await browser.post(elsewhere, switching(page))).status).toBe(400);
  });

  it("beside a yes is no answer", async () => {
    const { browser, page } = await showPage();
    const fields = { ...yes(page), decision: ["switch", "approve"] };
    expect((await browser.post(`${pairPath()}/authorize/consent`, fields)).status).toBe(400);
  });

  it("grants nothing, and stores that the page is closed, whoever comes back", async () => {
    const { host, writes } = watchedHost();
    const { browser, page } = await open(host);
    const answer = await browser.answer(page, "switch", { scope_0: "on" });
    await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(writes).toEqual(["endMarks.save"]);
  });

  it("leaves no page behind that counts: Alice's old form is not Bob's answer", async () => {
    const { browser, page } = await showPage();
    const answer = await browser.answer(page, "switch");
    await signIn({ browser, id: interactionOf(answer) }, "bob");
    const stale = await browser.answer(page, "approve");
    expect(outcomeOf(stale)).toBe("asked");
    expect(stale.text).toContain("<bdi>bob</bdi>");
  });
});
