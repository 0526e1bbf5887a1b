// A person answers a page that was shown to somebody else, in another context, or before another page of the same request. The answer does
// not count, and must not lead to what an earlier consent or the host allows here: it may have been a no (RFC 6749 §10.2, 9700 §4.11.2).
import type { Response } from "supertest";
import { authorize } from "../browser/authorize";
import { type Browser, formFields } from "../browser/browser";
import { stopClockForEachTest } from "../hosts/clock";
import { bothScopes, grantedScopes, onOwnPage, outcomeOf, rememberedScopes } from "../browser/consent";
import { aliceIn, before, bikes, contextHost, tea } from "../hosts/contexts";
import { newLatch } from "../storage/latch";
import { intercept } from "../storage/slow-storage";
import { clients } from "../hosts/clients";
import { type Authentication, memoryStorage } from "../../lib";
import { bob, signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";

stopClockForEachTest();

const ask = (browser: Browser): Promise<Response> =>
  authorize(browser, { client: "web", fields: bothScopes });

/** Whoever is signed in now allows both scopes, in another tab. */
async function allowElsewhere(host: TestHost): Promise<void> {
  const browser = host.browser();
  expect(outcomeOf(await browser.answer(await ask(browser), "approve"))).toBe("granted");
}

/** The same page, shown again in this browser. */
function again(browser: Browser, page: Response): Promise<Response> {
  return browser.get(resumePath(formFields(page.text)["interaction"] ?? ""));
}

/** A page that was shown in the first session, and is answered in the second one, which has a consent. */
async function changedSince({ shown, now }: { shown: Authentication; now: Authentication }) {
  const host = testHost();
  host.session = now;
  await allowElsewhere(host);
  host.session = shown;
  const browser = host.browser();
  const page = await ask(browser);
  host.session = now;
  return { host, browser, page };
}

const changes = [
  ["another context", aliceIn(tea), aliceIn(bikes)],
  ["somebody else", signedIn, bob],
] as const;

describe.each(changes)("an answer on the built-in page, where %s has a consent by now", (_, shown, now) => {
  it("with nothing ticked: the page is shown again", async () => {
    const { browser, page } = await changedSince({ shown, now });
    const answer = await browser.answer(page, "approve", { scope_0: undefined, scope_1: undefined });
    expect(outcomeOf(answer)).toBe("asked");
  });

  it("with less ticked: the page is shown again", async () => {
    const { host, browser, page } = await changedSince({ shown, now });
    expect(outcomeOf(await browser.answer(page, "approve", { scope_1: undefined }))).toBe("asked");
    const { subject } = now as { subject: string };
    expect(await rememberedScopes(host, subject)).toEqual([["orders:read", "orders:write"]]);
  });

  it("with a no on the first of two pages: the page is shown again, and a no there is one", async () => {
    const host = testHost();
    host.session = shown;
    const browser = host.browser();
    const first = await ask(browser);
    host.session = now;
    expect(outcomeOf(await again(browser, first))).toBe("asked");
    await allowElsewhere(host);
    const shownAgain = await browser.answer(first, "deny");
    expect(outcomeOf(shownAgain)).toBe("asked");
    expect(outcomeOf(await browser.answer(shownAgain, "deny"))).toBe("access_denied");
  });
});

describe("an answer on a page of the host, in another context by now", () => {
  it("is no answer, though this context has a consent: the page is shown again", async () => {
    const made = contextHost(onOwnPage);
    const { host } = made;
    host.session = aliceIn(bikes);
    const elsewhere = host.browser();
    await elsewhere.post("/choose", { interaction: await before(elsewhere) });
    host.session = aliceIn(tea);
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = aliceIn(bikes);
    made.approval = { scopes: [] };
    expect(outcomeOf(await browser.post("/choose", { interaction }))).toBe("/ask?interaction");
  });

  it.each([
    ["is asked on the built-in page, though consent.decide grants", undefined, "asked"],
    ["gets nothing, though consent.decide grants another context", { key: "org-cars" }, "access_denied"],
  ])("%s", async (_, context, outcome) => {
    const made = contextHost(onOwnPage);
    made.host.session = aliceIn(tea);
    const browser = made.host.browser();
    const interaction = interactionOf(await ask(browser));
    made.host.session = aliceIn(bikes);
    made.approval = { scopes: [] };
    made.answer = { kind: "granted", scopes: ["orders:read"], ...(context && { context }) };
    expect(outcomeOf(await browser.post("/choose", { interaction }))).toBe(outcome);
    expect(grantedScopes(made.host)).toBeUndefined();
  });
});

describe("an answer on a page whose session has ended by then, where the person has allowed all in another tab", () => {
  const none = { scope_0: undefined, scope_1: undefined };

  it.each([
    ["nothing ticked", none],
    ["less ticked", { scope_1: undefined }],
  ])("with %s: after the sign-in the page is shown again", async (_, ticked) => {
    const host = testHost();
    const browser = host.browser();
    const page = await ask(browser);
    await allowElsewhere(host);
    host.session = signedOut;
    const answer = await browser.answer(page, "approve", ticked);
    const shownAgain = await signIn({ browser, id: interactionOf(answer) });
    expect(outcomeOf(shownAgain)).toBe("asked");
    // and also when that page is only reloaded
    expect(outcomeOf(await again(browser, shownAgain))).toBe("asked");
    expect(outcomeOf(await browser.answer(shownAgain, "approve", none))).toBe("access_denied");
  });

  it("with a yes: after the sign-in the page is shown again, and a yes there counts", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await ask(browser);
    host.session = signedOut;
    const answer = await browser.answer(page, "approve");
    const shownAgain = await signIn({ browser, id: interactionOf(answer) });
    expect(outcomeOf(shownAgain)).toBe("asked");
    expect(outcomeOf(await browser.answer(shownAgain, "approve"))).toBe("granted");
  });

  it("on a page of the host: after the sign-in it is shown again", async () => {
    const made = contextHost(onOwnPage);
    const { host } = made;
    const browser = host.browser();
    const [one, other] = [await before(browser), await before(browser)];
    await browser.post("/choose", { interaction: other });
    host.session = signedOut;
    made.approval = { scopes: [] };
    const answer = await browser.post("/choose", { interaction: one });
    expect(outcomeOf(await signIn({ browser, id: interactionOf(answer) }))).toBe("/ask?interaction");
  });

  it("where consent.decide grants meanwhile: after the sign-in the person is asked", async () => {
    const made = contextHost(onOwnPage);
    const { host } = made;
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = signedOut;
    made.approval = { scopes: [] };
    const answer = await browser.post("/choose", { interaction });
    made.answer = { kind: "granted", scopes: ["orders:read"] };
    expect(outcomeOf(await signIn({ browser, id: interactionOf(answer) }))).toBe("asked");
  });
});

