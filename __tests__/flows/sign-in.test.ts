import express from "express";
import type { Response } from "supertest";
import { type Client, memoryStorage, type Storage } from "../../lib";
import { issuer, pairPath, revocationLagSeconds } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { alice, testHost } from "../hosts/host";
import { cookiePrefix, interactionOf, resumePath, signIn, type Visit, visit } from "../browser/interaction";
import { obtainCode } from "../browser/journey";
import { answerAtClient, cookieLines, denial, expectLost, granted } from "./sign-in";
import { watchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

function attributesOf(line: string): readonly string[] {
  return line.split("; ").slice(1).toSorted();
}

describe("to the host's sign-in page (RFC 6749 §3.1)", () => {
  it.each([
    ["/signin", "/signin?interaction=ID"],
    ["/signin?lang=de", "/signin?lang=de&interaction=ID"],
    ["/signin#form", "/signin?interaction=ID#form"],
    ["/signin?lang=de#a?b#c", "/signin?lang=de&interaction=ID#a?b#c"],
    ["https://accounts.example/in?x=1", "https://accounts.example/in?x=1&interaction=ID"],
    ["https://accounts.example", "https://accounts.example?interaction=ID"],
  ])("adds the interaction to %s", async (url, expected) => {
    const host = testHost();
    host.session = { kind: "interaction", url };
    const response = await authorize(host.browser(), { client: "web" });
    const id = interactionOf(response);
    expect(response.status).toBe(302);
    expect(response.headers["location"]).toBe(expected.replace("ID", id));
    expect(id).toMatch(/^[\w-]{22}$/);
  });

  it("gives every visit an id of its own", async () => {
    const host = testHost();
    const ids = new Set([(await visit(host)).id, (await visit(host)).id, (await visit(host)).id]);
    expect(ids.size).toBe(3);
  });

  it("carries no parameter of the request in the URL", async () => {
    const { first, id } = await visit(testHost());
    expect(first.headers["location"]).toBe(`/signin?interaction=${id}`);
  });
});

describe("the cookie that keeps the request (RFC 6265 §4.1, §4.1.3)", () => {
  it("is a __Host- cookie named by the interaction", async () => {
    const { first, id } = await visit(testHost());
    const [line = "", ...more] = cookieLines(first);
    expect(more).toEqual([]);
    expect(line.startsWith(`${cookiePrefix}${id}=s:`)).toBe(true);
    expect(attributesOf(line)).toEqual(["HttpOnly", "Max-Age=600", "Path=/", "SameSite=Lax", "Secure"]);
  });

  it("has a plain name and no Secure attribute for http, in development", async () => {
    const host = testHost({ baseUrl: "http://localhost:3000/login" });
    const { first, id } = await visit(host);
    const [line = "", ...more] = cookieLines(first);
    expect(more).toEqual([]);
    expect(line.startsWith(`authmount.${id}=s:`)).toBe(true);
    expect(attributesOf(line)).toEqual(["HttpOnly", "Max-Age=600", "Path=/", "SameSite=Lax"]);
  });

  it("lives as long as interactionSeconds say, and a later page does not lengthen it", async () => {
    const asked = await visit(testHost({ lifetimes: { interactionSeconds: 120 } }));
    expect(cookieLines(asked.first)[0]).toContain("; Max-Age=120");
    clock.advance(50);
    const page = await signIn(asked);
    expect(page.status).toBe(200);
    expect(cookieLines(page)[0]).toContain("; Max-Age=70");
  });

  it("shows nobody what it keeps, other than the browser that sent it", async () => {
    const { first } = await visit(testHost());
    expect(first.text).toBe("");
    expect(first.headers["cache-control"]).toBe("no-store");
  });
});

describe("auth.interaction: who is asking for what", () => {
  it("tells the sign-in page", async () => {
    const fields = { login_hint: "ali ce", ui_locales: "de en", max_age: "60", prompt: "consent" };
    const { browser, id, first } = await visit(testHost(), { fields });
    expect((await browser.follow(first)).body).toEqual({
      interactionId: id,
      expiresAt: clock.now() + 600,
      authMethodId: "password",
      api: { apiId: "orders", name: "Orders", audience: "https://api.example/orders" },
      client: { clientId: "web", name: "Web Shop", confidential: true },
      destination: "https://web.example",
      scopes: { "orders:read": "See your orders" },
      explanations: {},
      impliedScopes: {},
      prompt: ["consent"],
      maxAge: 60,
      acrValues: [],
      loginHint: "ali ce",
      uiLocales: "de en",
    });
  });

  it("tells a client's links, and nothing of its secrets or redirect URIs", async () => {
    const links = {
      clientUri: "https://web.example/",
      policyUri: "https://web.example/privacy",
      tosUri: "https://web.example/terms",
    };
    const { browser, first } = await visit(testHost({ clients: [{ ...clients.web, ...links }] }));
    expect((await browser.follow(first)).body).toMatchObject({
      client: { clientId: "web", name: "Web Shop", confidential: true, ...links },
    });
    expect(JSON.stringify((await browser.follow(first)).body)).not.toMatch(/secret|callback/i);
  });

  it("finds the interaction in a posted form as well", async () => {
    const { host, browser, id } = await visit(testHost());
    host.app.post("/who", express.urlencoded({ extended: false }), async (req, res) => {
      res.json(await host.auth.interaction(req));
    });
    expect((await browser.post("/who", { interaction: id })).body).toMatchObject({ interactionId: id });
  });

  it.each<[string, (asked: Visit) => Promise<Response>]>([
    ["without an interaction", ({ browser }) => browser.get("/signin")],
    ["for an empty one", ({ browser }) => browser.get("/signin", { interaction: "" })],
    ["for a repeated one", ({ browser, id }) => browser.get("/signin", { interaction: [id, id] })],
    ["for an unknown one", ({ browser }) => browser.get("/signin", { interaction: "A".repeat(22) })],
    ["in another browser", ({ host, id }) => host.browser().get("/signin", { interaction: id })],
    [
      "when it has expired",
      ({ browser, id }) => (clock.advance(600), browser.get("/signin", { interaction: id })),
    ],
  ])("tells nothing %s", async (_, look) => {
    const asked = await visit(testHost());
    expect((await look(asked)).body).toEqual({ nothing: "pending" });
  });

  it("tells nothing once the client is gone", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: Object.values(clients) });
    let gone = false;
    const find = async (clientId: string): Promise<Client | undefined> =>
      gone ? undefined : table.find(clientId);
    const storage: Storage = { ...others, clients: { ...table, find } };
    const { browser, first } = await visit(testHost({ storage }));
    gone = true;
    clock.advance(revocationLagSeconds);
    expect((await browser.follow(first)).body).toEqual({ nothing: "pending" });
  });

  it("ends nothing", async () => {
    const asked = await visit(testHost());
    for (let look = 0; look < 3; look += 1) await asked.browser.follow(asked.first);
    const page = await signIn(asked);
    expect(answerAtClient(await asked.browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });
});

