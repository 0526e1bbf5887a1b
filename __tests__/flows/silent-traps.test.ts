/** Mistakes that no answer shows: everything is answered as it should be, and only a warning in development says why nothing works. */
import type { RequestHandler } from "express";
import request from "supertest";
import type { AuthServerOptions, Client } from "../../lib";
import { alice, testHost, type TestHostOptions } from "../hosts/host";
import { apis, origin, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { visit } from "../browser/interaction";
import { clients, credentials } from "../hosts/clients";
import { postToken } from "../requests/client-requests";
import { assertionOf, keyedHost, tokenBy } from "../requests/client-assertions";
import { stopClockForEachTest } from "../hosts/clock";
import { obtainCode } from "../browser/journey";

const clock = stopClockForEachTest();
const warnings: { readonly code: string; readonly message: string }[] = [];

beforeEach(() => {
  warnings.length = 0;
  jest.spyOn(process, "emitWarning").mockImplementation((message, options) => {
    warnings.push({ code: (options as { code: string }).code, message: String(message) });
  });
});
afterEach(() => jest.restoreAllMocks());

/** The messages with this id. */
const messages = (code: string): readonly string[] =>
  warnings.filter((one) => one.code === code).map(({ message }) => message);

function inProduction(): void {
  jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
}

/** A host that sets these policies on all of its answers, as helmet does. */
const policed = (policy: string | string[], options: TestHostOptions = {}) => {
  const set: RequestHandler = (_req, res, next) => {
    res.setHeader("Content-Security-Policy", policy);
    next();
  };
  return testHost({ ...options, before: (app) => void app.use(set) });
};

describe("form-action on the host's own pages (CSP Level 3 §6.4.1)", () => {
  const blocks = "form-action-blocks-redirect";

  it("that does not let the sign-in form lead to the client is named with the fix", async () => {
    const { browser, id } = await visit(
      policed("default-src 'self';form-action 'self';frame-ancestors 'self'"),
    );
    expect((await browser.post("/signin", { interaction: id, subject: "alice" })).status).toBe(303);
    expect(messages(blocks)).toEqual([
      "The form sent to /signin leads to https://web.example, but the Content-Security-Policy of this site says form-action 'self', so browsers may stay on the page without a word. Allow https://web.example on your pages with such forms, or leave form-action out: formAction: null in helmet's contentSecurityPolicy.directives.",
    ]);
  });

  it.each(["approve", "deny"])("that stops auth.%s is named", async (name) => {
    const host = policed("form-action 'self'", {
      consent: { decide: () => ({ kind: "interaction", url: "/question" }) },
    });
    const { browser, id } = await visit(host);
    host.session = alice();
    await browser.get(`${pairPath()}/authorize/resume`, { interaction: id });
    const path = name === "approve" ? "/allow" : "/cancel";
    const answer = await browser.post(path, { interaction: id });
    expect(answer.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?/);
    expect(messages(blocks)).toEqual([
      expect.stringContaining(`The form sent to ${path} leads to https://web.example, but`),
    ]);
  });

  it.each<[string, string | string[]]>([
    ["no policy of it", "default-src 'none'"],
    ["the origin of the client", "form-action 'self' https://web.example"],
    ["the host of the client in capitals", "Form-Action 'self' Web.Example"],
    ["a wildcard", "form-action 'self' *.example"],
    ["the origin with a port and a path", "form-action 'self' https://web.example:443/callback"],
    ["a scheme", "form-action 'self' https:"],
    ["everything", "form-action *"],
    ["two policies that allow it", ["form-action *", "form-action 'self' https:"]],
  ])("is not named with %s", async (_, policy) => {
    const { browser, id } = await visit(policed(policy));
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toEqual([]);
  });

  it.each<[string, string | string[]]>([
    ["nothing", "form-action 'none'"],
    ["an empty list", "form-action"],
    ["another site", "form-action 'self' https://other.example"],
    ["only the client", "form-action https://web.example"],
    ["one of two policies", ["form-action *", "form-action 'self'"]],
    ["one of two policies in one line", "form-action *, form-action 'self'"],
  ])("is named with %s", async (_, policy) => {
    const { browser, id } = await visit(policed(policy));
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toHaveLength(1);
  });

  it("is not named where the answer leaves from a page of its own", async () => {
    const fields = { response_mode: "form_post" };
    const { browser, id } = await visit(policed("form-action 'self'"), { fields });
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toEqual([]);
  });

  it.each([
    ["form-action 'self'", 1],
    ["form-action 'self' com.example.phone:", 0],
    ["form-action 'self' *", 1],
  ])("knows the scheme of a native client: %s", async (policy, number) => {
    const fields = { redirect_uri: "com.example.phone:/callback" };
    const { browser, id } = await visit(policed(policy), { client: "native", fields });
    await browser.post("/signin", { interaction: id, subject: "alice" });
    expect(messages(blocks)).toHaveLength(number);
  });

  it("is not named after a sign-in for no client, after a GET, in production, and on a sign-in that goes on to a page", async () => {
    const host = policed("form-action 'self'");
    host.app.get("/back", (req, res) => host.auth.resume(req, res));
    const { browser, id } = await visit(host);
    expect((await browser.post("/signin", { subject: "alice" })).headers["location"]).toBe("/");
    expect((await browser.get("/back", { interaction: id })).status).toBe(302);
    inProduction();
    const silent = await visit(policed("form-action 'self'"));
    await silent.browser.post("/signin", { interaction: silent.id, subject: "alice" });
    expect(messages(blocks)).toEqual([]);
  });
});

describe("a baseUrl that is not the address that people use (RFC 6265 §5.3)", () => {
  const other = "opened-at-other-address";
  const browserHeaders = { Accept: "text/html,*/*", "User-Agent": "Mozilla/5.0 (X11) Firefox/140.0" };

  async function opened(headers: Record<string, string>, options: Partial<AuthServerOptions> = {}) {
    const { app } = testHost(options);
    await request(app)
      .get(`${pairPath()}/authorize`)
      .query(authorizationParameters("web"))
      .set({ ...browserHeaders, ...headers });
    return messages(other);
  }

  it.each<[string, Record<string, string>, string]>([
    ["another host", { Host: "127.0.0.1:3000" }, "http://127.0.0.1:3000"],
    ["another port", { Host: "localhost:8080" }, "http://localhost:8080"],
    ["a proxy at another host", { "X-Forwarded-Host": "app.example", Host: "inner" }, "http://app.example"],
    [
      "a proxy with https",
      { "X-Forwarded-Proto": "https", Host: "localhost:3000" },
      "https://localhost:3000",
    ],
    ["a chain of proxies", { "X-Forwarded-Host": "app.example, inner.example" }, "http://app.example"],
    [
      "a proxy with the header of RFC 7239",
      { Forwarded: 'for=192.0.2.1;proto=https;host="app.example:8443", for=10.0.0.1;host=inner' },
      "https://app.example:8443",
    ],
  ])("is named with both: %s", async (_, headers, address) => {
    expect(await opened(headers, { baseUrl: "http://localhost:3000/login" })).toEqual([
      `A browser has opened ${address}, but the origin of baseUrl is http://localhost:3000: people are sent on to baseUrl, where their session and the pending request of the other address are missing. Open the site at baseUrl, or write the address that people use into baseUrl. If a proxy is in front of this app, let it send X-Forwarded-Host and X-Forwarded-Proto.`,
    ]);
  });

  it("is named when https is opened over http", async () => {
    expect(await opened({ Host: "host.example" })).toEqual([
      expect.stringContaining(
        "A browser has opened http://host.example, but the origin of baseUrl is https://host.example",
      ),
    ]);
  });

  it.each<[string, Record<string, string>]>([
    ["its own address by a proxy", { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "host.example" }],
    [
      "its own address with the port of https",
      { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "host.example:443" },
    ],
    ["a proxy that tells only the scheme", { "X-Forwarded-Proto": "https" }],
    ["a proxy that tells only the caller", { Forwarded: "for=192.0.2.1" }],
    ["headers that are no address", { "X-Forwarded-Proto": "foo", "X-Forwarded-Host": "%%" }],
    ["a scheme that has no origin", { "X-Forwarded-Proto": "foo" }],
    ["a program", { "User-Agent": "node", Host: "127.0.0.1" }],
    ["a script in a page", { Accept: "*/*", Host: "127.0.0.1" }],
  ])("is not named for %s", async (_, headers) => {
    expect(await opened(headers)).toEqual([]);
  });

  it("is not looked at in production", async () => {
    inProduction();
    expect(await opened({ Host: "127.0.0.1" })).toEqual([]);
  });

  it.each([
    [{ "X-Forwarded-Proto": "https", "X-Forwarded-Host": "app.example" }, "cookie-lost-at-other-host"],
    [{ "X-Forwarded-Proto": "http" }, "cookie-lost-over-http"],
    [{ "X-Forwarded-Proto": "foo" }, "cookie-lost"],
  ])("is also the reason of a cookie that was lost behind a proxy: %j", async (headers, code) => {
    const host = testHost();
    await request(host.app)
      .get(`${pairPath()}/authorize/resume?interaction=${"A".repeat(22)}`)
      .set(headers)
      .expect(400);
    expect(host.events).toMatchObject([{ code }]);
  });
});

async function redeemedBy(from: string, client: "spa" | "web" = "spa") {
  const host = testHost();
  const code = await obtainCode(host, { client });
  const fields = {
    grant_type: "authorization_code",
    ...credentials(client),
    code,
    code_verifier: codeVerifier,
  };
  const answer = await request(host.app)
    .post(`${pairPath()}/token`)
    .type("form")
    .set("Origin", from)
    .send(fields);
  expect(answer.status).toBe(200);
  return answer;
}

const hidesFrom = (port: number): string =>
  `A page at http://localhost:${port} called and cannot read the answer, because no browser client has a redirect URI with this origin`;

describe("a page whose origin nobody registered (Fetch standard, CORS)", () => {
  const hidden = "answer-hidden-from-page";

  it("gets tokens that it cannot read: the origin, the client and what is registered are named", async () => {
    const answer = await redeemedBy("http://localhost:5173");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(messages(hidden)).toEqual([
      "A page at http://localhost:5173 called for the client spa and cannot read the answer, because no browser client has a redirect URI with this origin (its redirectUris have https://spa.example). Register one, or call from a server, which sends no Origin.",
    ]);
  });

  it.each(["https://spa.example/", "httpsx//spa.example", "https://spa.example\u00c2", "a-secret"])(
    "is not named for what no browser sends: %s",
    async (from) => {
      await redeemedBy(from);
      expect(messages(hidden)).toEqual([]);
    },
  );

  it("is named for a client that is no browser client", async () => {
    await redeemedBy("https://web.example", "web");
    expect(messages(hidden)).toEqual([expect.stringContaining('(it has no platform: "browser")')]);
  });

  it.each(["https://spa.example", origin])("is not named where scripts can read it: %s", async (from) => {
    await redeemedBy(from);
    expect(messages(hidden)).toEqual([]);
  });

  it("is not named in production", async () => {
    inProduction();
    await redeemedBy("http://localhost:5173");
    expect(messages(hidden)).toEqual([]);
  });

  it("is also named when its browser asks first, and when it is refused: by then nobody is proven", async () => {
    const { app } = testHost();
    const token = `${pairPath()}/token`;
    await request(app).options(token).set("Origin", "http://localhost:5173").expect(204);
    const fields = { grant_type: "authorization_code", ...credentials("web"), client_secret: "wrong" };
    await request(app)
      .post(token)
      .type("form")
      .set("Origin", "http://localhost:5174")
      .send(fields)
      .expect(401);
    expect(messages(hidden)).toEqual([
      `${hidesFrom(5173)}. Register one, or call from a server, which sends no Origin.`,
      `again: ${hidesFrom(5174)}`,
    ]);
  });

  it("is not named when a registered one asks first", async () => {
    const { app } = testHost();
    await request(app).options(`${pairPath()}/token`).set("Origin", "https://spa.example").expect(204);
    expect(messages(hidden)).toEqual([]);
  });
});

const withSubscriptions = (subscriptions: Client["subscriptions"]): void =>
  void testHost({ clients: [{ ...clients.web, subscriptions }] });

describe("names in the subscriptions of clients that are known from the start (RFC 6749 §3.3)", () => {
  const misspelt = "subscription-misspelt";
  it.each<[string, Client["subscriptions"], string]>([
    ["an API", { order: {} }, 'subscriptions of client "web" has "order". Did you mean "orders"?'],
    [
      "a scope",
      { orders: { scopes: ["orders:raed", "orders:write"] } },
      'subscriptions.orders.scopes of client "web" has "orders:raed". Did you mean "orders:read"?',
    ],
    [
      "a name that every object inherits",
      { orders: { scopes: ["constructor"] } },
      '"constructor". Known: orders:read, orders:write',
    ],
  ])("are named when they are misspelt: %s", (_, subscriptions, text) => {
    withSubscriptions(subscriptions);
    expect(messages(misspelt)).toEqual([
      expect.stringMatching(/^A client has subscriptions to APIs or scopes that this server does not have: /),
    ]);
    expect(messages(misspelt)[0]).toContain(text);
  });

  it("are listed in one warning, ten at most", () => {
    withSubscriptions({ orders: { scopes: Array.from({ length: 30 }, (_, index) => `x${index}`) } });
    expect(messages(misspelt)).toHaveLength(1);
    expect(
      messages(misspelt)[0]?.match(/(?:\.|:) subscriptions\.\S+ of client "web" has "x\d+"\. Known: /g),
    ).toHaveLength(10);
  });

  it("are not looked at when they are right or belong to another server, nor in production", () => {
    withSubscriptions({ orders: { scopes: ["orders:read"] }, files: {}, invoices: {}, constructor: {} });
    inProduction();
    withSubscriptions({ order: {} });
    expect(messages(misspelt)).toEqual([]);
  });
});

describe("flags of clients that are known from the start (RFC 9449 §5.2)", () => {
  const flag = "client-flag-without-option";
  const { orders, ...others } = apis;
  const bound = { ...clients.web, dpopBound: true };
  const hostWith = (client: Client): void =>
    void testHost({
      clients: [client],
      ...(orders && { apis: { ...others, orders: { ...orders, dpop: {} } } }),
    });

  it("are named at an API without the option that they need: it refuses the client", () => {
    hostWith(bound);
    expect(messages(flag)).toEqual([
      'An API will refuse a client whose record demands what the API does not offer. Add the option, or remove the flag: Client "web" has dpopBound, and API files has no dpop. Client "web" has dpopBound, and API reports has no dpop.',
    ]);
  });

  it("are not named where the client has no subscription, nor where the flag is off", () => {
    hostWith({ ...bound, subscriptions: { orders: {} } });
    hostWith({ ...bound, dpopBound: false });
    expect(messages(flag)).toEqual([]);
  });
});

const form = (more: Record<string, string> = {}) => ({
  fields: { grant_type: "client_credentials", ...credentials("web"), ...more },
  pair: { api: "files" } as const,
});

describe("client credentials without scope (RFC 6749 §3.3, §4.4)", () => {
  const empty = "token-without-scope";
  it("that give a token which opens nothing are named", async () => {
    const answer = await postToken(testHost(), form());
    expect(answer.body).not.toHaveProperty("scope");
    expect(messages(empty)).toEqual([
      "Client web got a token without any scope: it sent none, and the API files has no defaultScopes for it. Let the client send scope=files:read, for example, or set defaultScopes.",
    ]);
  });

  it("are not named when it asks for one, has default scopes, or the API has no scopes, nor in production", async () => {
    await postToken(testHost(), form({ scope: "files:read" }));
    await postToken(testHost(), { fields: form().fields });
    await postToken(testHost({ apis: { ...apis, files: { ...apis["files"]!, scopes: {} } } }), form());
    inProduction();
    await postToken(testHost(), form());
    expect(messages(empty)).toEqual([]);
  });
});

describe("a clock that is far off (RFC 7523 §3)", () => {
  const differ = "clocks-differ";
  const hour = 3_600;

  async function refused(claims: Record<string, number | undefined>) {
    const answer = await tokenBy(keyedHost(), { assertion: assertionOf({ claims }) });
    expect(answer.status).toBe(401);
    return messages(differ);
  }

  it.each<[string, () => Record<string, number | undefined>, string]>([
    [
      "two hours behind",
      () => ({ iat: clock.now() - 2 * hour, exp: clock.now() - 2 * hour + 60 }),
      "2 hours: that of client keyed is behind this one",
    ],
    [
      "two hours behind, without iat",
      () => ({ iat: undefined, exp: clock.now() - 2 * hour }),
      "2 hours: that of client keyed is behind this one",
    ],
    [
      "two hours behind, signed for a day",
      () => ({ iat: clock.now() - 2 * hour, exp: clock.now() + 22 * hour }),
      "2 hours: that of client keyed is behind",
    ],
    [
      "ten minutes ahead",
      () => ({ iat: clock.now() + 600, exp: clock.now() + 660 }),
      "10 minutes: that of client keyed is ahead of this one",
    ],
  ])("is named with how far: %s", async (_, claims, text) => {
    expect(await refused(claims())).toEqual([
      `The clocks differ by about ${text}${text.endsWith("behind") ? " this one" : ""}, or the client sends an old assertion again. Set both clocks by NTP. iat and exp are seconds since 1970 in UTC, neither milliseconds nor local time.`,
    ]);
  });

  it("is not named for a minute, nor for an assertion without iat that lives too long, nor in production", async () => {
    await refused({ iat: clock.now() + 60, exp: clock.now() + 90 });
    await refused({ iat: undefined, exp: clock.now() + 2 * hour });
    inProduction();
    await refused({ iat: clock.now() - 2 * hour, exp: clock.now() - 2 * hour });
    expect(messages(differ)).toEqual([]);
  });
});
