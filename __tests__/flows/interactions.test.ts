import { createHmac } from "node:crypto";
import type { Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { issuer, origin, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { type ClientName, clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { allow } from "../browser/consent";
import { alice, signedOut, type TestHost, testHost } from "../hosts/host";
import { intercept } from "../storage/slow-storage";
import { cookiePrefix, resumePath, signIn, type Visit, visit } from "../browser/interaction";
import { answerAtClient, expectLost, granted, movedTo } from "./sign-in";

const clock = stopClockForEachTest();

describe("an authorization request that the browser has not opened as a page (RFC 6749 §3.1, 9700 §4.16)", () => {
  const fields = { ...authorizationParameters("web"), scope: "orders:read" };
  const sent = (host: TestHost, headers: Record<string, string>, others: Record<string, string> = {}) =>
    host.browser().get(`${pairPath()}/authorize`, { ...fields, ...others }, headers);
  const image = { "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors" };

  it.each([
    ["an image", image],
    ["fetch() of a page", { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors" }],
    ["fetch() of a page of the same origin", { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "same-origin" }],
  ])("by %s: leads to no page, and leaves no cookie", async (_, headersOf) => {
    for (const session of [signedOut, alice()]) {
      const host = testHost();
      host.session = session;
      const { status, headers, text } = await sent(host, headersOf);
      expect({ status, cookies: headers["set-cookie"] }).toEqual({ status: 400, cookies: undefined });
      expect(text).toContain("The request was not opened as a page.");
      expect(host.events.at(-1)).toMatchObject({
        kind: "authorization-denied",
        error: "invalid_request",
        code: "not-opened-as-page",
      });
    }
  });

  it("is answered where it needs no page", async () => {
    const host = testHost();
    await allow(host);
    expect(redirectParameters(await sent(host, image, { prompt: "none" }))["code"]).toBeDefined();
  });

  it.each([
    ["a browser", { "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate" }],
    ["an older browser, which says nothing", {}],
    ["fetch() of Node.js, which is no browser", { "Sec-Fetch-Mode": "cors" }],
  ])("by %s: leads to the page", async (_, headers) => {
    expect((await sent(testHost(), headers)).status).toBe(200);
  });
});

describe("an interaction belongs to one browser, one pair and ten minutes (RFC 6749 §10.12)", () => {
  const refused: readonly (readonly [string, (asked: Visit) => Promise<Response>])[] = [
    ["without an interaction", ({ browser }) => browser.get(`${pairPath()}/authorize/resume`)],
    ["with an unknown one", ({ browser }) => browser.get(resumePath("A".repeat(22)))],
    ["with a repeated one", ({ browser, id }) => browser.get(`${resumePath(id)}&interaction=${id}`)],
    ["at another method's pair", ({ browser, id }) => browser.get(resumePath(id, { method: "otp" }))],
    ["at another API's pair", ({ browser, id }) => browser.get(resumePath(id, { api: "files" }))],
    ["in another browser", ({ host, id }) => host.browser().get(resumePath(id))],
  ];

  it.each(refused)("is refused %s, and stays good", async (_, attempt) => {
    const asked = await visit(testHost());
    asked.host.session = alice();
    expectLost(await attempt(asked));
    expect((await asked.browser.get(resumePath(asked.id))).status).toBe(200);
  });

  it.each([
    [599, 200],
    [600, 400],
    [601, 400],
  ])("after %i seconds is answered with %i", async (seconds, status) => {
    const { host, browser, id } = await visit(testHost());
    clock.advance(seconds);
    host.session = alice();
    const response = await browser.get(resumePath(id));
    expect(response.status).toBe(status);
    if (status === 400) expectLost(response);
  });

  it.each([
    ["the person comes back", async ({ browser, id }: Visit) => browser.get(resumePath(id))],
    [
      "the host's page says no",
      async ({ browser, id }: Visit) => browser.post("/cancel", { interaction: id }),
    ],
  ])("stays good when storage fails as %s: nobody has told the client", async (_, attempt) => {
    let isFailing = false;
    const working = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(working, async (name, run) => {
      if (isFailing && name === "clients.find") throw new Error("no connection");
      return run();
    });
    const asked = await visit(testHost({ storage, revocationLagSeconds: 0 }));
    asked.host.session = alice();
    isFailing = true;
    expect((await attempt(asked)).status).toBe(500);
    isFailing = false;
    expect((await attempt(asked)).status).toBeLessThan(400);
  });

  it("is lost when the browser keeps no cookies", async () => {
    const { host, browser, id, first } = await visit(testHost());
    browser.cookies.clear();
    expect((await browser.follow(first)).body).toEqual({ nothing: "pending" });
    expectLost(await browser.post("/signin", { interaction: id, subject: "alice" }));
    host.session = alice();
    expectLost(await browser.get(resumePath(id)));
    expectLost(await browser.post("/cancel", { interaction: id }));
  });

  it("is answered as JSON to a program", async () => {
    const response = await testHost()
      .browser()
      .get(resumePath("A".repeat(22)), {}, { Accept: "application/json" });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ error: "invalid_request", error_description: expect.any(String) });
  });

  it("is told to the host, with the pair where it is known", async () => {
    const host = testHost();
    await host.browser().get(resumePath("A".repeat(22)));
    await host.browser().post("/cancel", { interaction: "A".repeat(22) });
    const event = { at: clock.now(), kind: "authorization-denied", error: "invalid_request" };
    expect(host.events).toEqual([
      { ...event, issuer, code: "cookie-lost-over-http", reason: expect.any(String) },
      { ...event, code: "cookie-lost-over-http", reason: expect.any(String) },
    ]);
  });
});

describe("a cookie that is not as it was made (RFC 6265 §8.4)", () => {
  const secret = "a test secret of at least 32 characters";

  /** As a host signs its own cookies with cookie-parser and Express. */
  function signedByHost(value: string): string {
    return `s:${value}.${createHmac("sha256", secret).update(value).digest("base64").replace(/=+$/, "")}`;
  }

  const changes: readonly (readonly [string, (cookie: string) => string])[] = [
    ["with another first letter", (cookie) => cookie.replace(/^s:./, "s:_")],
    ["with another last letter", (cookie) => cookie.slice(0, -1) + (cookie.endsWith("A") ? "B" : "A")],
    ["without its signature", (cookie) => cookie.slice(0, cookie.lastIndexOf("."))],
    ["with an empty signature", (cookie) => cookie.slice(0, cookie.lastIndexOf(".") + 1)],
    ["unsigned", (cookie) => cookie.slice(2, cookie.lastIndexOf("."))],
    ["as JSON", (cookie) => `j:${Buffer.from(cookie.slice(2, cookie.indexOf(".")), "base64url").toString()}`],
    ["empty", () => ""],
    ["garbage", () => "s:garbage.garbage"],
    [
      "signed with the host's secret itself",
      (cookie) => signedByHost(cookie.slice(2, cookie.lastIndexOf("."))),
    ],
  ];

  it.each(changes)("is refused %s, and the right one stays good", async (_, change) => {
    const { host, browser, id } = await visit(testHost());
    host.session = alice();
    const name = cookiePrefix + id;
    const right = browser.cookies.get(name) ?? "";
    browser.cookies.set(name, change(right));
    expectLost(await browser.get(resumePath(id)));
    browser.cookies.set(name, right);
    expect((await browser.get(resumePath(id))).status).toBe(200);
  });

  it("is refused under the name of another interaction", async () => {
    const host = testHost();
    const mine = await visit(host);
    const theirs = await visit(host, { client: "other" });
    host.session = alice();
    const theirCookie = theirs.browser.cookies.get(cookiePrefix + theirs.id) ?? "";
    mine.browser.cookies.set(cookiePrefix + mine.id, theirCookie);
    expectLost(await mine.browser.get(resumePath(mine.id)));
    expectLost(await mine.browser.get(resumePath(theirs.id)));
  });

  it("is refused without the __Host- prefix: a sibling domain may have planted it", async () => {
    const { host, browser, id } = await visit(testHost());
    host.session = alice();
    const value = browser.cookies.get(cookiePrefix + id) ?? "";
    browser.cookies.clear();
    browser.cookies.set(`authmount.${id}`, value);
    expectLost(await browser.get(resumePath(id)));
  });

  it("is refused when another server sealed it", async () => {
    const elsewhere = await visit(testHost({ secrets: ["another secret of at least 32 characters"] }));
    const host = testHost();
    host.session = alice();
    expectLost(await movedTo(host, elsewhere.browser).get(resumePath(elsewhere.id)));
  });

  it("does not disturb the others beside it, nor do the host's own", async () => {
    const { browser, id } = await visit(testHost());
    browser.cookies.set("session", signedByHost("alice"));
    browser.cookies.set(`${cookiePrefix}broken`, "s:%zz");
    browser.cookies.set("authmount", "x");
    expect((await signIn({ browser, id })).status).toBe(200);
  });
});

describe("tabs", () => {
  it("do not collide: each comes back with its own client and state, in any order", async () => {
    const host = testHost();
    const browser = host.browser();
    const asked: readonly (readonly [ClientName, string])[] = [
      ["web", "first"],
      ["other", "second"],
      ["spa", "third"],
      ["web", "fourth"],
    ];
    const tabs: { client: ClientName; state: string; id: string }[] = [];
    for (const [client, state] of asked) {
      const { id } = await visit(host, { client, browser, fields: { state } });
      tabs.push({ client, state, id });
    }
    expect(browser.cookies.size).toBe(4);
    for (const { client, state, id } of tabs.toReversed()) {
      const page = await signIn({ browser, id });
      const last = page.status === 200 ? await browser.answer(page, "approve") : page;
      expect(last.headers["location"]?.split("?")[0]).toBe(clients[client].redirectUris[0]);
      expect(redirectParameters(last)).toEqual({ code: expect.any(String), state, iss: issuer });
    }
    for (const { id } of tabs) expectLost(await browser.get(resumePath(id)));
  });

  it("at different pairs keep apart", async () => {
    const host = testHost();
    const browser = host.browser();
    const password = await visit(host, { browser });
    const otp = await visit(host, { browser, pair: { method: "otp" } });
    host.session = alice();
    expectLost(await browser.get(resumePath(password.id, { method: "otp" })));
    expectLost(await browser.get(resumePath(otp.id)));
    const page = await browser.get(resumePath(otp.id, { method: "otp" }));
    const { iss } = redirectParameters(await browser.answer(page, "approve"));
    expect(iss).toBe(`${origin}${pairPath({ method: "otp" })}`);
  });

  it("end alone: a denial in one leaves the other", async () => {
    const host = testHost();
    const browser = host.browser();
    const one = await visit(host, { browser });
    const two = await visit(host, { browser });
    await browser.post("/cancel", { interaction: one.id });
    expectLost(await browser.get(resumePath(one.id)));
    expect((await signIn(two)).status).toBe(200);
  });

  it.each([
    ["small", ""],
    ["large", "x".repeat(1_500)],
  ])("drop the oldest when many %s ones would outgrow a request's headers", async (_, state) => {
    const host = testHost();
    const browser = host.browser();
    const ids: string[] = [];
    for (let tab = 0; tab < 40; tab += 1) {
      ids.push((await visit(host, { browser, fields: { state } })).id);
      clock.advance(1);
      const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      expect(header.length).toBeLessThanOrEqual(8_192);
    }
    const kept = ids.slice(-browser.cookies.size);
    expect(kept.length).toBeGreaterThan(1);
    expect([...browser.cookies.keys()].toSorted()).toEqual(kept.map((id) => cookiePrefix + id).toSorted());
    for (const id of kept) {
      expect((await browser.get("/signin", { interaction: id })).body).toMatchObject({ interactionId: id });
    }
    host.session = alice();
    expectLost(await browser.get(resumePath(ids[0] ?? "")));
    expect((await browser.get(resumePath(kept.at(-1) ?? ""))).status).toBe(200);
  });
});

describe("several processes share storage and secrets", () => {
  let storage: Storage;
  beforeEach(() => {
    storage = memoryStorage({ clients: Object.values(clients) });
  });
  const oldSecret = "the old secret of at least 32 characters";
  const newSecret = "the new secret of at least 32 characters";

  it("and any of them goes on where another began", async () => {
    const [one, two] = [testHost({ storage }), testHost({ storage })];
    const { browser, first, id } = await visit(one);
    const elsewhere = movedTo(two, browser);
    expect((await elsewhere.follow(first)).body).toMatchObject({ interactionId: id });
    const page = await signIn({ browser: elsewhere, id }, "bob");
    expect(page.status).toBe(200);
    one.session = { kind: "authenticated", subject: "bob" };
    const answer = await movedTo(one, elsewhere).answer(page, "approve");
    expect(answerAtClient(answer)).toEqual({ status: 303, ...granted });
    const { code = "" } = redirectParameters(answer);
    expect((await redeem(two, { client: "web", code })).status).toBe(200);
  });

  it("and during a rotation the old secret still opens", async () => {
    const before = testHost({ storage, secrets: [oldSecret] });
    const after = testHost({ storage, secrets: [newSecret, oldSecret] });
    const { browser, id } = await visit(before, { fields: { prompt: "consent" } });
    const moved = movedTo(after, browser);
    const page = await signIn({ browser: moved, id });
    expect(page.status).toBe(200);
    expect(answerAtClient(await moved.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it("and a consent page from before the rotation is answered after it", async () => {
    const before = testHost({ storage, secrets: [oldSecret] });
    const after = testHost({ storage, secrets: [newSecret, oldSecret] });
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: { prompt: "consent" } });
    const answer = await movedTo(after, browser).answer(page, "approve");
    expect(answerAtClient(answer)).toEqual({ status: 303, ...granted });
  });

  it("and the new secret seals", async () => {
    const before = testHost({ storage, secrets: [oldSecret] });
    const after = testHost({ storage, secrets: [newSecret, oldSecret] });
    const { browser, id } = await visit(after);
    before.session = alice();
    expectLost(await movedTo(before, browser).get(resumePath(id)));
  });

  it("and a secret that was taken away opens nothing", async () => {
    const before = testHost({ storage, secrets: [oldSecret] });
    const after = testHost({ storage, secrets: [newSecret] });
    const { browser, id } = await visit(before);
    after.session = alice();
    expectLost(await movedTo(after, browser).get(resumePath(id)));
  });
});
