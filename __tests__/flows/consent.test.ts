import { apis, issuer, origin, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import {
  allow,
  bothScopes,
  expectNothingGranted,
  grantedScopes,
  outcomeOf,
  outcomeOfVisit,
  postAnswer,
  rememberedScopes,
  showPage,
  yes,
} from "../browser/consent";
import { bob, signedIn, signedOut, testHost } from "../hosts/host";
import { watchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

describe("the built-in page (RFC 6749 §10.2)", () => {
  it("says who asks for what, for whom, and where it leads", async () => {
    const page = await authorize(testHost().browser(), { client: "web", fields: bothScopes });
    expect(page.status).toBe(200);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.text).toContain("<h1>Allow <bdi>Web Shop</bdi> to access <bdi>Orders</bdi>?</h1>");
    expect(page.text).toContain("<bdi>Alice</bdi>");
    expect(page.text).toContain("<span>See your orders</span>");
    expect(page.text).toContain("<span>Change your orders</span>");
    expect(page.text).toContain("Either way, you will be taken to <bdi>https://web.example</bdi>.");
  });

  it("shows the scopes that were asked for and no others", async () => {
    const page = await authorize(testHost().browser(), { client: "web" });
    expect(page.text).toContain("See your orders");
    expect(page.text).not.toContain("Change your orders");
  });

  it("calls an API by its id and an end user by their subject when they have no name", async () => {
    const { name: _, ...nameless } = apis["orders"]!;
    const host = testHost({ apis: { ...apis, orders: nameless } });
    host.session = { kind: "authenticated", subject: "subject-17" };
    const page = await authorize(host.browser(), { client: "web" });
    expect(page.text).toContain("Allow Web Shop to access orders?");
    expect(page.text).toContain("<bdi>subject-17</bdi>");
  });

  it("links to what the client says about itself", async () => {
    const links = {
      clientUri: "https://web.example/about",
      policyUri: "https://web.example/privacy",
      tosUri: "https://web.example/terms",
    };
    const host = testHost({ clients: [{ ...clients.web, ...links }, clients.spa] });
    const page = await authorize(host.browser(), { client: "web" });
    const hrefs = [...page.text.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href);
    expect(hrefs).toEqual(Object.values(links));
    expect((await authorize(host.browser(), { client: "spa" })).text).not.toContain("<a ");
  });

  it("names a native client's scheme as where it leads", async () => {
    const page = await authorize(testHost().browser(), { client: "native" });
    expect(page.text).toContain("Either way, you will be taken to <bdi>com.example.phone:</bdi>.");
  });

  it("has two forms that post what they need: for another account, and for the answer with every scope ticked", async () => {
    const browser = testHost().browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    const form = `<form method="post" action="${issuer}/authorize/consent">`;
    expect(page.text.match(/<form[^>]*>/g)).toEqual([form, form]);
    const [cookie = ""] = browser.cookies.keys();
    expect(formFields(page.text)).toEqual({
      interaction: cookie.slice("__Host-authmount.".length),
      form_token: expect.stringMatching(/^[\w-]{43}$/),
      scope_0: "on",
      scope_1: "on",
    });
    expect(page.text.match(/<button[^>]*>[^<]*/g)).toEqual([
      '<button class="plain" name="decision" value="switch">Not you? Use another account',
      '<button class="primary" name="decision" value="approve">Allow',
      '<button name="decision" value="deny">Don’t allow',
    ]);
  });

  it("can be read by a screen reader and on a narrow screen", async () => {
    const page = await authorize(testHost().browser(), { client: "web", fields: bothScopes });
    expect(page.text).toContain('<html lang="en" dir="ltr">');
    expect(page.text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(page.text).toContain("<title>Allow Web Shop to access Orders?</title>");
    expect(page.text.match(/<h1>/g)).toHaveLength(1);
    expect(page.text).toContain("<fieldset><legend>");
    expect(page.text.match(/<label><input type="checkbox"[^>]*> <span>[^<]+<\/span><\/label>/g)).toHaveLength(
      2,
    );
    expect(page.text).toContain("prefers-color-scheme: dark");
  });

  it("asks about an API without scopes too", async () => {
    const host = testHost();
    const asked = { client: "web", pair: { api: "files" }, fields: { scope: undefined } } as const;
    const browser = host.browser();
    const page = await authorize(browser, asked);
    expect(page.text).not.toContain("<fieldset>");
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
    expect(await rememberedScopes(host)).toEqual([[]]);
    expect(await outcomeOfVisit(host, asked)).toBe("granted");
  });
});

describe("a yes or a no on the built-in page (RFC 6749 §4.1.1, 9700 §4.12)", () => {
  it("yes: redirects with 303, code, state and iss", async () => {
    const browser = testHost().browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "approve");
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it("no: redirects with 303 and access_denied, and stores its mark alone", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "deny");
    expect(answer.status).toBe(303);
    expect(redirectParameters(answer)).toEqual({
      error: "access_denied",
      error_description: "The end user did not grant access.",
      state: "a state",
      iss: issuer,
    });
    expect(writes).toEqual(["endMarks.save"]);
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("carries neither framing headers nor a page", async () => {
    const browser = testHost().browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "approve");
    expect(answer.headers).not.toHaveProperty("x-frame-options");
    expect(answer.headers).not.toHaveProperty("content-security-policy");
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.text).toBe("");
  });

  it.each([
    ["the first", { scope_1: undefined }, "orders:read"],
    ["the second", { scope_0: undefined }, "orders:write"],
  ])("for %s scope only: the token has no other", async (_, fields, scope) => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve", fields));
    expect(grantedScopes(host)).toEqual([scope]);
    expect(await rememberedScopes(host)).toEqual([[scope]]);
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ scope });
  });

  it("yes with nothing ticked is a no", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: bothScopes });
    const none = { scope_0: undefined, scope_1: undefined };
    expect(outcomeOf(await browser.answer(page, "approve", none))).toBe("access_denied");
    expect(writes).toEqual(["endMarks.save"]);
  });

  it.each([
    ["a scope that was not asked for", { scope_1: "on", scope_2: "on" }],
    ["a scope by its name", { "orders:write": "on", scope: "orders:write" }],
    ["a field of every object", { ["__proto__"]: "on", constructor: "on" }],
    [
      "other parameters of a request",
      { client_id: "other", redirect_uri: "https://evil.example", state: "x" },
    ],
  ])("grants nothing more for %s", async (_, fields) => {
    const host = testHost();
    const browser = host.browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "approve", fields);
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
    expect(grantedScopes(host)).toEqual(["orders:read"]);
  });

  it("takes a repeated scope field for not ticked", async () => {
    const browser = testHost().browser();
    const page = await authorize(browser, { client: "web" });
    expect(outcomeOf(await browser.answer(page, "approve", { scope_0: ["on", "on"] }))).toBe("access_denied");
  });

  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["something else", "yes"],
    ["repeated", ["approve", "approve"]],
    ["contradictory", ["deny", "approve"]],
  ])("is refused on a page when the decision is %s, and may be given again", async (_, decision) => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const answer = await browser.answer(page, "approve", { decision });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("The form has no answer.");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  });

  it.each(["application/json", "text/plain", "multipart/form-data; boundary=x"])(
    "is refused on a page when it is sent as %s",
    async (type) => {
      const visit = await showPage();
      const answer = await postAnswer(visit, yes(visit.page), { Origin: origin, "Content-Type": type });
      expect(answer.status).toBe(400);
      expect(answer.text).toContain("The body must be application/x-www-form-urlencoded");
      await expectNothingGranted(visit);
    },
  );
});

