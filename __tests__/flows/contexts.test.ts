import type { Authentication, ConsentAnswer } from "../../lib";
import { authorize, redirectParameters } from "../browser/authorize";
import { introspect, refresh } from "../requests/client-requests";
import { trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { onOwnPage, outcomeOf, outcomeOfVisit } from "../browser/consent";
import {
  aliceIn,
  before,
  bikes,
  choose,
  contextHost,
  contextKeys,
  loginKeys,
  tea,
  toldOf,
  tokensFor,
} from "../hosts/contexts";
import { bob, signedIn, type TestHost, testHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { tokensOf } from "../requests/token-requests";

stopClockForEachTest();

describe("a context is set", () => {
  it("by authenticate", async () => {
    const made = contextHost();
    made.host.session = aliceIn(tea);
    await obtainTokens(made.host, { client: "web" });
    expect(toldOf(made)).toEqual([tea]);
  });

  it("by authenticate, for a trusted client too", async () => {
    const made = contextHost({ kind: "denied" }, { clients: [trustedWeb] });
    made.host.session = aliceIn(tea);
    await obtainTokens(made.host, { client: "web" });
    expect(toldOf(made)).toEqual([tea]);
    expect(await contextKeys(made.host)).toEqual([]);
  });

  it.each([undefined, bikes])("by consent.decide, in place of that of authenticate (%j)", async (first) => {
    const made = contextHost({ kind: "granted", scopes: ["orders:read"], context: tea });
    made.host.session = aliceIn(first);
    await obtainTokens(made.host, { client: "web" });
    expect(toldOf(made)).toEqual([tea]);
    expect(await loginKeys(made.host)).toEqual(["org-tea"]);
    expect(await contextKeys(made.host)).toEqual([]);
  });

  it.each([undefined, bikes])("by auth.approve, in place of that of authenticate (%j)", async (first) => {
    const made = contextHost();
    made.host.session = aliceIn(first);
    await choose(made, tea);
    expect(toldOf(made)).toEqual([tea]);
    expect(await contextKeys(made.host)).toEqual(["org-tea"]);
  });

  it.each(["consent.decide", "auth.approve"])("by authenticate, where %s names none", async (where) => {
    const made = contextHost({ kind: "granted", scopes: ["orders:read"] });
    made.host.session = aliceIn(tea);
    if (where === "auth.approve") await choose(made);
    else await obtainTokens(made.host, { client: "web" });
    expect(toldOf(made)).toEqual([tea]);
  });

  it("with the scopes that auth.approve allows", async () => {
    const made = contextHost(onOwnPage);
    const browser = made.host.browser();
    const fields = { scope: "orders:read orders:write" };
    const interaction = interactionOf(await authorize(browser, { client: "web", fields }));
    made.approval = { scopes: ["orders:read"], context: tea };
    const { code = "" } = redirectParameters(await browser.post("/choose", { interaction }));
    expect(await tokensFor(made.host, code)).toMatchObject({ scope: "orders:read" });
    expect(toldOf(made)).toEqual([tea]);
  });

  it("and consent.decide is asked in the one of authenticate", async () => {
    const told: unknown[] = [];
    const host = testHost({
      consent: {
        decide(question) {
          told.push(question.context, "context" in question);
          return { kind: "denied" };
        },
      },
    });
    await outcomeOfVisit(host);
    host.session = aliceIn(tea);
    await outcomeOfVisit(host);
    expect(told).toEqual([undefined, false, tea, true]);
  });
});

describe("a context is kept by the authorization (RFC 6749 §1.3)", () => {
  it("and given to tokens.decide at the exchange and each refresh, whatever authenticate names later", async () => {
    const made = contextHost();
    const { host } = made;
    host.session = aliceIn(tea);
    const code = await obtainCode(host, { client: "web" });
    host.session = aliceIn(bikes);
    const first = await tokensFor(host, code);
    await obtainTokens(host, { client: "web" });
    const { refresh_token: refreshToken } = first;
    const again = tokensOf(await refresh(host, { client: "web", refreshToken }));
    await refresh(host, { client: "web", refreshToken: again.refresh_token });
    expect(toldOf(made)).toEqual([tea, bikes, tea, tea]);
  });

  it("as it was: what the host does with its object later changes nothing", async () => {
    const made = contextHost();
    const own = { key: "org-tea", data: { roles: ["buyer"] } };
    made.host.session = aliceIn(own);
    const code = await obtainCode(made.host, { client: "web" });
    own.key = "org-bikes";
    own.data.roles.push("owner");
    const { refresh_token: refreshToken } = await tokensFor(made.host, code);
    const expected = { key: "org-tea", data: { roles: ["buyer"] } };
    expect(toldOf(made)).toEqual([expected]);
    Object.assign(made.asked[0]?.authorization?.context ?? {}, { key: "org-bikes", data: {} });
    await refresh(made.host, { client: "web", refreshToken });
    expect(toldOf(made)[1]).toEqual(expected);
  });

  it("and APIs and clients see nothing of it", async () => {
    const { host } = contextHost();
    host.session = aliceIn(tea);
    const { access_token, ...others } = await obtainTokens(host, { client: "web" });
    const seen = [
      (await callApi(host, "/orders", access_token)).body,
      (await introspect(host, { client: "web", token: access_token })).body,
      JSON.parse(Buffer.from(access_token.split(".")[1] ?? "", "base64url").toString()),
      others,
    ];
    expect(JSON.stringify(seen)).not.toMatch(/context|org-tea|Tea Traders/);
  });

  it("and authorizations.list gives its key, not its data", async () => {
    const { host } = contextHost();
    host.session = aliceIn(tea);
    await obtainTokens(host, { client: "web" });
    const { authorizations } = await host.auth.authorizations.list("alice");
    expect(authorizations).toEqual([expect.objectContaining({ contextKey: "org-tea" })]);
    expect(JSON.stringify(authorizations)).not.toContain("Tea Traders");
  });

  it.each(["x".repeat(128), "🍵".repeat(64), " ", "constructor", 'a "b" \\ <c>'])(
    "with any key of up to 128 characters: %j",
    async (key) => {
      const made = contextHost();
      made.host.session = aliceIn({ key });
      await obtainTokens(made.host, { client: "web" });
      expect(toldOf(made)).toEqual([{ key }]);
      expect(await contextKeys(made.host)).toEqual([key]);
    },
  );

  it("with data of exactly 1 KB as JSON", async () => {
    const data = { text: "x".repeat(1_024 - '{"text":""}'.length) };
    const made = contextHost();
    made.host.session = aliceIn({ key: "org-tea", data });
    await obtainTokens(made.host, { client: "web" });
    expect(toldOf(made)).toEqual([{ key: "org-tea", data }]);
  });
});

describe("a consent is remembered for the key of its context (RFC 6749 §10.2)", () => {
  it("and for no other", async () => {
    const { host } = contextHost();
    host.session = aliceIn(tea);
    await obtainCode(host, { client: "web" });
    expect(await outcomeOfVisit(host)).toBe("granted");
    for (const other of [bikes, undefined, { key: "ORG-TEA" }, { key: "org-tea " }]) {
      host.session = aliceIn(other);
      expect(await outcomeOfVisit(host)).toBe("asked");
    }
    host.session = { ...bob, context: tea };
    expect(await outcomeOfVisit(host)).toBe("asked");
  });

  it("whatever the data", async () => {
    const made = contextHost();
    made.host.session = aliceIn(tea);
    await obtainCode(made.host, { client: "web" });
    const changed = { key: tea.key, data: { name: "Tea & Co" } };
    made.host.session = aliceIn(changed);
    await tokensFor(
      made.host,
      redirectParameters(await authorize(made.host.browser(), { client: "web" }))["code"] ?? "",
    );
    expect(toldOf(made)).toEqual([changed]);
  });

  it("with the scopes of each", async () => {
    const { host } = contextHost();
    host.session = aliceIn(tea);
    await obtainCode(host, { client: "web", fields: { scope: "orders:read orders:write" } });
    host.session = aliceIn(bikes);
    await obtainCode(host, { client: "web" });
    const listed = (await host.auth.consents.list("alice")).consents;
    expect(Object.fromEntries(listed.map(({ contextKey, scopes }) => [contextKey, scopes]))).toEqual({
      "org-tea": ["orders:read", "orders:write"],
      "org-bikes": ["orders:read"],
    });
    expect(await outcomeOfVisit(host, { fields: { scope: "orders:write" } })).toBe("asked");
  });

  it("as auth.approve names it, not as authenticate did", async () => {
    const made = contextHost();
    const { host } = made;
    host.session = aliceIn(bikes);
    await choose(made, tea);
    expect(await outcomeOfVisit(host)).toBe("/ask?interaction");
    host.session = aliceIn(tea);
    expect(await outcomeOfVisit(host)).toBe("granted");
  });

  it.each<[string, ConsentAnswer, string]>([
    ["consent_required", { kind: "ask" }, "ask"],
    ["interaction_required", onOwnPage, "interaction"],
  ])("so prompt=none in another is %s (OpenID Connect Core §3.1.2.6)", async (error, answer) => {
    const made = contextHost();
    const { host } = made;
    host.session = aliceIn(tea);
    await obtainCode(host, { client: "web" });
    made.answer = answer;
    const silent = { fields: { prompt: "none" } };
    expect(await outcomeOfVisit(host, silent)).toBe("granted");
    for (const other of [bikes, undefined]) {
      host.session = aliceIn(other);
      expect(await outcomeOfVisit(host, silent)).toBe(error);
    }
  });
});

describe("a page that was shown in one context cannot be answered in another (RFC 6749 §10.12)", () => {
  const changes = [
    ["another", tea, bikes],
    ["none", tea, undefined],
    ["one", undefined, tea],
  ] as const;

  it.each(changes)("built-in page, then %s: it is shown again", async (_, shown, now) => {
    const made = contextHost();
    const { host, writes } = made;
    host.session = aliceIn(shown);
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = aliceIn(now);
    const again = await browser.answer(page, "approve");
    expect(outcomeOf(again)).toBe("asked");
    expect(writes).toEqual([]);
    // the old form counts no more, the new one does
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("asked");
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.answer(again, "approve"))).toBe("granted");
    expect(await contextKeys(host)).toEqual([now?.key ?? ""]);
  });

  it.each(changes)("the host's page, then %s: it is shown again", async (_, shown, now) => {
    const made = contextHost(onOwnPage);
    const { host, writes } = made;
    host.session = aliceIn(shown);
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = aliceIn(now);
    const again = await browser.post("/choose", { interaction });
    expect(outcomeOf(again)).toBe("/ask?interaction");
    // a second click on the page that is still there answers nothing else
    expect(outcomeOf(await browser.post("/choose", { interaction }))).toBe("/ask?interaction");
    expect(writes).toEqual([]);
    const ofNewPage = { interaction: interactionOf(again) };
    expect(outcomeOf(await browser.post("/choose", ofNewPage))).toBe("granted");
    expect(await contextKeys(host)).toEqual([now?.key ?? ""]);
  });

  it("the host's page that was shown again without a context does not count in the first one", async () => {
    const { host, writes } = contextHost(onOwnPage);
    host.session = aliceIn(tea);
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = signedIn;
    const again = interactionOf(await browser.post("/choose", { interaction }));
    host.session = aliceIn(tea);
    expect(outcomeOf(await browser.post("/choose", { interaction: again }))).toBe("/ask?interaction");
    expect(writes).toEqual([]);
  });

  it("the host's page that lets the person choose names the context itself", async () => {
    const made = contextHost(onOwnPage);
    const { host } = made;
    host.session = aliceIn(tea);
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = aliceIn(bikes);
    made.approval = { context: tea };
    const { code = "" } = redirectParameters(await browser.post("/choose", { interaction }));
    await tokensFor(host, code);
    expect(toldOf(made)).toEqual([tea]);
  });

  it("nor by somebody else", async () => {
    const made = contextHost(onOwnPage);
    const { host, writes } = made;
    const browser = host.browser();
    const interaction = await before(browser);
    host.session = bob;
    made.approval = { context: tea };
    expect(outcomeOf(await browser.post("/choose", { interaction }))).toBe("/ask?interaction");
    expect(writes).toEqual([]);
  });
});

