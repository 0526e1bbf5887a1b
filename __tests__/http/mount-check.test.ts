import diagnostics from "node:diagnostics_channel";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { adviser } from "../../lib/events/report";
import { type MountCheck, mountCheck, watchAnswers } from "../../lib/http/mount-check";
import { mountPathOf } from "../../lib/protocol/issuer";

afterEach(() => jest.restoreAllMocks());

// of no other test: the answers at the end are those of the whole process
const origin = "https://mount-check.example";

/** A check of a server with one issuer and one document, and what it has warned of. */
function watchedCheck(baseUrl = `${origin}/login`): { check: MountCheck; warnings: string[] } {
  const warnings: string[] = [];
  const issuers = [`${baseUrl}/auth/password/api/orders`];
  const documents = [
    `${origin}/.well-known/oauth-authorization-server${mountPathOf(baseUrl)}/auth/password/api/orders`,
  ];
  const warn = (_code: string, message: string): void => {
    // what is warned of again is printed in short
    if (!message.startsWith("again")) warnings.push(message);
  };
  const advise = adviser({ warn, isProduction: false, clock: () => 1_000 });
  return { check: mountCheck({ baseUrl, issuers, documents, warn: advise }), warnings };
}

/** Collects what a check warns of, with the ids. */
function collected() {
  const warnings: string[] = [];
  const warn = (code: string, message: string): void => void warnings.push(`${code}: ${message}`);
  return { warn, warnings };
}

const metadata = "/.well-known/oauth-authorization-server/login/auth/password/api/orders";
const token = "/login/auth/password/api/orders/token";
const misspelt = "/login/auth/password/api/orders/tokens";

/** A request as Node has it, with what Express adds where it has routed it. */
function exchange(
  url: string,
  {
    host = "mount-check.example",
    ...ofExpress
  }: { host?: string; baseUrl?: string; originalUrl?: string } = {},
) {
  const request = new IncomingMessage(new Socket());
  request.url = url;
  request.headers.host = host;
  const res = new ServerResponse(request);
  res.statusCode = 404;
  return { req: Object.assign(request, ofExpress), res };
}

/** Shows a check an answer of 404. */
function answer404(check: MountCheck, { req, res }: ReturnType<typeof exchange>): void {
  check.atAnswer(req, res);
}

const mounted = { baseUrl: "/login" };

describe("the path of baseUrl", () => {
  it.each([
    [origin, ""],
    [`${origin}/`, ""],
    [`${origin}/login`, "/login"],
    [`${origin}/login/`, "/login"],
    [`${origin}/id/v1/`, "/id/v1"],
  ])("of %s is %j, without a slash at its end", (url, path) => {
    expect(mountPathOf(url)).toBe(path);
  });
});

describe("where auth.router is mounted (RFC 8414 §3.1)", () => {
  it.each([
    [`${origin}/login`, "/login"],
    [`${origin}/login`, "/LOGIN"],
    [`${origin}/Login`, "/login"],
    [origin, ""],
  ])("is right for %s at %j: Express compares paths without case", (baseUrl, path) => {
    const { check, warnings } = watchedCheck(baseUrl);
    check.takeWellKnown();
    check.atRouter({ baseUrl: path });
    expect(warnings).toEqual([]);
  });

  it("is the root for a request that was not routed by Express", () => {
    const { check, warnings } = watchedCheck(origin);
    check.takeWellKnown();
    check.atRouter({});
    expect(warnings).toEqual([]);
  });

  it('is called "/" where it is the root', () => {
    const { check, warnings } = watchedCheck(origin);
    check.atRouter({ baseUrl: "/oauth" });
    expect(warnings).toEqual([
      expect.stringContaining(
        'auth.router is mounted at "/oauth", but the path of baseUrl (https://mount-check.example) is "/". Write app.use("/", auth.router).',
      ),
    ]);
  });

  it("is shown up to 100 characters: it comes from a request", () => {
    const { check, warnings } = watchedCheck();
    check.atRouter({ baseUrl: `/${"a".repeat(99)}b` });
    expect(warnings).toEqual([expect.stringContaining(`"/${"a".repeat(99)}", but`)]);
  });

  it("is known from the first request: the host may mount it a second time", () => {
    const { check, warnings } = watchedCheck();
    check.takeWellKnown();
    check.atRouter(mounted);
    check.atRouter({ baseUrl: "/oauth" });
    expect(warnings).toEqual([]);
  });
});