describe("auth.resume: back from the sign-in page (RFC 6749 §3.1, 9700 §4.12)", () => {
  it("goes back with 303 after a POST", async () => {
    const { browser, id } = await visit(testHost());
    const back = await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(back.status).toBe(303);
    expect(back.headers["location"]).toBe(`${issuer}/authorize/resume?interaction=${id}`);
  });

  it("goes back with 302 after a GET", async () => {
    const { host, browser, id } = await visit(testHost());
    host.app.get("/back", (req, res) => host.auth.resume(req, res));
    host.session = alice();
    const back = await browser.get("/back", { interaction: id });
    expect(back.status).toBe(302);
    expect(back.headers["location"]).toBe(`${issuer}/authorize/resume?interaction=${id}`);
    expect((await browser.follow(back)).status).toBe(200);
  });

  it("shows the error page when the request is over", async () => {
    const { browser } = await visit(testHost());
    expectLost(await browser.post("/signin", { interaction: "A".repeat(22), subject: "alice" }));
  });

  it("shows the error page when the browser has no cookie of the request", async () => {
    const { host, id } = await visit(testHost());
    expectLost(await host.browser().post("/signin", { interaction: id, subject: "alice" }));
  });

  it("asks the host again who is there: coming back proves nothing", async () => {
    const { browser, id } = await visit(testHost());
    const back = await browser.get(resumePath(id));
    expect(back.status).toBe(302);
    expect(back.headers["location"]).toBe(`/signin?interaction=${id}`);
  });

  it("needs no member called with this", async () => {
    const { host, browser, id } = await visit(testHost());
    const { resume, interaction } = host.auth;
    host.app.get("/look", async (req, res) => void res.json(await interaction(req)));
    host.app.get("/back", (req, res) => resume(req, res));
    expect((await browser.get("/look", { interaction: id })).body).toMatchObject({ interactionId: id });
    expect((await browser.get("/back", { interaction: id })).status).toBe(302);
  });

  it("tells of the request once, however often the person comes back", async () => {
    const { host, browser, id } = await visit(testHost());
    await browser.get(resumePath(id));
    await signIn({ browser, id });
    const requested = host.events.filter(({ kind }) => kind === "authorization-requested");
    expect(requested).toHaveLength(1);
  });

  it("checks the request again: a subscription may have ended meanwhile", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: [clients.web] });
    let record: Client = clients.web;
    const storage: Storage = { ...others, clients: { ...table, find: async () => record } };
    const asked = await visit(testHost({ storage }));
    record = { ...clients.web, subscriptions: {} };
    clock.advance(revocationLagSeconds);
    expect(answerAtClient(await signIn(asked))).toEqual(denial("unauthorized_client"));
  });

  it("checks the redirect URI again: what is not registered any more is never redirected to", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: [clients.web] });
    let record: Client = clients.web;
    const storage: Storage = {
      ...others,
      clients: { ...table, find: async (id) => (id === "web" ? record : undefined) },
    };
    const asked = await visit(testHost({ storage }));
    record = { ...clients.web, redirectUris: ["https://web.example/new"] };
    clock.advance(revocationLagSeconds);
    const response = await signIn(asked);
    expect(response.status).toBe(400);
    expect(response.text).toContain("The redirect_uri is not registered for this client.");
  });
});