describe("an answer on the built-in page that comes again or too late (RFC 6749 §4.1.1, 9700 §4.12)", () => {
  it("may be sent twice, one after the other: an impatient person's second click reaches the client too", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const first = redirectParameters(await browser.answer(page, "approve"))["code"] ?? "";
    clock.advance(29);
    const second = redirectParameters(await browser.answer(page, "approve"))["code"] ?? "";
    expect(second).not.toBe(first);
    for (const code of [first, second])
      expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it.each(["approve", "deny"] as const)("cannot be repeated half a minute after %s", async (decision) => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    await browser.answer(page, decision);
    clock.advance(20);
    await browser.answer(page, decision);
    clock.advance(10);
    writes.length = 0;
    const late = await browser.answer(page, decision);
    expect(late.status).toBe(400);
    expect(late.text).toContain("was already finished");
    expect(writes).toEqual([]);
  });

  it.each([
    ["approve", "deny"],
    ["deny", "approve"],
  ] as const)("cannot be changed from %s to %s", async (decision, other) => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    await browser.answer(page, decision);
    writes.length = 0;
    const changed = await browser.answer(page, other);
    expect(changed.status).toBe(400);
    expect(changed.text).toContain("was already finished");
    expect(writes).toEqual([]);
    expect((await browser.answer(page, decision)).status).toBe(303);
  });

  it("cannot be repeated for somebody who has signed in since", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    await browser.answer(page, "approve");
    writes.length = 0;
    host.session = { kind: "authenticated", subject: "bob" };
    const asked = await browser.answer(page, "approve");
    expect(asked.status).toBe(200);
    expect(asked.text).toContain("bob");
    expect(writes).toEqual([]);
  });

  it("may be sent twice at once: each answer has a code of its own that works", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const answers = await Promise.all([browser.answer(page, "approve"), browser.answer(page, "approve")]);
    const codes = answers.map((answer) => redirectParameters(answer)["code"] ?? "");
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it("is not taken at another pair, and stays good", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const form = { ...formFields(page.text), decision: "approve" };
    for (const pair of [{ method: "otp" }, { api: "files" }] as const) {
      expect((await browser.post(`${pairPath(pair)}/authorize/consent`, form)).status).toBe(400);
    }
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
  });

  it("comes too late after interactionSeconds", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    clock.advance(600);
    expect((await browser.answer(page, "approve")).status).toBe(400);
    expect(writes).toEqual([]);
  });
});

