import request, { type Response } from "supertest";
import { type Authentication, type ConsentAnswer, memoryStorage, type Subscription } from "../../lib";
import { type Browser, encode, type Fields, formFields } from "../fixture/browser";
import { type Clock, stopClock } from "../fixture/clock";
import {
  apis,
  type ClientName,
  clients,
  origin,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
  type TestHostOptions,
} from "../fixture/host";
import {
  authorize,
  callApi,
  type CodeRequest,
  obtainCode,
  obtainTokens,
  redeem,
  redirectParameters,
  refresh,
} from "../fixture/journey";
import { watchWrites } from "../fixture/slow-storage";

let clock: Clock;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => jest.restoreAllMocks());

const issuer = `${origin}${pairPath()}`;
const both = { scope: "orders:read orders:write" };
const bob: Authentication = {
  kind: "authenticated",
  subject: "bob",
  displayName: "Bob",
  authTime: 1_799_999_000,
};

interface WatchedHost {
  readonly host: TestHost;
  /** The writing calls that storage has had. */
  readonly writes: string[];
}

function watchedHost({ clients: records, ...options }: TestHostOptions = {}): WatchedHost {
  const { storage, writes } = watchWrites(memoryStorage({ clients: records ?? Object.values(clients) }));
  return { host: testHost({ ...options, storage }), writes };
}

/** What the host's consent adapter was asked, and what it answers. */
function adapter(answer: ConsentAnswer | (() => ConsentAnswer)): {
  readonly consent: NonNullable<TestHostOptions["consent"]>;
  readonly questions: Record<string, unknown>[];
} {
  const questions: Record<string, unknown>[] = [];
  const consent: NonNullable<TestHostOptions["consent"]> = {
    decide({ req, ...question }) {
      questions.push({ ...question, path: req.path });
      return typeof answer === "function" ? answer() : answer;
    },
  };
  return { consent, questions };
}

const onOwnPage: ConsentAnswer = { kind: "interaction", url: "/ask" };

function interactionOf(response: Response): string {
  return new URL(response.headers["location"] as string, origin).searchParams.get("interaction") ?? "";
}

/** `asked` for a question, else what the client is told. */
function outcomeOf(response: Response): unknown {
  const location: string | undefined = response.headers["location"];
  if (response.status === 200 && response.text.includes('name="form_token"')) return "asked";
  if (location === undefined) return response.status;
  if (location.startsWith("/")) return location.replace(/interaction=[\w-]{22}$/, "interaction");
  const { code, error } = redirectParameters(response);
  return code === undefined ? error : "granted";
}

/** The scopes of the last grant that the host heard of. */
function grantedScopes({ events }: TestHost): readonly string[] | undefined {
  const grant = events.findLast(({ kind }) => kind === "authorization-granted");
  return grant?.kind === "authorization-granted" ? grant.scopes : undefined;
}

async function rememberedScopes(
  { auth }: TestHost,
  subject = "alice",
): Promise<readonly (readonly string[])[]> {
  return (await auth.consents.list(subject)).map(({ scopes }) => scopes);
}