/** A host whose page calls `auth.resume` with these arguments, and the warnings that it provokes. */
function resuming(...given: unknown[]) {
  const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const host = testHost();
  const resume = host.auth.resume as (...all: unknown[]) => void;
  host.app.all("/back", express.urlencoded({ extended: false }), (req, res) => resume(req, res, ...given));
  host.app.use(((error: { code?: string; name: string }, _req, res, _next) => {
    res.status(500).json({ name: error.name, code: error.code });
  }) satisfies express.ErrorRequestHandler);
  const codes = (): unknown[] => warned.mock.calls.map(([, options]) => Reflect.get(Object(options), "code"));
  return { host, codes };
}

describe("auth.resume after a sign-in that no client asked for (RFC 9700 §4.11)", () => {
  afterEach(() => jest.restoreAllMocks());

  it.each(["/", "/account?tab=apps#top", "/%2F/other.example", "/.//other.example"])(
    "goes on to %s",
    async (otherwise) => {
      const { host, codes } = resuming({ otherwise });
      const answer = await host.browser().post("/back", {});
      expect(answer.status).toBe(303);
      expect(answer.headers["location"]).toBe(otherwise);
      expect(new URL(otherwise, "https://host.example").origin).toBe("https://host.example");
      expect([codes(), host.events]).toEqual([[], []]);
    },
  );

  it("shows the error page when the host has not said where to go on", async () => {
    const { host } = resuming();
    expectLost(await host.browser().post("/back", {}));
    expect(host.events).toMatchObject([{ kind: "authorization-denied", code: "interaction-id-missing" }]);
  });

  it("goes back to the client's request when there is one", async () => {
    const { host, codes } = resuming({ otherwise: "/account" });
    const { browser, id } = await visit(host);
    const back = await browser.post("/back", { interaction: id });
    expect(back.headers["location"]).toBe(`${issuer}/authorize/resume?interaction=${id}`);
    expect(codes()).toEqual([]);
  });

  it.each(["development", "production"])(
    "goes on where the form has lost the id, with a warning in development only: %s",
    async (environment) => {
      jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: environment });
      const { host, codes } = resuming({ otherwise: "/account" });
      const { browser } = await visit(host);
      expect((await browser.post("/back", {})).headers["location"]).toBe("/account");
      expect(codes()).toEqual(environment === "production" ? [] : ["interaction-id-missing"]);
    },
  );

  it.each<[unknown, string]>([
    ["https://other.example/", "otherwise-not-a-path"],
    ["//other.example", "otherwise-not-a-path"],
    ["/\\other.example", "otherwise-not-a-path"],
    ["/\t/other.example", "otherwise-not-a-path"],
    ["/a\r\nSet-Cookie: x=1", "otherwise-not-a-path"],
    ["/größe", "otherwise-not-a-path"],
    ["account", "otherwise-not-a-path"],
    ["", "otherwise-not-a-path"],
    [["/a", "/b"], "otherwise-not-a-path"],
    [undefined, "undefined-key"],
  ])(
    "refuses anything but a path of this site, also while a request is pending: %j",
    async (otherwise, code) => {
      const { host } = resuming({ otherwise });
      const { browser, id } = await visit(host);
      for (const fields of [{}, { interaction: id }]) {
        const answer = await browser.post("/back", fields);
        expect(answer.status).toBe(500);
        expect(answer.body).toEqual({ name: "TypeError", code });
      }
    },
  );

  it.each<[unknown, string]>([
    [{}, "otherwise-not-a-path"],
    [{ other: "/" }, "unknown-key"],
    ["/account", "not-plain"],
    [null, "not-plain"],
  ])("refuses options of another form: %j", async (given, code) => {
    const { host } = resuming(given);
    expect((await host.browser().post("/back", {})).body).toEqual({ name: "TypeError", code });
  });
});