describe("the end user changes between page and answer", () => {
  it("to another: they see the page, and nothing is granted for either", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = bob;
    const again = await browser.answer(page, "approve");
    expect(outcomeOf(again)).toBe("asked");
    expect(again.text).toContain("<bdi>Bob</bdi>");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(again, "approve"))).toBe("granted");
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", subject: "bob" });
    expect(await rememberedScopes(host, "alice")).toEqual([]);
    expect(await rememberedScopes(host, "bob")).toEqual([["orders:read"]]);
  });

  it("to another who has allowed it before: a no on the first one's page remains a no", async () => {
    const host = testHost();
    host.session = bob;
    await allow(host);
    host.session = signedIn;
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = bob;
    expect(outcomeOf(await browser.answer(page, "deny"))).toBe("access_denied");
    host.session = { ...signedIn, context: { key: "another organization" } };
    const again = await authorize(browser, { client: "web" });
    host.session = bob;
    expect(outcomeOf(await browser.answer(again, "deny"))).toBe("access_denied");
  });

  it("to nobody: the sign-in page, and then the question again", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const { interaction: id = "" } = formFields(page.text);
    host.session = signedOut;
    const answer = await browser.answer(page, "approve");
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toBe(`/signin?interaction=${id}`);
    const again = await browser.follow(await browser.post("/signin", { interaction: id, subject: "alice" }));
    expect(outcomeOf(again)).toBe("asked");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(again, "approve"))).toBe("granted");
  });

  it("to one whom the host denies", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = { kind: "denied" };
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("access_denied");
    expect(writes).toEqual([]);
  });
});
