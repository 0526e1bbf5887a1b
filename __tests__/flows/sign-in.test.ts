import { createHmac } from "node:crypto";
import express from "express";
import type { Response } from "supertest";
import { type Authentication, type Client, memoryStorage, type Storage } from "../../lib";
import type { Browser } from "../fixture/browser";
import { type Clock, stopClock } from "../fixture/clock";
import {
  authorizationParameters,
  type ClientName,
  clients,
  origin,
  type Pair,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
  type TestHostOptions,
} from "../fixture/host";
import { authorize, type CodeRequest, obtainCode, redeem, redirectParameters } from "../fixture/journey";
import { watchWrites } from "../fixture/slow-storage";

let clock: Clock;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => jest.restoreAllMocks());

const issuer = `${origin}${pairPath()}`;
const prefix = "__Host-authmount.";
/** The default: so long may a client be served as it was. */
const revocationLagSeconds = 5;

function resumePath(id: string, pair: Pair = {}): string {
  return `${pairPath(pair)}/authorize/resume?interaction=${id}`;
}

function interactionOf(response: Response): string {
  const location = response.headers["location"] as string;
  return new URL(location, origin).searchParams.get("interaction") ?? "";
}

function cookieLines(response: Response): readonly string[] {
  return (response.headers["set-cookie"] as unknown as readonly string[] | undefined) ?? [];
}

function attributesOf(line: string): readonly string[] {
  return line.split("; ").slice(1).toSorted();
}

/** Alice, signed in at this moment unless told otherwise. */
function alice(authTime = clock.now()): Authentication {
  return { kind: "authenticated", subject: "alice", displayName: "Alice", authTime };
}

interface Visit {
  readonly host: TestHost;
  readonly browser: Browser;
  readonly first: Response;
  readonly id: string;
}

