// "Not you?" when a person, or someone else at the browser, does two things at once or does them late.
import type { Response } from "supertest";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Browser, formFields } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { stopClockForEachTest } from "../hosts/clock";
import { outcomeOf, yes } from "../browser/consent";
import { bob, signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";
import { callApi, consentKey } from "../browser/journey";
import { tokensOf } from "../requests/token-requests";

const clock = stopClockForEachTest();

const consentPath = `${pairPath()}/authorize/consent`;

/** Alice, before the consent page. */
async function open(fields: Record<string, string> = {}) {
  const host = testHost();
  const browser = host.browser();
  const page = await authorize(browser, { client: "web", fields });
  expect(outcomeOf(page)).toBe("asked");
  return { host, browser, page };
}

function press(browser: Browser, { page, decision }: { page: Response; decision: string }) {
  return browser.post(consentPath, { ...yes(page), decision });
}

/** Whose code the client was given last. */
function grantedTo({ events }: TestHost): readonly (string | undefined)[] {
  return events.flatMap((event) => (event.kind === "authorization-granted" ? [event.subject] : []));
}

describe('"Not you?" twice or beside an answer (OpenID Connect Core §3.1.2.1)', () => {
  it("by a double click leads to the sign-in page twice, of one and the same request", async () => {
    const { host, browser, page } = await open();
    const both = await Promise.all([browser.answer(page, "switch"), browser.answer(page, "switch")]);
    expect(both.map(outcomeOf)).toEqual(["/signin?interaction", "/signin?interaction"]);
    expect(new Set(both.map(interactionOf)).size).toBe(1);
    const next = await signIn({ browser, id: interactionOf(both[0]) }, "bob");
    expect(outcomeOf(await browser.answer(next, "approve"))).toBe("granted");
    expect(grantedTo(host)).toEqual(["bob"]);
  });

  it.each([
    ["granted", 400, ["approve", "switch"]],
    [400, "/signin?interaction", ["switch", "approve"]],
  ] as const)("at the same time as a yes: one of the two counts (%s, %s)", async (yesOf, switchOf, order) => {
    const { host, browser, page } = await open();
    const answers = await Promise.all(order.map((decision) => browser.answer(page, decision)));
    const [granted, asked] = order[0] === "approve" ? answers : answers.toReversed();
    expect([granted, asked].map((answer) => answer && outcomeOf(answer))).toEqual([yesOf, switchOf]);
    expect(grantedTo(host)).toEqual(yesOf === "granted" ? ["alice"] : []);
  });

  it("before a yes in another tab: Alice is still there, so it is hers", async () => {
    const { host, browser, page } = await open();
    await browser.answer(page, "switch");
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
    expect(grantedTo(host)).toEqual(["alice"]);
  });

  it("before a no in another tab ends the request: nobody can sign in for it any more", async () => {
    const { host, browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    expect(outcomeOf(await browser.answer(page, "deny"))).toBe("access_denied");
    const interaction = interactionOf(answer);
    expect((await browser.post("/signin", { interaction, subject: "bob" })).status).toBe(400);
    expect((await browser.get(resumePath(interaction))).status).toBe(400);
    expect(grantedTo(host)).toEqual([]);
  });

  it.each(["approve", "deny", "switch"])("leaves nothing to an old page of Alice: %s", async (decision) => {
    const { host, browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    await signIn({ browser, id: interactionOf(answer) }, "bob");
    const late = await press(browser, { page, decision });
    expect(outcomeOf(late)).toBe("asked");
    expect(late.text).toContain("<bdi>bob</bdi>");
    expect(grantedTo(host)).toEqual([]);
  });

  it("leaves the other tab's request as it was, which then asks Bob", async () => {
    const { host, browser, page } = await open({ state: "one" });
    const other = await authorize(browser, { client: "web", fields: { state: "two" } });
    const answer = await browser.answer(page, "switch");
    await signIn({ browser, id: interactionOf(answer) }, "bob");
    const asked = await browser.answer(other, "approve");
    expect(outcomeOf(asked)).toBe("asked");
    expect(redirectParameters(await browser.answer(asked, "approve"))["state"]).toBe("two");
    expect(grantedTo(host)).toEqual(["bob"]);
  });

  it("leaves one code that works for Bob alone", async () => {
    const { host, browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    const next = await signIn({ browser, id: interactionOf(answer) }, "bob");
    const { code = "" } = redirectParameters(await browser.answer(next, "approve"));
    const { access_token: token } = tokensOf(await redeem(host, { client: "web", code }));
    expect((await callApi(host, "/orders", token)).body).toMatchObject({ subject: "bob" });
  });
});

describe('"Not you?" too late (RFC 6749 §10.12)', () => {
  it("is over with the interaction, and so is the way back from the sign-in page", async () => {
    const { browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    clock.advance(24 * 3_600);
    expect((await browser.answer(page, "switch")).status).toBe(400);
    expect((await browser.get(resumePath(interactionOf(answer)))).status).toBe(400);
  });

  it("lets no page be answered that was shown before a withdrawal", async () => {
    const { host, browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    await host.auth.consents.revoke(consentKey({}));
    const again = await browser.get(resumePath(interactionOf(answer)));
    expect(outcomeOf(again)).toBe("asked");
    expect((await browser.answer(page, "approve")).status).toBe(400);
    expect(outcomeOf(await browser.answer(again, "switch"))).toBe("/signin?interaction");
  });

  it.each([
    ["alice", 200],
    ["bob", 400],
  ])("asks Bob once, whatever %s has withdrawn before", async (subject, oldPage) => {
    const host = testHost();
    await host.auth.consents.revoke({ ...consentKey({}), subject });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const answer = await browser.answer(page, "switch");
    const next = await signIn({ browser, id: interactionOf(answer) }, "bob");
    expect(next.text).toContain("<bdi>bob</bdi>");
    expect(browser.cookies.size).toBe(1);
    // the page of Alice is never an answer: Bob's is shown again, or has another id
    expect((await browser.answer(page, "approve")).status).toBe(oldPage);
    expect(outcomeOf(await browser.answer(next, "approve"))).toBe("granted");
    expect(grantedTo(host)).toEqual(["bob"]);
  });

  it("still leads away when Alice has signed out elsewhere, or Bob has signed in", async () => {
    for (const session of [signedOut, bob]) {
      const { host, browser, page } = await open();
      host.session = session;
      expect(outcomeOf(await browser.answer(page, "switch"))).toBe("/signin?interaction");
      expect(grantedTo(host)).toEqual([]);
    }
  });
});

/** Alice has said yes, and her form is sent once more when Bob has signed in: the page that he sees. */
async function repeatedAsBob() {
  const { host, browser, page } = await open();
  expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  host.session = bob;
  const asked = await browser.answer(page, "approve");
  expect(outcomeOf(asked)).toBe("asked");
  expect(asked.text).toContain("<bdi>Bob</bdi>");
  return { host, browser, asked };
}

describe("an answer that is sent again when somebody else has signed in (RFC 6749 §10.2)", () => {
  it.each([
    ["approve", "granted", ["alice", "bob"]],
    ["deny", "access_denied", ["alice"]],
    ["switch", "/signin?interaction", ["alice"]],
  ] as const)(
    "a repeated yes after the account changed: the new person can say no (%s)",
    async (decision, outcome, granted) => {
      const { host, browser, asked } = await repeatedAsBob();
      expect(outcomeOf(await browser.answer(asked, decision))).toBe(outcome);
      expect(grantedTo(host)).toEqual(granted);
    },
  );

  it("leaves the new person the time of any page, and not the moment in which an answer can be repeated", async () => {
    const { browser, asked } = await repeatedAsBob();
    clock.advance(60);
    expect(outcomeOf(await browser.answer(asked, "deny"))).toBe("access_denied");
    expect((await browser.answer(asked, "approve")).status).toBe(400);
  });

  it("ends with the request: nobody gets more time than it had", async () => {
    const { browser, asked } = await repeatedAsBob();
    clock.advance(600);
    expect((await browser.answer(asked, "deny")).status).toBe(400);
  });
});

describe('"Not you?" and what the client demands of a sign-in (OpenID Connect Core §3.1.2.1)', () => {
  /** Bob, whose session is older than this request. */
  const oldBob = { ...bob, authTime: signedIn.authTime };

  it.each<[string, Record<string, string>]>([
    ["prompt=login", { prompt: "login" }],
    ["max_age", { max_age: "60" }],
  ])("lets no old session of the other account pass: %s", async (_, fields) => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const page = await signIn({ browser, id: interactionOf(first) });
    const answer = await browser.answer(page, "switch");
    host.session = oldBob;
    const back = await browser.get(resumePath(interactionOf(answer)));
    expect(outcomeOf(back)).toBe("/signin?interaction");
    expect(host.asked.at(-1)?.reauthenticate).toBe(true);
  });

  it("takes an old session of the other account where the client demands nothing", async () => {
    const { host, browser, page } = await open();
    const answer = await browser.answer(page, "switch");
    host.session = oldBob;
    const back = await browser.get(resumePath(interactionOf(answer)));
    expect(back.text).toContain("<bdi>Bob</bdi>");
  });
});

describe("a wish for another account that is no form of ours (RFC 6749 §10.12)", () => {
  it("as a link is refused: the path has POST only", async () => {
    const { browser, page } = await open();
    const response = await browser.get(consentPath, { ...formFields(page.text), decision: "switch" });
    expect(response.status).toBe(405);
  });

  it("from an attacker's own page, in the victim's browser, finds no request", async () => {
    const attacker = await open();
    const { browser } = await open();
    const answer = await press(browser, { page: attacker.page, decision: "switch" });
    expect(answer.status).toBe(400);
  });

  it("with the victim's interaction and the attacker's proof shows the page again", async () => {
    const { host, browser, page } = await open();
    const attackers = await authorize(host.browser(), { client: "web" });
    const { form_token: token } = formFields(attackers.text);
    const answer = await browser.post(consentPath, { ...yes(page), decision: "switch", form_token: token });
    expect(outcomeOf(answer)).toBe("asked");
  });

  it.each([["SWITCH"], ["switch "], [""], ["constructor"]])(
    "with the decision %j is no answer",
    async (decision) => {
      const { browser, page } = await open();
      expect((await press(browser, { page, decision })).status).toBe(400);
    },
  );

  it("for a request that was changed in the cookie is refused", async () => {
    const { browser, page } = await open();
    for (const [name, value] of browser.cookies) {
      const [payload = "", ...seal] = value.slice(value.startsWith("s%3A") ? 4 : 2).split(".");
      const pending = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
      const forged = Buffer.from(JSON.stringify({ ...pending, consentSubject: "bob" })).toString("base64url");
      browser.cookies.set(name, `s:${[forged, ...seal].join(".")}`);
    }
    expect((await press(browser, { page, decision: "switch" })).status).toBe(400);
  });
});