describe('"Not you?" on the first of two pages, the second of which was shown to somebody else', () => {
  it("gives the client nothing: the page is shown again, to who is signed in", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await ask(browser);
    host.session = bob;
    expect(outcomeOf(await again(browser, page))).toBe("asked");
    await allowElsewhere(host);
    expect(outcomeOf(await browser.answer(page, "switch"))).toBe("asked");
    expect(host.events.filter(({ kind }) => kind === "authorization-granted")).toHaveLength(1);
  });
});

describe("two consent pages that are answered at once", () => {
  it("what one of them unticks is not remembered by the other", async () => {
    const [begun, late] = [newLatch(), newLatch()];
    let isSlow = false;
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, run) => {
      if (name !== "consents.save" || !isSlow) return run();
      isSlow = false;
      begun.open();
      await late.opened;
      return run();
    });
    const host = testHost({ storage, revocationLagSeconds: 0 });
    await allowElsewhere(host);
    const browser = host.browser();
    const pageFor = (scope: string): Promise<Response> =>
      authorize(browser, { client: "web", fields: { scope, prompt: "consent" } });
    const [one, other] = [await pageFor("orders:read"), await pageFor("orders:read orders:write")];
    isSlow = true;
    const first = browser.answer(one, "approve");
    await begun.opened;
    expect(outcomeOf(await browser.answer(other, "approve", { scope_1: undefined }))).toBe("granted");
    late.open();
    // it has read what was remembered before
    expect(outcomeOf(await first)).toBe("access_denied");
    const silent = { scope: "orders:write", prompt: "none" };
    expect(outcomeOf(await authorize(browser, { client: "web", fields: silent }))).toBe("consent_required");
  });
});