const circle: Record<string, unknown> = {};
circle["self"] = circle;

const badContexts: readonly (readonly [string, unknown])[] = [
  ["undefined", undefined],
  ["null", null],
  ["text", "org-tea"],
  ["a list", ["org-tea"]],
  ["a promise", Promise.resolve(tea)],
  ["no key", {}],
  ["only data", { data: {} }],
  ["a key that is undefined", { key: undefined }],
  ["a key that is a number", { key: 7 }],
  ["an empty key", { key: "" }],
  ["a key of 129 characters", { key: "x".repeat(129) }],
  ["a key with a lone surrogate", { key: "org-\ud800" }],
  ["a key with NUL", { key: "org-\0" }],
  ["an unknown name", { key: "org-tea", name: "Tea Traders" }],
  ["data over 1 KB", { key: "org-tea", data: { text: "x".repeat(1_024) } }],
  ["data over 1 KB in bytes only", { key: "org-tea", data: { text: "é".repeat(600) } }],
  ["data that is undefined", { key: "org-tea", data: undefined }],
  ["data that is null", { key: "org-tea", data: null }],
  ["data that is a list", { key: "org-tea", data: [] }],
  ["data that is text", { key: "org-tea", data: "Tea Traders" }],
  ["data with a function", { key: "org-tea", data: { name: () => "Tea Traders" } }],
  ["data with undefined", { key: "org-tea", data: { name: undefined } }],
  ["data with NaN", { key: "org-tea", data: { count: NaN } }],
  ["data with a bigint", { key: "org-tea", data: { count: 1n } }],
  ["data with a Map", { key: "org-tea", data: { names: new Map() } }],
  ["data in a circle", { key: "org-tea", data: circle }],
];