describe("where auth.wellKnown is mounted (RFC 8414 §3.1, 9728 §3.1)", () => {
  it("is warned of once, also when a client then finds no metadata", () => {
    const { check, warnings } = watchedCheck();
    check.atRouter(mounted);
    answer404(check, exchange(metadata));
    expect(warnings).toEqual([expect.stringContaining("auth.wellKnown is not mounted")]);
  });

  it("is warned of once when it is below a path", () => {
    const { check, warnings } = watchedCheck();
    const { req, res } = exchange(token, { baseUrl: `/${"a".repeat(99)}b` });
    check.atWellKnown(req, res);
    answer404(check, exchange(metadata));
    expect(warnings).toEqual([
      expect.stringContaining(`auth.wellKnown is mounted at "/${"a".repeat(99)}", but`),
    ]);
  });

  it("is the root for a request that was not routed by Express", () => {
    const { check, warnings } = watchedCheck();
    check.atWellKnown({}, exchange("/").res);
    expect(warnings).toEqual([]);
  });

  it("hears how its requests were answered, until one has reached the router", () => {
    const { check, warnings } = watchedCheck();
    check.takeWellKnown();
    const [early, late] = [1, 2].map(() => exchange(token, { host: "other.example", originalUrl: token }));
    if (!early || !late) throw new Error("there are two");
    check.atWellKnown(early.req, early.res);
    check.atRouter(mounted);
    check.atWellKnown(late.req, late.res);
    expect([early, late].map(({ res }) => res.listenerCount("finish"))).toEqual([1, 0]);
    expect(warnings).toEqual([]);
  });

  it("tells of a router that a request has not reached, whatever its Host", () => {
    const { check, warnings } = watchedCheck();
    const { req, res } = exchange(token, { host: "other.example", originalUrl: `${token}?a=b` });
    check.atWellKnown(req, res);
    res.emit("finish");
    expect(warnings).toEqual([expect.stringContaining("never reached auth.router")]);
  });
});

describe("an HTML page in the place of metadata (RFC 8414 §3.2)", () => {
  it.each([
    [metadata, 200, "text/html; charset=utf-8", 1],
    [`${metadata}?a=b`, 200, "text/html", 1],
    [metadata, 200, "application/json; charset=utf-8", 0],
    [metadata, 200, undefined, 0],
    [metadata, 302, "text/html", 0],
    [token, 200, "text/html", 0],
    ["/", 200, "text/html", 0],
  ])("is told once, and nothing else is: %s with %i and %s", (path, status, type, times) => {
    const { check, warnings } = watchedCheck();
    const { req, res } = exchange(path);
    res.statusCode = status;
    if (type !== undefined) res.setHeader("Content-Type", type);
    check.atAnswer(req, res);
    check.atAnswer(req, res);
    expect(warnings).toHaveLength(times);
    if (times > 0)
      expect(warnings[0]).toBe(
        `A request for ${metadata} was answered with an HTML page. Clients look there for metadata: write app.use(auth.wellKnown), without a path and before the handler that answers an HTML page.`,
      );
  });
});

describe("an answer of 404 (RFC 8414 §3.1)", () => {
  it("is read with the path that the client has sent, not with the rest of it that a router sees", () => {
    const { check, warnings } = watchedCheck();
    check.takeWellKnown();
    check.atRouter(mounted);
    answer404(check, exchange("/tokens", { originalUrl: `${misspelt}?a=b` }));
    expect(warnings).toEqual([
      expect.stringContaining(`A request for ${misspelt} was answered with 404: there is no such address.`),
    ]);
  });

  it("is the only one that is read", () => {
    const { check, warnings } = watchedCheck();
    const { req, res } = exchange(token);
    res.statusCode = 200;
    check.atAnswer(req, res);
    expect(warnings).toEqual([]);
  });

  it("at another host is none of this server", () => {
    const { check, warnings } = watchedCheck();
    answer404(check, exchange(token, { host: "other.example" }));
    expect(warnings).toEqual([]);
  });
});

describe("two servers in one process", () => {
  it.each<[string, (check: MountCheck, at: ReturnType<typeof exchange>) => void]>([
    ["router", ({ atRouter }, { req }) => atRouter(req)],
    ["wellKnown", ({ atWellKnown }, { req, res }) => atWellKnown(req, res)],
  ])("the newer one leaves requests to the %s of the one before, which it replaces", (_, reach) => {
    const [before, newer] = [watchedCheck(), watchedCheck()];
    const at = exchange(misspelt, { originalUrl: misspelt });
    reach(before.check, at);
    answer404(newer.check, at);
    expect(newer.warnings).toEqual([]);
  });

  it("one hears of requests that have only reached the other: both are at one origin", () => {
    const [one, other] = [watchedCheck(), watchedCheck(`${origin}/partners`)];
    const at = exchange(token, { baseUrl: "" });
    other.check.atWellKnown(at.req, at.res);
    answer404(one.check, at);
    expect(one.warnings).toEqual([expect.stringContaining("never reached auth.router")]);
  });

  it("a server hears of its own requests", () => {
    const { check, warnings } = watchedCheck();
    const at = exchange(misspelt, mounted);
    check.takeWellKnown();
    check.atRouter(at.req);
    answer404(check, at);
    expect(warnings).toEqual([expect.stringContaining("there is no such address")]);
  });
});