async function outcomeOfVisit(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<unknown> {
  return outcomeOf(await authorize(asked.browser ?? host.browser(), { client: "web", ...asked }));
}

/** Asks and says yes to everything, once. */
async function allow(host: TestHost, asked: Partial<CodeRequest> = {}): Promise<void> {
  const browser = host.browser();
  const page = await authorize(browser, { client: "web", ...asked });
  expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
}

interface Asked extends WatchedHost {
  readonly browser: Browser;
  readonly id: string;
  readonly questions: Record<string, unknown>[];
}

/** Alice, before the host's own consent page. */
async function askOnOwnPage(options: TestHostOptions = {}): Promise<Asked> {
  const { consent, questions } = adapter(onOwnPage);
  const watched = watchedHost({ consent, ...options });
  const browser = watched.host.browser();
  const first = await authorize(browser, { client: "web", fields: both });
  expect(first.status).toBe(302);
  expect(outcomeOf(first)).toBe("/ask?interaction");
  return { ...watched, browser, id: interactionOf(first), questions };
}

interface Shown extends WatchedHost {
  readonly browser: Browser;
  readonly page: Response;
}

async function shown(): Promise<Shown> {
  const watched = watchedHost();
  const browser = watched.host.browser();
  return { ...watched, browser, page: await authorize(browser, { client: "web" }) };
}

/** A POST with the browser's cookies and these headers alone: no Origin unless it is one of them. */
function post({ host, browser }: Shown, fields: Fields, headers: Record<string, string>): Promise<Response> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath()}/authorize/consent`)
      .set({ Cookie: cookie, "Content-Type": "application/x-www-form-urlencoded", ...headers })
      .send(encode(fields)),
  );
}

function yes(page: Response): Fields {
  return { ...formFields(page.text), decision: "approve" };
}

/** Nothing was granted, and the person at the page can still say yes. */
async function expectNothingGranted({ host, writes, browser, page }: Shown): Promise<void> {
  expect(writes).toEqual([]);
  expect(host.events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
  expect(outcomeOf(await browser.answer(page, "approve"))).toBe("granted");
}

describe("the built-in page (RFC 6749 §10.2)", () => {
  it("says who asks for what, for whom, and where it leads", async () => {
    const page = await authorize(testHost().browser(), { client: "web", fields: both });
    expect(page.status).toBe(200);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.text).toContain("<h1>Allow <bdi>Web Shop</bdi> to use <bdi>Orders</bdi> for you?</h1>");
    expect(page.text).toContain("<bdi>Alice</bdi>");
    expect(page.text).toContain("<span>See your orders</span>");
    expect(page.text).toContain("<span>Change your orders</span>");
    expect(page.text).toContain("Either way you continue to <bdi>https://web.example</bdi>.");
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
    expect(page.text).toContain("Allow Web Shop to use orders for you?");
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
    expect(page.text).toContain("Either way you continue to <bdi>com.example.phone:</bdi>.");
  });

  it("has one form that posts what it needs, with every scope ticked", async () => {
    const browser = testHost().browser();
    const page = await authorize(browser, { client: "web", fields: both });
    expect(page.text.match(/<form[^>]*>/g)).toEqual([
      `<form method="post" action="${issuer}/authorize/consent">`,
    ]);
    const [cookie = ""] = browser.cookies.keys();
    expect(formFields(page.text)).toEqual({
      interaction: cookie.slice("__Host-authmount.".length),
      form_token: expect.stringMatching(/^[\w-]{43}$/),
      scope_0: "on",
      scope_1: "on",
    });
    expect(page.text.match(/<button[^>]*>[^<]*/g)).toEqual([
      '<button class="primary" name="decision" value="approve">Allow',
      '<button name="decision" value="deny">Do not allow',
    ]);
  });

  it("can be read by a screen reader and on a narrow screen", async () => {
    const page = await authorize(testHost().browser(), { client: "web", fields: both });
    expect(page.text).toContain('<html lang="en" dir="ltr">');
    expect(page.text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(page.text).toContain("<title>Allow Web Shop to use Orders for you?</title>");
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

describe("the answer on the built-in page (RFC 6749 §4.1.1, 9700 §4.12)", () => {
  it("yes: redirects with 303, code, state and iss", async () => {
    const browser = testHost().browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "approve");
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it("no: redirects with 303 and access_denied, and stores nothing", async () => {
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
    expect(writes).toEqual([]);
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
    const page = await authorize(browser, { client: "web", fields: both });
    const { code = "" } = redirectParameters(await browser.answer(page, "approve", fields));
    expect(grantedScopes(host)).toEqual([scope]);
    expect(await rememberedScopes(host)).toEqual([[scope]]);
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ scope });
  });

  it("yes with nothing ticked is a no", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: both });
    const none = { scope_0: undefined, scope_1: undefined };
    expect(outcomeOf(await browser.answer(page, "approve", none))).toBe("access_denied");
    expect(writes).toEqual([]);
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
      const visit = await shown();
      const answer = await post(visit, yes(visit.page), { Origin: origin, "Content-Type": type });
      expect(answer.status).toBe(400);
      expect(answer.text).toContain("The body must be application/x-www-form-urlencoded");
      await expectNothingGranted(visit);
    },
  );

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
    expect(late.text).toContain("was finished before");
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
    expect(changed.text).toContain("was finished before");
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

describe("a remembered consent (RFC 6749 §10.2)", () => {
  it.each([
    ["the same scopes", both, "granted"],
    ["the same scopes in another order", { scope: "orders:write orders:read" }, "granted"],
    ["fewer scopes", { scope: "orders:write" }, "granted"],
    ["the default scopes", { scope: undefined }, "granted"],
  ])("covers %s", async (_, fields, outcome) => {
    const host = testHost();
    await allow(host, { fields: both });
    expect(await outcomeOfVisit(host, { fields })).toBe(outcome);
  });

  it("gives fewer scopes when fewer were asked for", async () => {
    const host = testHost();
    await allow(host, { fields: both });
    await authorize(host.browser(), { client: "web", fields: { scope: "orders:write" } });
    expect(grantedScopes(host)).toEqual(["orders:write"]);
  });

  it.each([["orders:write"], ["orders:read orders:write"]])("does not cover more: %s", async (scope) => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { fields: { scope } })).toBe("asked");
  });

  it("grows with a second one", async () => {
    const host = testHost();
    await allow(host, { fields: { scope: "orders:read" } });
    await allow(host, { fields: { scope: "orders:write" } });
    expect(await rememberedScopes(host)).toEqual([["orders:read", "orders:write"]]);
    expect(await outcomeOfVisit(host, { fields: both })).toBe("granted");
  });

  it("shrinks by what is not ticked when it is asked again", async () => {
    const host = testHost();
    await allow(host, { fields: both });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: { ...both, prompt: "consent" } });
    await browser.answer(page, "approve", { scope_1: undefined });
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
    expect(await outcomeOfVisit(host, { fields: both })).toBe("asked");
  });

  it("stays as it is after a no", async () => {
    const host = testHost();
    await allow(host);
    const browser = host.browser();
    await browser.answer(await authorize(browser, { client: "web", fields: both }), "deny");
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
  });

  it.each([
    [999, "granted"],
    [1_000, "asked"],
  ])("after %i of 1,000 consentSeconds: %s", async (seconds, outcome) => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(seconds);
    expect(await outcomeOfVisit(host)).toBe(outcome);
  });

  it("lasts a year by default, from the last yes on", async () => {
    const host = testHost();
    await allow(host);
    clock.advance(1_000);
    await allow(host, { fields: { scope: "orders:write" } });
    const [consent] = await host.auth.consents.list("alice");
    expect(consent).toEqual({
      subject: "alice",
      clientId: "web",
      apiId: "orders",
      scopes: ["orders:read", "orders:write"],
      grantedAt: clock.now(),
      expiresAt: clock.now() + 31_536_000,
    });
  });

  it("is not made longer by being used", async () => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(999);
    expect(await outcomeOfVisit(host)).toBe("granted");
    clock.advance(1);
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("does not cover another end user", async () => {
    const host = testHost();
    await allow(host);
    host.session = bob;
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("does not cover another client", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { client: "other" })).toBe("asked");
  });

  it("does not cover another API", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("asked");
  });

  it("covers the API at every way of signing in: it is one end user's word to one client", async () => {
    const host = testHost();
    await allow(host);
    expect(await outcomeOfVisit(host, { pair: { method: "otp" } })).toBe("granted");
  });

  it("covers another redirect URI of the client", async () => {
    const more = "https://web.example/more";
    const client = { ...clients.web, redirectUris: [...clients.web.redirectUris, more] };
    const host = testHost({ clients: [client] });
    await allow(host);
    expect(await outcomeOfVisit(host, { fields: { redirect_uri: more } })).toBe("granted");
  });

  it("serves after a sign-in in the same interaction", async () => {
    const host = testHost();
    await allow(host);
    host.session = signedOut;
    const browser = host.browser();
    const id = interactionOf(await authorize(browser, { client: "web" }));
    const back = await browser.post("/signin", { interaction: id, subject: "alice" });
    const answer = await browser.follow(back);
    expect(answer.status).toBe(302);
    expect(outcomeOf(answer)).toBe("granted");
  });

  it("is not kept for scopes that the client may not have any more", async () => {
    const storage = memoryStorage({ clients: [clients.web] });
    await allow(testHost({ storage }), { fields: both });
    const reader = { ...clients.web, subscriptions: { orders: { scopes: ["orders:read"] } } };
    const narrowed = { ...storage, clients: memoryStorage({ clients: [reader] }).clients };
    expect(await outcomeOfVisit(testHost({ storage: narrowed }), { fields: both })).toBe("invalid_scope");
  });
});

describe("trust: who is never asked", () => {
  const trusted: readonly (readonly [string, object])[] = [
    ["client", { trusted: true }],
    ["subscription", { subscriptions: { orders: { trusted: true }, files: {} } }],
  ];

  it.each(trusted)(
    "a trusted %s gets its code on the first visit, and nothing is remembered",
    async (_, trust) => {
      const { consent, questions } = adapter({ kind: "denied" });
      const { host, writes } = watchedHost({ clients: [{ ...clients.web, ...trust }], consent });
      const answer = await authorize(host.browser(), { client: "web", fields: both });
      expect(answer.status).toBe(302);
      expect(outcomeOf(answer)).toBe("granted");
      expect(grantedScopes(host)).toEqual(["orders:read", "orders:write"]);
      expect(writes).toEqual(["authorizations.create", "authorizationCodes.create"]);
      expect(questions).toEqual([]);
    },
  );

  it.each(trusted)("except a trusted %s that asks for it: prompt=consent", async (_, trust) => {
    const host = testHost({ clients: [{ ...clients.web, ...trust }] });
    expect(await outcomeOfVisit(host, { fields: { prompt: "consent" } })).toBe("asked");
  });

  it("a trusted subscription counts for its API only", async () => {
    const subscriptions: Record<string, Subscription> = {
      orders: { trusted: true },
      files: { trusted: false },
    };
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    expect(await outcomeOfVisit(host)).toBe("granted");
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("asked");
  });

  it("a trusted client is not asked at any API, whatever its subscription says", async () => {
    const subscriptions = { files: { trusted: false } };
    const host = testHost({ clients: [{ ...clients.web, trusted: true, subscriptions }] });
    expect(await outcomeOfVisit(host, { pair: { api: "files" } })).toBe("granted");
  });

  it("trust gives no scope beyond the subscription", async () => {
    const subscriptions = { orders: { scopes: ["orders:read"], trusted: true } };
    const host = testHost({ clients: [{ ...clients.web, subscriptions }] });
    expect(await outcomeOfVisit(host, { fields: both })).toBe("invalid_scope");
  });

  it("a trusted client still needs somebody to be signed in", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    host.session = signedOut;
    expect(await outcomeOfVisit(host)).toBe("/signin?interaction");
  });
});

describe("prompt=consent (OpenID Connect Core §3.1.2.1)", () => {
  const fields = { ...both, prompt: "consent" };

  it("asks although consent is remembered", async () => {
    const host = testHost();
    await allow(host, { fields: both });
    expect(await outcomeOfVisit(host, { fields })).toBe("asked");
  });

  it("asks once: the answer counts", async () => {
    const host = testHost();
    await allow(host, { fields: both });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields });
    const answer = await browser.answer(page, "approve");
    expect(answer.status).toBe(303);
    expect(outcomeOf(answer)).toBe("granted");
  });

  it("asks a trusted client's end user once", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields });
    expect(outcomeOf(await browser.answer(page, "approve", { scope_1: undefined }))).toBe("granted");
    expect(grantedScopes(host)).toEqual(["orders:read"]);
  });

  it("asks each time", async () => {
    const host = testHost();
    for (let time = 0; time < 3; time += 1) await allow(host, { fields });
  });

  it("asks the host's adapter, which sees the prompt", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ clients: [{ ...clients.web, trusted: true }], consent });
    expect(await outcomeOfVisit(host, { fields })).toBe("asked");
    expect(questions).toEqual([expect.objectContaining({ prompt: ["consent"] })]);
  });
});

describe("redirects that do not prove the client (RFC 8252 §8.6, 9700 §4.11.2)", () => {
  const custom = "com.example.phone:/callback";
  const loopback = "http://127.0.0.1:49152/callback";
  const https = "https://phone.example/callback";

  it.each([
    ["a custom scheme", custom, "asked"],
    ["a loopback port", loopback, "asked"],
    ["https", https, "granted"],
  ])("a native client with %s (%s) and a remembered consent is %s", async (_, redirectUri, outcome) => {
    const host = testHost();
    const asked = { client: "native", fields: { redirect_uri: redirectUri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe(outcome);
  });

  it("does not matter by which redirect the consent was given", async () => {
    const host = testHost();
    await allow(host, { client: "native", fields: { redirect_uri: https } });
    const asked = { client: "native", fields: { redirect_uri: custom } } as const;
    expect(await outcomeOfVisit(host, asked)).toBe("asked");
    await allow(host, asked);
    const byHttps = { client: "native", fields: { redirect_uri: https } } as const;
    expect(await outcomeOfVisit(host, byHttps)).toBe("granted");
  });

  it("a confidential client is not asked again, on loopback for development too", async () => {
    const redirectUri = "http://localhost:3000/callback";
    const host = testHost({ clients: [{ ...clients.web, redirectUris: [redirectUri] }] });
    const asked = { client: "web", fields: { redirect_uri: redirectUri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe("granted");
  });

  const loopbacks = ["http://localhost:3000/callback", "http://127.0.0.1:3000/", "http://[::1]:3000/"];

  it.each(loopbacks)("a browser client is asked again at %s: any program may listen there", async (uri) => {
    const host = testHost({ clients: [{ ...clients.spa, redirectUris: [uri] }] });
    const asked = { client: "spa", fields: { redirect_uri: uri } } as const;
    await allow(host, asked);
    expect(await outcomeOfVisit(host, asked)).toBe("asked");
    const silent = { client: "spa", fields: { redirect_uri: uri, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("consent_required");
  });

  it("a trusted browser client is not asked on loopback: so silent refresh works in development", async () => {
    const redirectUri = "http://localhost:3000/callback";
    const subscriptions = { orders: { trusted: true } };
    const host = testHost({ clients: [{ ...clients.spa, redirectUris: [redirectUri], subscriptions }] });
    const silent = { client: "spa", fields: { redirect_uri: redirectUri, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("granted");
  });

  it("a trusted native client is not asked: the host vouches for it", async () => {
    const host = testHost({ clients: [{ ...clients.native, trusted: true }] });
    for (const redirectUri of [custom, loopback, https]) {
      const asked = { client: "native", fields: { redirect_uri: redirectUri } } as const;
      expect(await outcomeOfVisit(host, asked)).toBe("granted");
    }
  });

  it("prompt=none is consent_required although consent is remembered", async () => {
    const host = testHost();
    const asked = { client: "native", fields: { redirect_uri: custom } } as const;
    await allow(host, asked);
    const silent = { client: "native", fields: { redirect_uri: custom, prompt: "none" } } as const;
    expect(await outcomeOfVisit(host, silent)).toBe("consent_required");
  });
});

describe("the host's ConsentAdapter", () => {
  it("is asked with who, for what and for whom", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ consent });
    const fields = { ...both, login_hint: "al", ui_locales: "de" };
    await authorize(host.browser(), { client: "web", fields });
    expect(questions).toEqual([
      {
        path: expect.any(String),
        subject: "alice",
        authMethodId: "password",
        api: { apiId: "orders", name: "Orders", audience: "https://api.example/orders" },
        client: { clientId: "web", name: "Web Shop", confidential: true },
        destination: "https://web.example",
        scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
        impliedScopes: {},
        prompt: [],
        maxAge: undefined,
        loginHint: "al",
        uiLocales: "de",
      },
    ]);
  });

  it("is not asked when a remembered consent covers the scopes", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ consent });
    await allow(host);
    questions.length = 0;
    expect(await outcomeOfVisit(host)).toBe("granted");
    expect(questions).toEqual([]);
  });

  it("is not asked when nobody is signed in", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ consent });
    host.session = signedOut;
    await authorize(host.browser(), { client: "web" });
    expect(questions).toEqual([]);
  });

  it("may answer with a promise", async () => {
    const consent = { decide: async (): Promise<ConsentAnswer> => ({ kind: "denied" }) };
    expect(await outcomeOfVisit(testHost({ consent }))).toBe("access_denied");
  });

  it.each([
    ["all", ["orders:read", "orders:write"]],
    ["some", ["orders:write"]],
  ])("grants %s scopes without a page, and is asked again the next time", async (_, scopes) => {
    const { consent, questions } = adapter({ kind: "granted", scopes });
    const host = testHost({ consent });
    for (let time = 1; time <= 2; time += 1) {
      const answer = await authorize(host.browser(), { client: "web", fields: both });
      expect(answer.status).toBe(302);
      expect(outcomeOf(answer)).toBe("granted");
      expect(questions).toHaveLength(time);
    }
    expect(grantedScopes(host)).toEqual(scopes);
    expect(await rememberedScopes(host)).toEqual([]);
  });

  it("denies by granting none of the scopes", async () => {
    const { consent } = adapter({ kind: "granted", scopes: [] });
    expect(await outcomeOfVisit(testHost({ consent }))).toBe("access_denied");
  });

  it("grants a request without scopes", async () => {
    const { consent } = adapter({ kind: "granted", scopes: [] });
    const asked = { pair: { api: "files" }, fields: { scope: undefined } } as const;
    expect(await outcomeOfVisit(testHost({ consent }), asked)).toBe("granted");
  });

  it("denies", async () => {
    const { consent } = adapter({ kind: "denied" });
    const { host, writes } = watchedHost({ consent });
    expect(await outcomeOfVisit(host)).toBe("access_denied");
    expect(writes).toEqual([]);
  });

  it("lets the built-in page ask, whose answer is remembered", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ consent });
    await allow(host);
    expect(await rememberedScopes(host)).toEqual([["orders:read"]]);
    // the answer on the page is the end user's own: nobody else decides it
    expect(questions).toHaveLength(1);
  });
});

describe("a consent page of the host: auth.approve and auth.deny", () => {
  it("knows who is asking for what", async () => {
    const { browser, id } = await askOnOwnPage();
    expect((await browser.get("/signin", { interaction: id })).body).toMatchObject({
      interactionId: id,
      client: { clientId: "web", name: "Web Shop" },
      scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
    });
  });

  it.each([
    ["all by saying nothing", undefined, ["orders:read", "orders:write"]],
    ["all", "orders:read orders:write", ["orders:read", "orders:write"]],
    ["some", "orders:write", ["orders:write"]],
  ])("approves %s, and it is remembered", async (_, scopes, expected) => {
    const { host, browser, id, questions } = await askOnOwnPage();
    const answer = await browser.post("/allow", { interaction: id, scopes });
    expect(answer.status).toBe(303);
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
    expect(grantedScopes(host)).toEqual(expected);
    expect(await rememberedScopes(host)).toEqual([expected]);
    expect(await outcomeOfVisit(host, { fields: { scope: expected.join(" ") } })).toBe("granted");
    expect(questions).toHaveLength(1);
  });

  it.each([
    ["a scope that was not asked for", "orders:read files:read"],
    ["a scope that does not exist", "orders:everything"],
    ["a malformed list", "orders:read  orders:write"],
  ])("approves nothing with %s: server_error, told to the host", async (_, scopes) => {
    const { host, writes, browser, id } = await askOnOwnPage();
    const answer = await browser.post("/allow", { interaction: id, scopes });
    expect(answer.status).toBe(303);
    expect(outcomeOf(answer)).toBe("server_error");
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause: expect.any(TypeError) });
    expect(writes).toEqual([]);
  });

  it("denies by approving none", async () => {
    const { host, writes, browser, id } = await askOnOwnPage();
    host.app.post("/none", (req, res) => host.auth.approve(req, res, { scopes: [] }));
    expect(outcomeOf(await browser.post(`/none?interaction=${id}`))).toBe("access_denied");
    expect(writes).toEqual([]);
  });

  it("denies with auth.deny", async () => {
    const { host, writes, browser, id } = await askOnOwnPage();
    const answer = await browser.post("/cancel", { interaction: id });
    expect(answer.status).toBe(303);
    expect(outcomeOf(answer)).toBe("access_denied");
    expect(writes).toEqual([]);
    expect(await outcomeOfVisit(host)).toBe("/ask?interaction");
  });

  it("goes there again when the person comes back by resume without an answer", async () => {
    const { writes, browser, id } = await askOnOwnPage();
    const back = await browser.get(`${pairPath()}/authorize/resume?interaction=${id}`);
    expect(back.headers["location"]).toBe(`/ask?interaction=${id}`);
    expect(writes).toEqual([]);
  });

  it("comes after a sign-in in the same interaction", async () => {
    const { consent } = adapter(onOwnPage);
    const host = testHost({ consent });
    host.session = signedOut;
    const browser = host.browser();
    const id = interactionOf(await authorize(browser, { client: "web" }));
    const asked = await browser.follow(await browser.post("/signin", { interaction: id, subject: "alice" }));
    expect(asked.headers["location"]).toBe(`/ask?interaction=${id}`);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it("answers prompt=consent once", async () => {
    const { consent } = adapter(onOwnPage);
    const host = testHost({ consent, clients: [{ ...clients.web, trusted: true }] });
    const browser = host.browser();
    const id = interactionOf(await authorize(browser, { client: "web", fields: { prompt: "consent" } }));
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it("is asked each time for a native client's custom scheme (RFC 8252 §8.6)", async () => {
    const { consent, questions } = adapter(onOwnPage);
    const host = testHost({ consent });
    for (let time = 1; time <= 2; time += 1) {
      const browser = host.browser();
      const id = interactionOf(await authorize(browser, { client: "native" }));
      expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
      expect(questions).toHaveLength(time);
    }
  });

  it.each(["get", "put", "patch", "delete"] as const)("approves nothing by %s", async (method) => {
    const { host, writes, browser, id } = await askOnOwnPage();
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await request(host.app)[method](`/allow?interaction=${id}`).set("Cookie", cookie);
    expect(answer.status).toBe(500);
    expect(answer.headers["location"]).toBeUndefined();
    expect(writes).toEqual([]);
    const { cause } = host.events.at(-1) as { cause?: unknown };
    expect(cause).toEqual(new TypeError("auth.approve serves a POST only: a link must not approve."));
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it.each([
    ["another site", { Origin: "https://evil.example" }],
    ["a sibling domain", { Origin: "https://evil.host.example" }],
    ["the host over http", { Origin: "http://host.example" }],
    ["another port", { Origin: "https://host.example:8443" }],
    ["a sandboxed frame", { Origin: "null" }],
  ])("approves nothing from %s (RFC 6749 §10.12)", async (_, headers) => {
    const { writes, browser, id } = await askOnOwnPage();
    const answer = await browser.post("/allow", { interaction: id }, headers);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("The form was not sent from this site.");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it.each([
    ["without an interaction", {}],
    ["for an unknown one", { interaction: "A".repeat(22) }],
  ])("approves nothing %s", async (_, fields) => {
    const { writes, browser, id } = await askOnOwnPage();
    expect((await browser.post("/allow", fields)).status).toBe(400);
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it("approves nothing in another browser", async () => {
    const { host, writes, browser, id } = await askOnOwnPage();
    expect((await host.browser().post("/allow", { interaction: id })).status).toBe(400);
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it("approves nothing for another end user than was asked: they are asked themselves", async () => {
    const { host, writes, browser, id, questions } = await askOnOwnPage();
    host.session = bob;
    const answer = await browser.post("/allow", { interaction: id });
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toBe(`/ask?interaction=${id}`);
    expect(writes).toEqual([]);
    expect(questions.map(({ subject }) => subject)).toEqual(["alice", "bob"]);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", subject: "bob" });
    expect(await rememberedScopes(host)).toEqual([]);
  });

  it("approves nothing once the end user has signed out", async () => {
    const { host, writes, browser, id } = await askOnOwnPage();
    host.session = signedOut;
    const answer = await browser.post("/allow", { interaction: id });
    expect(answer.status).toBe(303);
    expect(answer.headers["location"]).toBe(`/signin?interaction=${id}`);
    expect(writes).toEqual([]);
  });

  it("approves nothing where consent was not asked: the sign-in page's interaction", async () => {
    const { consent, questions } = adapter(onOwnPage);
    const { host, writes } = watchedHost({ consent });
    host.session = signedOut;
    const browser = host.browser();
    const id = interactionOf(await authorize(browser, { client: "web" }));
    host.session = signedIn;
    const answer = await browser.post("/allow", { interaction: id });
    expect(answer.headers["location"]).toBe(`/ask?interaction=${id}`);
    expect(writes).toEqual([]);
    expect(questions).toHaveLength(1);
  });

  it.each([
    ["/allow", "/cancel"],
    ["/cancel", "/allow"],
  ])("takes %s again for a moment, and no %s any more", async (answer, other) => {
    const { host, writes, browser, id } = await askOnOwnPage();
    expect((await browser.post(answer, { interaction: id })).status).toBe(303);
    writes.length = 0;
    expect((await browser.post(other, { interaction: id })).status).toBe(400);
    expect(writes).toEqual([]);
    expect((await browser.get("/signin", { interaction: id })).body).toEqual({ nothing: "pending" });
    expect((await browser.post(answer, { interaction: id })).status).toBe(303);
    clock.advance(30);
    expect((await browser.post(answer, { interaction: id })).status).toBe(400);
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-denied", error: "invalid_request" });
  });

  it("comes too late after interactionSeconds", async () => {
    const { writes, browser, id } = await askOnOwnPage();
    clock.advance(600);
    expect((await browser.post("/allow", { interaction: id })).status).toBe(400);
    expect(writes).toEqual([]);
  });
});

describe("forged answers on the built-in page (RFC 6749 §10.12, 9700 §4.7)", () => {
  it.each([
    ["missing", undefined],
    ["empty", ""],
    ["guessed", "A".repeat(43)],
    ["too short", "A"],
    ["beyond ASCII", "é".repeat(43)],
  ])("with a form_token that is %s: the page is shown anew", async (_, formToken) => {
    const visit = await shown();
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: formToken });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with a repeated form_token: the page is shown anew", async () => {
    const visit = await shown();
    const { form_token: token = "" } = formFields(visit.page.text);
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: [token, token] });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with the form_token of another interaction", async () => {
    const visit = await shown();
    const other = await authorize(visit.browser, { client: "web", fields: both });
    const { form_token: token } = formFields(other.text);
    const answer = await visit.browser.answer(visit.page, "approve", { form_token: token });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

  it("with the form_token of another end user", async () => {
    const visit = await shown();
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
    const visit = await shown();
    const attacker = visit.host.browser();
    visit.host.session = bob;
    const theirs = await authorize(attacker, { client: "other" });
    visit.host.session = signedIn;
    const answer = await visit.browser.post(`${pairPath()}/authorize/consent`, yes(theirs));
    expect(answer.status).toBe(400);
    await expectNothingGranted(visit);
  });

  it("may not deny either", async () => {
    const visit = await shown();
    const answer = await visit.browser.answer(visit.page, "deny", { form_token: "A".repeat(43) });
    expect(outcomeOf(answer)).toBe("asked");
    await expectNothingGranted(visit);
  });

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
    const visit = await shown();
    const answer = await post(visit, yes(visit.page), headers);
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
    const visit = await shown();
    expect(outcomeOf(await post(visit, yes(visit.page), headers))).toBe("granted");
  });

  it("without the cookie: refused on a page", async () => {
    const visit = await shown();
    const answer = await visit.host.browser().post(`${pairPath()}/authorize/consent`, yes(visit.page));
    expect(answer.status).toBe(400);
    await expectNothingGranted(visit);
  });

  it.each([
    ["missing", undefined],
    ["unknown", "A".repeat(22)],
  ])("with an interaction that is %s: refused on a page", async (_, interaction) => {
    const visit = await shown();
    expect((await visit.browser.answer(visit.page, "approve", { interaction })).status).toBe(400);
    await expectNothingGranted(visit);
  });

  it("in the URL instead of the form: refused on a page", async () => {
    const visit = await shown();
    const path = `${pairPath()}/authorize/consent?${encode(yes(visit.page))}`;
    expect((await visit.browser.post(path)).status).toBe(400);
    await expectNothingGranted(visit);
  });
});

describe("the end user changes between page and answer", () => {
  it("to another: they see the page, and nothing is granted for either", async () => {
    const { host, writes } = watchedHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = bob;
    const anew = await browser.answer(page, "approve");
    expect(outcomeOf(anew)).toBe("asked");
    expect(anew.text).toContain("<bdi>Bob</bdi>");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(anew, "approve"))).toBe("granted");
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", subject: "bob" });
    expect(await rememberedScopes(host, "alice")).toEqual([]);
    expect(await rememberedScopes(host, "bob")).toEqual([["orders:read"]]);
  });

  it("to another whose no is not taken from the first one's page", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = bob;
    expect(outcomeOf(await browser.answer(page, "deny"))).toBe("asked");
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
    const anew = await browser.follow(await browser.post("/signin", { interaction: id, subject: "alice" }));
    expect(outcomeOf(anew)).toBe("asked");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(anew, "approve"))).toBe("granted");
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

describe("the account page: auth.consents", () => {
  it("lists an end user's consents and nobody else's", async () => {
    const host = testHost();
    await allow(host, { fields: both });
    await allow(host, { client: "spa", pair: { api: "files" } });
    host.session = bob;
    await allow(host);
    const times = { grantedAt: clock.now(), expiresAt: clock.now() + 31_536_000 };
    const byAlice = { subject: "alice", ...times };
    expect(await host.auth.consents.list("alice")).toEqual([
      { ...byAlice, clientId: "web", apiId: "orders", scopes: ["orders:read", "orders:write"] },
      { ...byAlice, clientId: "spa", apiId: "files", scopes: ["files:read"] },
    ]);
    expect(await rememberedScopes(host, "bob")).toEqual([["orders:read"]]);
    expect(await host.auth.consents.list("nobody")).toEqual([]);
  });

  it("lists none that has expired", async () => {
    const host = testHost({ lifetimes: { consentSeconds: 1_000 } });
    await allow(host);
    clock.advance(1_000);
    expect(await host.auth.consents.list("alice")).toEqual([]);
  });

  it("revokes one: the end user is asked again, and the host hears of it", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect(await host.auth.consents.list("alice")).toEqual([]);
    expect(host.events.at(-1)).toEqual({
      at: clock.now(),
      kind: "consent-revoked",
      subject: "alice",
      clientId: "web",
      apiId: "orders",
    });
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("revokes what descends from it: code, access token and refresh token, at every way of signing in", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const tokens = await obtainTokens(host, { client: "web" });
    const otp = { method: "otp" } as const;
    const otpTokens = await obtainTokens(host, { client: "web", pair: otp });
    const code = await obtainCode(host, { client: "web" });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect((await redeem(host, { client: "web", code })).body).toMatchObject({ error: "invalid_grant" });
    for (const [pair, held] of [
      [{}, tokens],
      [otp, otpTokens],
    ] as const) {
      const { access_token: accessToken, refresh_token: refreshToken = "" } = held;
      expect((await callApi(host, "/orders", accessToken)).status).toBe(401);
      expect((await refresh(host, { client: "web", refreshToken, pair })).body).toMatchObject({
        error: "invalid_grant",
      });
    }
  });

  it.each<[string, { client?: ClientName; pair?: CodeRequest["pair"]; as?: Authentication }]>([
    ["another end user's", { as: bob }],
    ["another client's", { client: "other" }],
    ["another API's", { pair: { api: "files" } }],
  ])("leaves %s consent and tokens", async (_, { client = "web", pair = {}, as = signedIn }) => {
    const host = testHost({ revocationLagSeconds: 0 });
    await allow(host);
    host.session = as;
    const { access_token: accessToken } = await obtainTokens(host, { client, pair });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    expect(await outcomeOfVisit(host, { client, pair })).toBe("granted");
    expect((await callApi(host, `/${pair.api ?? "orders"}`, accessToken)).status).toBe(200);
  });

  it("revokes nothing that does not exist, without an error", async () => {
    const host = testHost();
    await allow(host);
    await host.auth.consents.revoke({ subject: "alice", clientId: "nobody", apiId: "orders" });
    expect(await outcomeOfVisit(host)).toBe("granted");
  });

  it("takes no yes of a page that was open during the revocation", async () => {
    const host = testHost();
    await allow(host);
    const browser = host.browser();
    const page = await authorize(browser, { client: "web", fields: both });
    await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
    const answer = await browser.answer(page, "approve", { scope_0: undefined });
    expect(outcomeOf(answer)).toBe("access_denied");
    expect(await rememberedScopes(host)).toEqual([]);
    const anew = await authorize(browser, { client: "web", fields: both });
    expect(outcomeOf(await browser.answer(anew, "approve"))).toBe("granted");
  });
});
