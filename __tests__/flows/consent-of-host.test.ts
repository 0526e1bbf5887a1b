import request from "supertest";
import type { ConsentAnswer } from "../../lib";
import { issuer, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import type { Browser } from "../browser/browser";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import {
  adapter,
  allow,
  bothScopes,
  grantedScopes,
  onOwnPage,
  outcomeOf,
  outcomeOfVisit,
  rememberedScopes,
} from "../browser/consent";
import { bob, signedIn, signedOut, testHost, type TestHostOptions } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import { everythingUnderWay } from "../storage/latch";
import { watchedHost, type WatchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

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
  const first = await authorize(browser, { client: "web", fields: bothScopes });
  expect(first.status).toBe(302);
  expect(outcomeOf(first)).toBe("/ask?interaction");
  return { ...watched, browser, id: interactionOf(first), questions };
}

describe("the host's ConsentAdapter", () => {
  it("is asked with who, for what and for whom", async () => {
    const { consent, questions } = adapter({ kind: "ask" });
    const host = testHost({ consent });
    const fields = { ...bothScopes, login_hint: "al", ui_locales: "de" };
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
        explanations: {},
        impliedScopes: {},
        prompt: [],
        maxAge: undefined,
        acrValues: [],
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
      const answer = await authorize(host.browser(), { client: "web", fields: bothScopes });
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
    expect(writes).toEqual(["endMarks.save"]);
  });

  it("denies with auth.deny", async () => {
    const { host, writes, browser, id } = await askOnOwnPage();
    const answer = await browser.post("/cancel", { interaction: id });
    expect(answer.status).toBe(303);
    expect(outcomeOf(answer)).toBe("access_denied");
    expect(writes).toEqual(["endMarks.save"]);
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
});

/** A decision as a class of the host makes it. */
class Decision {
  readonly scopes = ["orders:read"];
}

/** What a host in JavaScript may pass to `auth.approve`, each meant as "orders:read and no more". */
const unclearDecisions: readonly [string, () => unknown][] = [
  ["a promise", () => Promise.resolve({ scopes: ["orders:read"] })],
  ["a promise that fails", () => Promise.reject(new Error("late"))],
  ["a Map", () => new Map([["scopes", ["orders:read"]]])],
  ["a Set", () => new Set(["orders:read"])],
  ["a Date", () => new Date()],
  ["an Error", () => new Error("no")],
  ["a form", () => new URLSearchParams("scopes=orders:read")],
  ["a class instance", () => new Decision()],
  ["an object that inherits", () => Object.create({ scopes: ["orders:read"] })],
  ["a key that is a symbol", () => ({ [Symbol("scopes")]: ["orders:read"] })],
  ["a key that is hidden", () => Object.defineProperty({}, "scope", { value: ["orders:read"] })],
];

describe("what auth.approve takes for a decision (RFC 6749 §10.2)", () => {
  it.each(unclearDecisions)("auth.approve refuses what is no plain object: %s", async (_, decision) => {
    const { host, writes, browser, id } = await askOnOwnPage();
    host.app.post("/unclear", (req, res) => host.auth.approve(req, res, decision() as never));
    const answer = await browser.post(`/unclear?interaction=${id}`);
    expect([answer.status, answer.headers["location"]]).toEqual([500, undefined]);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: expect.objectContaining({ code: "unclear-approval" }),
    });
    expect(writes).toEqual([]);
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("granted");
  });

  it("takes an object without a prototype, as parsers of forms make it", async () => {
    const { host, browser, id } = await askOnOwnPage();
    const decision = Object.assign(Object.create(null) as object, { scopes: ["orders:read"] });
    host.app.post("/plain", (req, res) => host.auth.approve(req, res, decision));
    expect(outcomeOf(await browser.post(`/plain?interaction=${id}`))).toBe("granted");
    expect(grantedScopes(host)).toEqual(["orders:read"]);
  });

  it("leaves no rejection to the process where a link or another site calls", async () => {
    const { host, browser, id } = await askOnOwnPage();
    host.app.all("/late", (req, res) =>
      host.auth.approve(req, res, Promise.reject(new Error("late")) as never),
    );
    const path = `/late?interaction=${id}`;
    expect((await browser.get(path)).status).toBe(500);
    expect((await browser.post(path, {}, { Origin: "https://evil.example" })).status).toBe(400);
    await everythingUnderWay();
  });
});

describe("what auth.approve does not take (RFC 6749 §10.12)", () => {
  it.each(["get", "put", "patch", "delete"] as const)("approves nothing by %s", async (method) => {
    const { host, writes, browser, id } = await askOnOwnPage();
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await request(host.app)[method](`/allow?interaction=${id}`).set("Cookie", cookie);
    expect(answer.status).toBe(500);
    expect(answer.headers["location"]).toBeUndefined();
    expect(writes).toEqual([]);
    const { cause } = host.events.at(-1) as { cause?: unknown };
    expect(cause).toEqual(new TypeError("auth.approve accepts only POST: a link must not approve."));
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
    const interaction = interactionOf(answer);
    expect(interaction).not.toBe(id);
    // a second click on Alice's page is no answer of Bob either
    expect(outcomeOf(await browser.post("/allow", { interaction: id }))).toBe("/ask?interaction");
    expect(writes).toEqual([]);
    expect(questions.map(({ subject }) => subject)).toEqual(["alice", "bob", "bob"]);
    expect(outcomeOf(await browser.post("/allow", { interaction }))).toBe("granted");
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