describe("the answers of the process", () => {
  const name = "http.server.response.finish";
  const publish = ({ req, res }: ReturnType<typeof exchange>): void =>
    diagnostics.channel(name).publish({ request: req, response: res });

  /** Lets the process find that all servers so far are gone. */
  function forgetServers(): void {
    const gone = jest.spyOn(WeakRef.prototype, "deref").mockReturnValue(undefined);
    publish(exchange("/"));
    gone.mockRestore();
  }

  beforeEach(forgetServers);

  it("are watched once, however many servers there are, until they are gone", () => {
    const [subscribe, unsubscribe] = [
      jest.spyOn(diagnostics, "subscribe"),
      jest.spyOn(diagnostics, "unsubscribe"),
    ];
    const paths = ["/login", "/partners"];
    const all = paths.map((path) => watchedCheck(`${origin}${path}`).check);
    for (const [index, check] of all.entries()) watchAnswers(check, `${origin}${paths[index]}`);
    publish(exchange("/"));
    const [[channelName, listener] = []] = subscribe.mock.calls;
    const endings = () => unsubscribe.mock.calls.filter(([, ended]) => ended === listener).length;
    expect([subscribe.mock.calls.length, channelName, endings()]).toEqual([1, name, 0]);
    forgetServers();
    expect(endings()).toBe(1);
  });

  it.each([
    ["the only server", ["/login"]],
    ["every server", ["/login", "/partners"]],
  ])("are shown to %s", (_, paths) => {
    const all = paths.map((path) => ({ path, ...watchedCheck(`${origin}${path}`) }));
    for (const { check, path } of all) watchAnswers(check, `${origin}${path}`);
    for (const path of paths) publish(exchange(`${path}/auth/password/api/orders/token`));
    expect(all.map(({ warnings }) => warnings.length)).toEqual(paths.map(() => 1));
  });

  it("are shown to the newest server of a base URL", () => {
    const [before, newer] = [watchedCheck(), watchedCheck()];
    for (const { check } of [before, newer]) watchAnswers(check, `${origin}/login`);
    publish(exchange(token));
    expect([before, newer].map(({ warnings }) => warnings.length)).toEqual([0, 1]);
  });
});

describe("a preflight at a route of an API (Fetch standard, CORS)", () => {
  const asking = { "access-control-request-headers": "content-type, Authorization" };
  const allow = { Allow: "GET, HEAD" };

  function answered(
    url: string,
    {
      method = "OPTIONS",
      asked = asking,
      status = 200,
      headers = allow,
    }: { method?: string; asked?: object; status?: number; headers?: object } = {},
  ): string[] {
    const { warn, warnings } = collected();
    const documents = [`${origin}/.well-known/oauth-protected-resource/orders`];
    const check = mountCheck({ baseUrl: origin, issuers: [], documents, warn });
    const { req, res } = exchange(url);
    Object.assign(req, { method });
    Object.assign(req.headers, asked);
    res.statusCode = status;
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value as string);
    check.atAnswer(req, res);
    return warnings;
  }

  it.each(["/orders", "/Orders/5?full=1"])("%s is named when Express has answered it", (url) => {
    const path = url.split("?")[0];
    expect(answered(url)).toEqual([
      `preflight-of-api-unanswered: A page asked whether it may call ${path} with an access token, and the answer had no CORS headers, so its browser does not call. Put CORS middleware in front of the route, for OPTIONS too: app.use("${path}", cors({ origin: [/* yours */], allowedHeaders: ["Authorization"] })).`,
    ]);
  });

  it.each<[string, string, Parameters<typeof answered>[1]]>([
    ["of another path", "/ordersheet", {}],
    ["that asks for no token", "/orders", { asked: { "access-control-request-headers": "content-type" } }],
    ["that asks for nothing", "/orders", { asked: {} }],
    ["that is none", "/orders", { method: "GET" }],
    [
      "that CORS middleware has answered",
      "/orders",
      { headers: { ...allow, "Access-Control-Allow-Origin": "*" } },
    ],
    ["that a handler has answered", "/orders", { headers: {} }],
    ["that was refused", "/orders", { status: 401 }],
  ])("is not named %s", (_, url, how) => {
    expect(answered(url, how)).toEqual([]);
  });
});
