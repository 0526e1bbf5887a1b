import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { NewEvent } from "../../lib/events/port";
import { newAccessTokens } from "../../lib/bearer/access-tokens";
import { type BearerGuard, bearerMiddleware, writeChallenge } from "../../lib/bearer/require-bearer";
import type { AccessToken } from "../../lib/protocol/access-token";
import { hearAnswers, unsubscribeAfterEachTest } from "../requests/channels";
import { everythingUnderWay } from "../storage/latch";
import { accessTokenRecord, apiRecord } from "../records/records";

unsubscribeAfterEachTest();

const { subject: _, authorizationId: __, ...withoutUser } = accessTokenRecord();
const ofClient: AccessToken = withoutUser;
const bearer = { authorization: "Bearer abc" };

interface Asked {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/** A request as Node has read it, and its answer. */
function exchange({ method = "GET", url = "/orders", headers = {}, ...parsed }: Asked) {
  const req = Object.assign(new IncomingMessage(new Socket()), { method, url, ...parsed });
  for (const [name, values] of Object.entries(headers)) {
    const [first = "", ...more] = typeof values === "string" ? [values] : values;
    req.headers[name] = first;
    for (const value of [first, ...more]) req.rawHeaders.push(name, value);
  }
  const res = new ServerResponse(req);
  const end = jest.spyOn(res, "end");
  const bodyOf = (): unknown => end.mock.calls.map(([text]) => JSON.parse(String(text)) as unknown)[0];
  return { req: req as never, res: res as never, statusOf: () => res.statusCode, bodyOf };
}

/** A guarded route that verifies every token as this one, and what it has seen. */
function guardedRoute(changes: Partial<BearerGuard> = {}, accessToken = accessTokenRecord()) {
  const events: NewEvent[] = [];
  const guard: BearerGuard = {
    api: apiRecord(),
    scopesFor: () => ["orders:read"],
    subject: "either",
    verify: async () => ({ kind: "valid", accessToken }),
    accessTokens: newAccessTokens(),
    emit: (event) => void events.push(event),
    ...changes,
  };
  const middleware = bearerMiddleware(guard);
  async function ask(asked: Asked = {}): Promise<{ status: number; body: unknown; passed: boolean }> {
    const { req, res, statusOf, bodyOf } = exchange(asked);
    const next = jest.fn();
    middleware(req, res, next);
    await everythingUnderWay();
    return { status: statusOf(), body: bodyOf(), passed: next.mock.calls.length > 0 };
  }
  return { guard, events, ask };
}

const preflightHeaders = { "access-control-request-method": "GET" };
const noToken = "no-access-token";

describe("why a request is refused, in the event (RFC 6750 §2, §3.1)", () => {
  it.each<[string, Asked, number, string]>([
    ["no token", {}, 401, noToken],
    [
      "two Authorization headers",
      { headers: { authorization: ["Bearer abc", "Bearer abc"] } },
      400,
      "several-bearer-headers",
    ],
    [
      "a header that cannot be read",
      { headers: { authorization: "Bearer a b" } },
      400,
      "bearer-header-malformed",
    ],
    [
      "a token in the query as well",
      { headers: bearer, url: "/orders?access_token=abc" },
      400,
      "second-access-token",
    ],
    [
      "a token in the body as well",
      { headers: bearer, body: { access_token: "abc" } },
      400,
      "second-access-token",
    ],
    ["OPTIONS of a program", { method: "OPTIONS" }, 401, noToken],
    ["a header of preflights with another method", { headers: preflightHeaders }, 401, noToken],
    ["a preflight", { method: "OPTIONS", headers: preflightHeaders }, 401, "no-access-token-in-preflight"],
  ])("%s", async (_name, asked, status, code) => {
    const { ask, events } = guardedRoute();
    expect(await ask(asked)).toMatchObject({ status, passed: false });
    expect(events).toStrictEqual([
      { kind: "bearer-refused", apiId: "orders", code, reason: expect.any(String) as string },
    ]);
  });

  it.each<[string, Partial<BearerGuard>, AccessToken, number, string]>([
    [
      "too few scopes",
      { scopesFor: () => ["orders:write"] },
      accessTokenRecord(),
      403,
      "access-token-lacks-scope",
    ],
    [
      "a person where none may come",
      { subject: "forbidden" },
      accessTokenRecord(),
      401,
      "access-token-with-end-user",
    ],
    [
      "a client where a person is needed",
      { subject: "required" },
      ofClient,
      401,
      "access-token-without-end-user",
    ],
    [
      "too few scopes of a client's own token",
      { scopesFor: () => ["orders:write"] },
      ofClient,
      403,
      "access-token-lacks-scope",
    ],
  ])("%s, and whose token it was", async (_name, changes, accessToken, status, code) => {
    const { ask, events } = guardedRoute(changes, accessToken);
    expect(await ask({ headers: bearer })).toMatchObject({ status, passed: false });
    const { issuer, clientId, subject, authorizationId } = accessToken;
    // exactly: what a token does not have is not in the event, not even as undefined
    const ofUser = subject === undefined ? {} : { subject, authorizationId };
    expect(events).toStrictEqual([
      {
        kind: "bearer-refused",
        issuer,
        clientId,
        ...ofUser,
        apiId: "orders",
        code,
        reason: expect.any(String) as string,
      },
    ]);
  });

  it("too few scopes: the event names those that are lacking, and those that there are", async () => {
    const { ask, events } = guardedRoute({ scopesFor: () => ["orders:read", "orders:write"] });
    await ask({ headers: bearer });
    const reason = 'the access token lacks "orders:write" and has "orders:read" (RFC 6750 §3.1)';
    expect(events).toMatchObject([{ reason: expect.stringContaining(reason) as string }]);
  });

  it("a challenge of the host's own, where no token was looked at", () => {
    const { guard, events } = guardedRoute();
    const { req, res, statusOf, bodyOf } = exchange({});
    writeChallenge({ req, res }, { ...guard, scopes: ["orders:read"] });
    expect([statusOf(), bodyOf()]).toEqual([
      401,
      { error_description: "This request needs an access token." },
    ]);
    expect(events).toMatchObject([{ kind: "bearer-refused", apiId: "orders", code: noToken }]);
  });
});

describe("a body that a parser of the host has left (RFC 6750 §2.2)", () => {
  it.each([[undefined], [null], ["access_token=abc"], [{ token: "abc" }], [[]]])(
    "does not matter when it is %j",
    async (body) => {
      const { ask, events } = guardedRoute();
      expect(await ask({ headers: bearer, body })).toMatchObject({ passed: true });
      expect(events).toEqual([]);
    },
  );
});

/** The path is the scope. */
const scopeOfPath: BearerGuard["scopesFor"] = ({ url }) => [url.slice(1)];

/** A route whose scope each request names, and how many challenges it has formatted: each reads the audience once. */
function countingRoute() {
  const counted = { formatted: 0 };
  const api = Object.defineProperty(apiRecord(), "audience", {
    get() {
      counted.formatted += 1;
      return "https://api.example/orders";
    },
  });
  const { ask } = guardedRoute({ api, scopesFor: scopeOfPath });
  async function formattedFor(...urls: readonly string[]): Promise<number> {
    counted.formatted = 0;
    for (const url of urls) await ask({ url });
    return counted.formatted;
  }
  return { formattedFor };
}

describe("challenges that an attacker may cause (RFC 6750 §3)", () => {
  const hundred = Array.from({ length: 100 }, (_each, index) => `/scope-${index}`);

  it("are formatted once for each scope, and kept", async () => {
    const { formattedFor } = countingRoute();
    expect(await formattedFor("/a", "/b", "/a", "/b", "/a")).toBe(2);
  });

  it("are kept up to a hundred: a scope function may give any number of scopes", async () => {
    const { formattedFor } = countingRoute();
    expect(await formattedFor(...hundred)).toBe(100);
    expect(await formattedFor(...hundred)).toBe(0);
    expect(await formattedFor("/one-more", "/one-more")).toBe(2);
  });
});

describe("the check while somebody watches requests (RFC 6750 §3)", () => {
  it("tells of a refusal with its status, and refuses all the same", async () => {
    const answers = hearAnswers();
    const { ask } = guardedRoute();
    expect(await ask()).toMatchObject({ status: 401, passed: false });
    expect(answers).toMatchObject([{ endpoint: "bearer", method: "GET", apiId: "orders", status: 401 }]);
  });

  it("tells of a request that passes, without a status: the host has yet to answer", async () => {
    const answers = hearAnswers();
    const { ask } = guardedRoute();
    expect(await ask({ headers: bearer })).toMatchObject({ passed: true });
    expect(answers).toMatchObject([{ endpoint: "bearer", method: "GET", apiId: "orders" }]);
    expect(answers[0]).not.toHaveProperty("status");
  });
});