/** A visit of somebody who has to sign in. */
async function visit(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<Visit> {
  host.session = signedOut;
  const browser = asked.browser ?? host.browser();
  const first = await authorize(browser, { client: "web", ...asked });
  return { host, browser, first, id: interactionOf(first) };
}

/** Signs in on the host's page and goes on to what follows. */
async function signIn({ browser, id }: Pick<Visit, "browser" | "id">, subject = "alice"): Promise<Response> {
  return browser.follow(await browser.post("/signin", { interaction: id, subject }));
}

/** The same browser at another process of the host. */
function movedTo(host: TestHost, browser: Browser): Browser {
  const moved = host.browser();
  for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
  return moved;
}

/** The error page, which redirects nowhere and ends nothing. */
function expectLost(response: Response): void {
  expect(response.status).toBe(400);
  expect(response.text).toContain("This sign-in took too long, was finished before");
  expect(response.headers["location"]).toBeUndefined();
  expect(response.headers["set-cookie"]).toBeUndefined();
}

function watchedHost(options: TestHostOptions = {}): { host: TestHost; writes: string[] } {
  const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
  return { host: testHost({ ...options, storage }), writes };
}

function denial(error: string, { status = 302, description = expect.any(String) as unknown } = {}): object {
  return { status, error, error_description: description, state: "a state", iss: issuer };
}

function answerOf(response: Response): object {
  const { status } = response;
  return response.headers["location"]?.startsWith("https://web.example/callback?")
    ? { status, ...redirectParameters(response) }
    : { status, location: response.headers["location"] };
}

const granted = { code: expect.any(String), state: "a state", iss: issuer };

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
    expect(line.startsWith(`${prefix}${id}=s:`)).toBe(true);
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
      impliedScopes: {},
      prompt: ["consent"],
      maxAge: 60,
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
    expect(answerOf(await asked.browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
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

  it.each([["nothing"], ["interaction"]])("shows the error page when %s is pending", async (name) => {
    const { browser } = await visit(testHost());
    expectLost(await browser.post("/signin", { [name]: "A".repeat(22), subject: "alice" }));
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
    expect(answerOf(await signIn(asked))).toEqual(denial("unauthorized_client"));
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
      { ...event, issuer, reason: expect.any(String) },
      { ...event, reason: expect.any(String) },
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
    [
      "as JSON",
      (cookie) => `j:${Buffer.from(cookie.slice(2, cookie.lastIndexOf(".")), "base64url").toString()}`,
    ],
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
    const name = prefix + id;
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
    const theirCookie = theirs.browser.cookies.get(prefix + theirs.id) ?? "";
    mine.browser.cookies.set(prefix + mine.id, theirCookie);
    expectLost(await mine.browser.get(resumePath(mine.id)));
    expectLost(await mine.browser.get(resumePath(theirs.id)));
  });

  it("is refused without the __Host- prefix: a sibling domain may have planted it", async () => {
    const { host, browser, id } = await visit(testHost());
    host.session = alice();
    const value = browser.cookies.get(prefix + id) ?? "";
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
    browser.cookies.set(`${prefix}broken`, "s:%zz");
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
    expect([...browser.cookies.keys()].toSorted()).toEqual(kept.map((id) => prefix + id).toSorted());
    for (const id of kept) {
      expect((await browser.get("/signin", { interaction: id })).body).toMatchObject({ interactionId: id });
    }
    host.session = alice();
    expectLost(await browser.get(resumePath(ids[0] ?? "")));
    expect((await browser.get(resumePath(kept.at(-1) ?? ""))).status).toBe(200);
  });
});

describe("several processes share storage and secrets", () => {
  const storage = memoryStorage({ clients: Object.values(clients) });
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
    expect(answerOf(answer)).toEqual({ status: 303, ...granted });
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
    expect(answerOf(await moved.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it("and a consent page from before the rotation is answered after it", async () => {
    const before = testHost({ storage, secrets: [oldSecret] });
    const after = testHost({ storage, secrets: [newSecret, oldSecret] });
    const browser = before.browser();
    const page = await authorize(browser, { client: "web", fields: { prompt: "consent" } });
    const answer = await movedTo(after, browser).answer(page, "approve");
    expect(answerOf(answer)).toEqual({ status: 303, ...granted });
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

describe("prompt=login (OpenID Connect Core §3.1.2.1)", () => {
  const fields = { prompt: "login" };

  it("sends somebody who is signed in to the sign-in page", async () => {
    const host = testHost();
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual({ status: 302, location: expect.stringMatching(/^\/signin\?inter/) });
    expect(host.asked).toEqual([{ reauthenticate: true, prompt: ["login"] }]);
  });

  it("sends a trusted client's end user there as well", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
  });

  it("is met by signing in", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    clock.advance(30);
    const page = await signIn({ browser, id: interactionOf(first) });
    expect(page.status).toBe(200);
    clock.advance(30);
    expect(answerOf(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it.each([
    [-1, 302],
    [0, 200],
    [1, 200],
  ])("takes an authTime of the interaction's beginning %i seconds: %i", async (offset, status) => {
    const host = testHost();
    const browser = host.browser();
    const began = clock.now();
    const first = await authorize(browser, { client: "web", fields });
    clock.advance(60);
    host.session = alice(began + offset);
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(back.status).toBe(status);
    if (status === 302) expect(back.headers["location"]).toBe(first.headers["location"]);
  });

  it("sends who comes back without having signed in to the sign-in page again, each time", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const id = interactionOf(first);
    for (let time = 0; time < 3; time += 1) {
      clock.advance(10);
      const back = await browser.get(resumePath(id));
      expect(back.headers["location"]).toBe(`/signin?interaction=${id}`);
    }
    const page = await signIn({ browser, id });
    expect(answerOf(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it("asks for one sign-in only, however many pages follow", async () => {
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const id = interactionOf(first);
    const asked = await signIn({ browser, id });
    expect(asked.headers["location"]).toBe(`/ask?interaction=${id}`);
    clock.advance(60);
    const answer = await browser.post("/allow", { interaction: id });
    expect(answerOf(answer)).toEqual({ status: 303, ...granted });
    expect(host.asked.filter(({ reauthenticate }) => reauthenticate)).toHaveLength(1);
  });

  it.each([
    ["on the first visit", 0],
    ["a second time", 1],
  ])("is login_required when the host answers from its old session all the same, %s", async (_, pages) => {
    const host = testHost();
    let visits = 0;
    host.session = () => (visits++ < pages ? signedOut : signedIn);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    const last = pages === 0 ? first : await browser.get(resumePath(interactionOf(first)));
    expect(answerOf(last)).toEqual(denial("login_required"));
    expect(browser.cookies.size).toBe(0);
    expect(host.events.at(-1)).toMatchObject({
      kind: "authorization-denied",
      error: "login_required",
      reason: expect.stringContaining("reauthenticate"),
    });
  });

  it("is login_required on the first visit of a host that never says authTime and does not ask again", async () => {
    const host = testHost();
    host.session = () => ({ kind: "authenticated", subject: "alice" });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual(denial("login_required"));
  });

  it("is server_error when the host does not say authTime after the sign-in", async () => {
    const host = testHost();
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields });
    host.session = { kind: "authenticated", subject: "alice" };
    expect(answerOf(await browser.get(resumePath(interactionOf(first))))).toEqual(denial("server_error"));
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause: expect.any(TypeError) });
  });

  it("lets the host deny", async () => {
    const host = testHost();
    host.session = () => ({ kind: "denied" });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual(denial("access_denied"));
  });
});

describe("max_age (OpenID Connect Core §3.1.2.1)", () => {
  it.each([
    [59, 200],
    [60, 200],
    [61, 302],
  ])("60 takes a session of %i seconds: %i", async (age, status) => {
    const host = testHost();
    host.session = alice(clock.now() - age);
    const response = await authorize(host.browser(), { client: "web", fields: { max_age: "60" } });
    expect(response.status).toBe(status);
    if (status === 302) expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
    const [first, second] = host.asked;
    expect(first).toEqual({ reauthenticate: false, prompt: [] });
    expect(second).toEqual(status === 302 ? { reauthenticate: true, prompt: [] } : undefined);
  });

  it("0 takes no session from before", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 1);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "0" } });
    expect(first.headers["location"]).toMatch(/^\/signin\?interaction=/);
  });

  it("is met by signing in, however long the pages take: no loop", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 1);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "0" } });
    clock.advance(60);
    const back = await browser.post("/signin", { interaction: interactionOf(first), subject: "alice" });
    clock.advance(60);
    const page = await browser.follow(back);
    expect(page.status).toBe(200);
    clock.advance(60);
    expect(answerOf(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });

  it("asks for a sign-in when the host does not say authTime", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: "alice" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "3600" } });
    expect(first.headers["location"]).toMatch(/^\/signin\?interaction=/);
    expect(host.asked.at(-1)).toEqual({ reauthenticate: true, prompt: [] });
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(answerOf(back)).toEqual(denial("server_error"));
  });

  it("sends who comes back without having signed in to the sign-in page again", async () => {
    const host = testHost();
    host.session = alice(clock.now() - 100);
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { max_age: "60" } });
    const back = await browser.get(resumePath(interactionOf(first)));
    expect(back.headers["location"]).toBe(first.headers["location"]);
  });

  it("is login_required when the host answers from its old session all the same", async () => {
    const host = testHost();
    host.session = () => signedIn;
    const response = await authorize(host.browser(), { client: "web", fields: { max_age: "60" } });
    expect(answerOf(response)).toEqual(denial("login_required"));
  });

  it("does not matter to a session when it is left out", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: "alice" };
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect(host.asked).toEqual([{ reauthenticate: false, prompt: [] }]);
  });
});