describe("the host denies (RFC 6749 §4.1.2.1)", () => {
  it("without a word", async () => {
    const host = testHost();
    host.session = { kind: "denied" };
    const response = await authorize(host.browser(), { client: "web" });
    expect(answerAtClient(response)).toEqual(denial("access_denied"));
  });

  it("with a word to the client", async () => {
    const host = testHost();
    host.session = { kind: "denied", description: "This account is closed. Call +1 & ask (100%)." };
    const description = "This account is closed. Call +1 & ask (100%).";
    const response = await authorize(host.browser(), { client: "web" });
    expect(answerAtClient(response)).toEqual(denial("access_denied", { description }));
  });

  it.each(["a\nb", 'a "b"', "a\\b", "größer", "\u007f", ""])(
    "but not with characters that error_description may not hold: %j",
    async (description) => {
      const host = testHost();
      host.session = { kind: "denied", description };
      const response = await authorize(host.browser(), { client: "web" });
      expect(answerAtClient(response)).toEqual(denial("server_error"));
    },
  );

  it("on the way back, which ends the interaction", async () => {
    const { host, browser, id } = await visit(testHost());
    host.session = { kind: "denied", description: "Closed." };
    const response = await browser.get(resumePath(id));
    expect(answerAtClient(response)).toEqual(denial("access_denied", { description: "Closed." }));
    expect(browser.cookies.size).toBe(0);
    host.session = alice();
    expectLost(await browser.get(resumePath(id)));
  });
});

describe("auth.deny: the person goes back to the client (RFC 6749 §4.1.2.1)", () => {
  it("answers access_denied with 303 after a POST and ends the interaction", async () => {
    const { host, browser, id } = await visit(testHost());
    const response = await browser.post("/cancel", { interaction: id });
    expect(answerAtClient(response)).toEqual(denial("access_denied", { status: 303 }));
    expect(cookieLines(response)).toEqual([
      expect.stringMatching(new RegExp(`^${cookiePrefix}${id}=s.*; Max-Age=30$`)),
    ]);
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      issuer,
      clientId: "web",
      error: "access_denied",
    });
    host.session = alice();
    expectLost(await browser.get(resumePath(id)));
    clock.advance(30);
    expectLost(await browser.post("/cancel", { interaction: id }));
  });

  it("answers with 302 after a GET", async () => {
    const { host, browser, id } = await visit(testHost());
    host.app.get("/cancel", (req, res) => host.auth.deny(req, res));
    const response = await browser.get("/cancel", { interaction: id });
    expect(answerAtClient(response)).toEqual(denial("access_denied"));
  });

  it.each([
    ["without an interaction", {}],
    ["with an unknown one", { interaction: "A".repeat(22) }],
  ])("shows the error page %s", async (_, fields) => {
    const asked = await visit(testHost());
    expectLost(await asked.browser.post("/cancel", fields));
    expect((await signIn(asked)).status).toBe(200);
  });

  it("shows the error page in another browser, and leaves the first one's request", async () => {
    const asked = await visit(testHost());
    expectLost(await asked.host.browser().post("/cancel", { interaction: asked.id }));
    expect((await signIn(asked)).status).toBe(200);
  });

  it("redirects nowhere once the client's redirect URI is gone", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: [clients.web] });
    let record: Client | undefined = clients.web;
    const storage: Storage = { ...others, clients: { ...table, find: async () => record } };
    const { browser, id } = await visit(testHost({ storage }));
    record = undefined;
    clock.advance(revocationLagSeconds);
    const response = await browser.post("/cancel", { interaction: id });
    expect(response.status).toBe(400);
    expect(response.text).toContain("The client is unknown.");
  });
});