function expectCause({ events }: TestHost, by: string): void {
  expect(events.at(-1)).toMatchObject({ kind: "server-error", cause: expect.any(TypeError) });
  const { cause } = events.at(-1) as unknown as { cause: TypeError };
  expect(cause.message).toMatch(new RegExp(`^${by}.*: context`));
}

describe("a context that is not valid (RFC 6749 §4.1.2.1)", () => {
  it.each(badContexts)("is a server_error of authenticate: %s", async (_, context) => {
    const { host, writes } = contextHost({ kind: "granted", scopes: ["orders:read"] });
    host.session = { ...signedIn, context } as Authentication;
    expect(await outcomeOfVisit(host)).toBe("server_error");
    expectCause(host, "authenticate");
    expect(writes).toEqual([]);
  });

  it.each(badContexts)("is a server_error of consent.decide: %s", async (_, context) => {
    const granted = { kind: "granted", scopes: ["orders:read"], context } as ConsentAnswer;
    const { host, writes } = contextHost(granted);
    expect(await outcomeOfVisit(host)).toBe("server_error");
    expectCause(host, "consent\\.decide");
    expect(writes).toEqual([]);
  });

  it.each(badContexts)("is an error page of auth.approve: %s", async (_, context) => {
    const made = contextHost(onOwnPage);
    const { host, writes } = made;
    const browser = host.browser();
    const interaction = await before(browser);
    made.approval = { context };
    const answer = await browser.post("/choose", { interaction });
    expect([answer.status, answer.headers["location"]]).toEqual([500, undefined]);
    expectCause(host, "auth\\.approve");
    expect(writes).toEqual([]);
    // nothing is over: the page can still be answered
    made.approval = { context: tea };
    expect(outcomeOf(await browser.post("/choose", { interaction }))).toBe("granted");
  });

  it("of authenticate takes no answer of an open page", async () => {
    const { host, writes } = contextHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = { ...signedIn, context: undefined } as unknown as Authentication;
    expect(outcomeOf(await browser.answer(page, "approve"))).toBe("server_error");
    expect(writes).toEqual([]);
  });
});