describe("the host denies (RFC 6749 §4.1.2.1)", () => {
  it("without a word", async () => {
    const host = testHost();
    host.session = { kind: "denied" };
    const response = await authorize(host.browser(), { client: "web" });
    expect(answerOf(response)).toEqual(denial("access_denied"));
  });

  it("with a word to the client", async () => {
    const host = testHost();
    host.session = { kind: "denied", description: "This account is closed. Call +1 & ask (100%)." };
    const description = "This account is closed. Call +1 & ask (100%).";
    const response = await authorize(host.browser(), { client: "web" });
    expect(answerOf(response)).toEqual(denial("access_denied", { description }));
  });

  it.each(["a\nb", 'a "b"', "a\\b", "größer", "\u007f", ""])(
    "but not with characters that error_description may not hold: %j",
    async (description) => {
      const host = testHost();
      host.session = { kind: "denied", description };
      const response = await authorize(host.browser(), { client: "web" });
      expect(answerOf(response)).toEqual(denial("server_error"));
    },
  );

  it("on the way back, which ends the interaction", async () => {
    const { host, browser, id } = await visit(testHost());
    host.session = { kind: "denied", description: "Closed." };
    const response = await browser.get(resumePath(id));
    expect(answerOf(response)).toEqual(denial("access_denied", { description: "Closed." }));
    expect(browser.cookies.size).toBe(0);
    host.session = alice();
    expectLost(await browser.get(resumePath(id)));
  });
});

describe("auth.deny: the person goes back to the client (RFC 6749 §4.1.2.1)", () => {
  it("answers access_denied with 303 after a POST and ends the interaction", async () => {
    const { host, browser, id } = await visit(testHost());
    const response = await browser.post("/cancel", { interaction: id });
    expect(answerOf(response)).toEqual(denial("access_denied", { status: 303 }));
    expect(cookieLines(response)).toEqual([
      expect.stringMatching(new RegExp(`^${prefix}${id}=s.*; Max-Age=30$`)),
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
    expect(answerOf(response)).toEqual(denial("access_denied"));
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
    ]);
  });

  it.each<[string, (asked: Visit) => Promise<unknown>]>([
    ["leaves", async () => undefined],
    ["cancels at sign-in", ({ browser, id }) => browser.post("/cancel", { interaction: id })],
    ["says no", async (asked) => asked.browser.answer(await signIn(asked), "deny")],
    [
      "is denied",
      (asked) => ((asked.host.session = { kind: "denied" }), asked.browser.get(resumePath(asked.id))),
    ],
  ])("nor ever when the person %s", async (_, end) => {
    const { host, writes } = watchedHost();
    await end(await visit(host));
    expect(writes).toEqual([]);
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
    expect(answerOf(answer)).toEqual({ status: 302, ...granted });
    expect(browser.cookies.size).toBe(0);
    expectLost(await browser.get(resumePath(id)));
  });

  it("is not reached by asking anew: the first visit's parameters do not change", async () => {
    const { host, browser, id } = await visit(testHost());
    const bent = { ...authorizationParameters("web"), state: "another", scope: "orders:write" };
    const query = new URLSearchParams({ ...bent, interaction: id }).toString();
    host.session = alice();
    const page = await browser.get(`${pairPath()}/authorize/resume?${query}`);
    expect(page.text).toContain("See your orders");
    expect(page.text).not.toContain("Change your orders");
    expect(answerOf(await browser.answer(page, "approve"))).toEqual({ status: 303, ...granted });
  });
});