describe("nothing is stored before approval", () => {
  it("on the way through sign-in to the consent page; then consent, authorization and code", async () => {
    const { host, writes } = watchedHost();
    const asked = await visit(host);
    await asked.browser.follow(asked.first);
    await asked.browser.get(resumePath(asked.id));
    const page = await signIn(asked);
    expect(page.status).toBe(200);
    await asked.browser.get(resumePath(asked.id));
    expect(writes).toEqual([]);
    await asked.browser.answer(page, "approve");
    expect(writes.toSorted()).toEqual([
      "authorizationCodes.create",
      "authorizations.create",
      "consents.save",
      // that the page was answered, so that a no that comes later is not told to the client
      "endMarks.save",
    ]);
  });

  it.each<[string, (asked: Visit) => Promise<unknown>]>([
    ["leaves", async () => undefined],
    ["cancels at sign-in", ({ browser, id }) => browser.post("/cancel", { interaction: id })],
    [
      "is denied",
      (asked) => ((asked.host.session = { kind: "denied" }), asked.browser.get(resumePath(asked.id))),
    ],
  ])("nor ever when the person %s", async (_, end) => {
    const { host, writes } = watchedHost();
    await end(await visit(host));
    expect(writes).toEqual([]);
  });

  it("and no more than that the page was answered when the person says no", async () => {
    const { host, writes } = watchedHost();
    const asked = await visit(host);
    await asked.browser.answer(await signIn(asked), "deny");
    expect(writes).toEqual(["endMarks.save"]);
  });

  it("and without a question only the authorization and the code", async () => {
    const { host, writes } = watchedHost();
    await obtainCode(host, { client: "web" });
    writes.length = 0;
    await obtainCode(host, { client: "web" });
    expect(writes).toEqual(["authorizations.create", "authorizationCodes.create"]);
  });
});

describe("the end of an interaction", () => {
  it.each(["approve", "deny"] as const)(
    "by %s leaves a cookie for the repetition of this answer; going back shows the error page",
    async (decision) => {
      const { host, browser, id } = await visit(testHost());
      const page = await signIn({ browser, id });
      const answer = await browser.answer(page, decision);
      expect(answer.status).toBe(303);
      const [line = "", ...more] = cookieLines(answer);
      expect(line).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=30$/);
      expect(more).toEqual([]);
      expectLost(await browser.get(resumePath(id)));
      expectLost(await browser.answer(page, decision === "approve" ? "deny" : "approve"));
      expect((await browser.get("/signin", { interaction: id })).body).toEqual({ nothing: "pending" });
      expect(host.events.at(-1)).toMatchObject({ kind: "authorization-denied", error: "invalid_request" });
    },
  );

  it("without a question clears the cookie of the sign-in", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    const { browser, id } = await visit(host);
    const answer = await signIn({ browser, id });
    expect(answerAtClient(answer)).toEqual({ status: 302, ...granted });
    expect(browser.cookies.size).toBe(0);
    expectLost(await browser.get(resumePath(id)));
  });

  it("is not reached by asking again: the first visit's parameters do not change", async () => {
    const { host, browser, id } = await visit(testHost());
    const bent = { ...authorizationParameters("web"), state: "another", scope: "orders:write" };
    const query = new URLSearchParams({ ...bent, interaction: id }).toString();
    host.session = alice();
    const page = await browser.get(`${pairPath()}/authorize/resume?${query}`);
    expect(page.text).toContain("See your orders");
    expect(page.text).not.toContain("Change your orders");
    expect(answerAtClient(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });
});
