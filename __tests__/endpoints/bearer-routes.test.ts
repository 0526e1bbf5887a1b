import type { Request } from "express";
import request, { type Response as TestResponse } from "supertest";
import { postToken } from "../requests/client-requests";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";

stopClockForEachTest();

const metadata = "https://api.example/.well-known/oauth-protected-resource/orders";
const bare = `Bearer realm="https://api.example/orders", resource_metadata="${metadata}"`;

function challengeOf({ headers }: TestResponse): unknown {
  return headers["www-authenticate"];
}

async function tokenOfAlice(host: TestHost, scope = "orders:read"): Promise<string> {
  return (await obtainTokens(host, { client: "web", fields: { scope } })).access_token;
}

async function tokenOfMachine(host: TestHost): Promise<string> {
  const fields = { grant_type: "client_credentials", ...credentials("machine") };
  return ((await postToken(host, { fields })).body as { access_token: string }).access_token;
}

function subjectHost(subject: "required" | "forbidden"): TestHost {
  const host = testHost();
  host.app.get("/mine", host.auth.requireBearer({ api: "orders", subject }), (req, res) => {
    res.json({ for: req.auth?.subject ?? "everybody" });
  });
  return host;
}

describe("the options of a route (RFC 6750 §3.1)", () => {
  it("are a copy: a list that the host empties later still counts", async () => {
    const host = testHost();
    const scope = ["orders:write"];
    host.app.get("/kept", host.auth.requireBearer({ api: "orders", scope }), (_, res) => void res.json({}));
    scope.length = 0;
    expect((await callApi(host, "/kept", await tokenOfAlice(host))).status).toBe(403);
  });
});

describe("routes that need a person (RFC 6749 §4.4, 9068 §5)", () => {
  it("lets a token of an end user pass", async () => {
    const host = subjectHost("required");
    expect((await callApi(host, "/mine", await tokenOfAlice(host))).body).toEqual({ for: "alice" });
  });

  it("refuses a client's own token, whose handler would find no subject", async () => {
    const host = subjectHost("required");
    const refused = await callApi(host, "/mine", await tokenOfMachine(host));
    const description = "This request needs an access token of an end user.";
    expect(refused.status).toBe(401);
    expect(challengeOf(refused)).toBe(`${bare}, error="invalid_token", error_description="${description}"`);
    expect(refused.body).toEqual({ error: "invalid_token", error_description: description });
  });

  it("tells the host which client came with it", async () => {
    const host = subjectHost("required");
    await callApi(host, "/mine", await tokenOfMachine(host));
    expect(host.events.at(-1)).toMatchObject({
      kind: "bearer-refused",
      clientId: "machine",
      code: "access-token-without-end-user",
    });
  });

  it("may be closed to people", async () => {
    const host = subjectHost("forbidden");
    expect((await callApi(host, "/mine", await tokenOfMachine(host))).status).toBe(200);
    const refused = await callApi(host, "/mine", await tokenOfAlice(host));
    expect(refused.status).toBe(401);
    expect(refused.body).toEqual({
      error: "invalid_token",
      error_description: "This request needs an access token of the client itself.",
    });
  });

  it("asks after the person before the scope: more scope would not help", async () => {
    const host = testHost();
    const options = { api: "orders", scope: "orders:write", subject: "required" } as const;
    host.app.get("/mine", host.auth.requireBearer(options), (_, res) => void res.json({}));
    expect((await callApi(host, "/mine", await tokenOfMachine(host))).status).toBe(401);
  });

  it("still takes both where nothing is said", async () => {
    const host = testHost();
    expect((await callApi(host, "/orders", await tokenOfMachine(host))).status).toBe(200);
    expect((await callApi(host, "/orders", await tokenOfAlice(host))).status).toBe(200);
  });
});

describe("a handler that is given to requireBearer", () => {
  it("needs no cast for the subject of a person's token", async () => {
    const host = testHost();
    host.app.get(
      "/mine",
      host.auth.requireBearer({ api: "orders", subject: "required" }, (req, res) => {
        const { subject }: { subject: string } = req.auth;
        res.json({ subject });
      }),
    );
    expect((await callApi(host, "/mine", await tokenOfAlice(host))).body).toEqual({ subject: "alice" });
  });

  it("knows of no subject where a client's own token may come", async () => {
    const host = testHost();
    host.app.get(
      "/any",
      host.auth.requireBearer({ api: "orders" }, (req, res) => {
        // @ts-expect-error: it may be undefined
        const subject: string = req.auth.subject;
        res.json({ subject: subject ?? null, clientId: req.auth.clientId });
      }),
    );
    const response = await callApi(host, "/any", await tokenOfMachine(host));
    expect(response.body).toEqual({ subject: null, clientId: "machine" });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("of the route");
      },
    ],
    ["rejects", () => Promise.reject(new Error("of the route"))],
  ])("is the host's to fix when it %s", async (_, handler) => {
    const host = testHost();
    host.app.get("/mine", host.auth.requireBearer({ api: "orders" }, handler));
    const response = await callApi(host, "/mine", await tokenOfAlice(host));
    expect(response.status).toBe(500);
    expect(response.text).toContain("of the route");
    expect(host.events.at(-1)?.kind).toBe("token-issued");
  });

  it("may hand on to the next one", async () => {
    const host = testHost();
    host.app.get(
      "/mine",
      host.auth.requireBearer({ api: "orders" }, (_req, _res, next) => next()),
    );
    host.app.get("/mine", (_, res) => void res.json("the next"));
    expect((await callApi(host, "/mine", await tokenOfAlice(host))).body).toBe("the next");
  });

  it.each([undefined, null, {}])("is refused when it is %j", (handler) => {
    expect(() => testHost().auth.requireBearer({ api: "orders" }, handler as never)).toThrow(
      expect.objectContaining({ code: "handler-not-a-function" }),
    );
  });
});

/** The message of what `accessToken` throws on a route that a client calls with its own token. */
async function complaint(read: (host: TestHost, req: Request) => unknown): Promise<unknown> {
  const host = testHost();
  host.app.get("/any", host.auth.requireBearer({ api: "orders" }), (req, res) => {
    expect(() => read(host, req)).toThrow(TypeError);
    try {
      read(host, req);
    } catch (error) {
      res.json((error as TypeError).message);
    }
  });
  return (await callApi(host, "/any", await tokenOfMachine(host))).body;
}

describe("auth.accessToken", () => {
  it("gives what req.auth was set to, whatever has been written there since", async () => {
    const host = testHost();
    const { requireBearer, accessToken } = host.auth;
    host.app.get("/mine", requireBearer({ api: "orders" }), (req, res) => {
      const same = req.auth === accessToken(req);
      Object.assign(req, { auth: { payload: { sub: "mallory" } } });
      res.json({ same, subject: accessToken(req).subject });
    });
    const response = await callApi(host, "/mine", await tokenOfAlice(host));
    expect(response.body).toEqual({ same: true, subject: "alice" });
  });

  it("gives a subject where one is required", async () => {
    const host = testHost();
    host.app.get("/mine", host.auth.requireBearer({ api: "orders", subject: "required" }), (req, res) => {
      const { subject }: { subject: string } = host.auth.accessToken(req, { subject: "required" });
      res.json({ subject });
    });
    expect((await callApi(host, "/mine", await tokenOfAlice(host))).body).toEqual({ subject: "alice" });
  });

  it("says so when the token has no end user although one is required", async () => {
    expect(await complaint(({ auth }, req) => auth.accessToken(req, { subject: "required" }))).toBe(
      'accessToken: the access token has no end user. Write subject: "required" in requireBearer of this route.',
    );
  });

  it.each([undefined, null, "required", {}, { subject: undefined }, { subject: "forbidden" }])(
    "does not overlook an option that is %j",
    async (option) => {
      expect(await complaint(({ auth }, req) => auth.accessToken(req, option as never))).toBe(
        'accessToken: the only option is { subject: "required" }. Write it, or leave it out.',
      );
    },
  );

  it("knows nothing of requests that another server has let pass", async () => {
    const other = testHost();
    expect(await complaint((_, req) => other.auth.accessToken(req))).toBe(
      "accessToken: this request has not passed requireBearer of this server. Put auth.requireBearer({ api }) in front of the handler.",
    );
  });

  it("is no way past requireBearer: req.auth of another library is not a token", async () => {
    const host = testHost();
    host.app.get("/open", (req, res) => {
      Object.assign(req, { auth: { clientId: "web", scopes: ["orders:write"] } });
      expect(() => host.auth.accessToken(req)).toThrow(
        expect.objectContaining({ code: "route-not-protected" }),
      );
      host.auth.challenge(req, res, { api: "orders", scope: "orders:write" });
    });
    expect((await callApi(host, "/open", await tokenOfAlice(host))).status).toBe(401);
  });
});

describe("the scope in a challenge (RFC 6750 §3)", () => {
  it("is named to a request without a token, and no error with it", async () => {
    const response = await request(testHost().app).get("/orders/changes");
    expect(response.status).toBe(401);
    expect(challengeOf(response)).toBe(`${bare}, scope="orders:write"`);
  });

  it("is named to a token that is worth nothing", async () => {
    const response = await callApi(testHost(), "/orders/changes", "nothing");
    expect(challengeOf(response)).toMatch(/^.*, error="invalid_token", .*, scope="orders:write"$/);
  });

  it("is left out where the route needs none", async () => {
    expect(challengeOf(await request(testHost().app).get("/orders"))).toBe(bare);
  });

  it("is left out of a malformed request, which another token would not fix", async () => {
    const response = await request(testHost().app).get("/orders/changes").set("Authorization", "Bearer a b");
    expect(response.status).toBe(400);
    expect(challengeOf(response)).not.toContain("scope=");
  });
});

function scopeHost(scope: (req: object) => unknown): TestHost {
  const host = testHost();
  const guard = host.auth.requireBearer({ api: "orders", scope: scope as never });
  host.app.all("/by-method", guard, (_, res) => void res.json("passed"));
  return host;
}

const byMethod = ({ method }: { method?: string }): string =>
  method === "GET" ? "orders:read" : "orders:write";

describe("a scope by request", () => {
  it("is what the function gives for each request", async () => {
    const host = scopeHost(byMethod);
    const token = await tokenOfAlice(host);
    const call = (method: "get" | "post") =>
      request(host.app)[method]("/by-method").auth(token, { type: "bearer" });
    expect((await call("get")).status).toBe(200);
    const refused = await call("post");
    expect(refused.status).toBe(403);
    expect(challengeOf(refused)).toContain('error="insufficient_scope"');
    expect(challengeOf(refused)).toMatch(/, scope="orders:write"$/);
    expect((await call("get")).status).toBe(200);
  });

  it("is named to each request by itself, also when none has a token", async () => {
    const host = scopeHost(byMethod);
    const challenged = async (method: "get" | "post"): Promise<unknown> =>
      challengeOf(await request(host.app)[method]("/by-method"));
    expect(await challenged("post")).toBe(`${bare}, scope="orders:write"`);
    expect(await challenged("get")).toBe(`${bare}, scope="orders:read"`);
    expect(await challenged("post")).toBe(`${bare}, scope="orders:write"`);
  });

  it("may be a list", async () => {
    const host = scopeHost(() => ["orders:read", "orders:write"]);
    expect((await callApi(host, "/by-method", await tokenOfAlice(host))).status).toBe(403);
    const both = await tokenOfAlice(host, "orders:read orders:write");
    expect((await callApi(host, "/by-method", both)).status).toBe(200);
  });

  it("is asked for before the token is known", async () => {
    const seen: unknown[] = [];
    const host = scopeHost((req) => {
      seen.push((req as { auth?: unknown }).auth);
      return "orders:write";
    });
    expect(challengeOf(await request(host.app).get("/by-method"))).toBe(`${bare}, scope="orders:write"`);
    await callApi(host, "/by-method", await tokenOfAlice(host));
    expect(seen).toEqual([undefined, undefined]);
  });

  it.each([
    ["undefined", () => undefined],
    ["null", () => null],
    ["an empty text", () => ""],
    ["an empty list", () => []],
    ["a scope of another API", () => "files:read"],
    ["a list with a gap", () => ["orders:read", undefined]],
    ["a promise", () => Promise.resolve("orders:read")],
    ["a promise that fails", () => Promise.reject(new Error("late"))],
  ])("lets nobody pass when the function gives %s", async (_, scope) => {
    const host = scopeHost(scope);
    const token = await tokenOfAlice(host);
    host.events.length = 0;
    const response = await callApi(host, "/by-method", token);
    expect(response.status).toBe(500);
    expect(response.body).toMatchObject({ error: "server_error" });
    expect(host.events).toMatchObject([{ kind: "server-error", cause: expect.any(TypeError) as unknown }]);
  });

  it("lets nobody pass when the function throws", async () => {
    const cause = new Error("of the host");
    const host = scopeHost(() => {
      throw cause;
    });
    expect((await callApi(host, "/by-method", await tokenOfAlice(host))).status).toBe(500);
    expect(host.events.at(-1)).toMatchObject({ kind: "server-error", cause });
  });
});

describe("auth.challenge, for a handler that finds out later (RFC 6750 §3.1)", () => {
  const options = { api: "orders", scope: ["orders:write"] };

  function laterHost(): TestHost {
    const host = testHost();
    host.app.get("/later", host.auth.requireBearer({ api: "orders" }), (req, res) =>
      host.auth.challenge(req, res, options),
    );
    host.app.get("/open", (req, res) => host.auth.challenge(req, res, options));
    return host;
  }

  it("answers as requireBearer does, with the scope that is needed", async () => {
    const host = laterHost();
    const token = await tokenOfAlice(host);
    const later = await callApi(host, "/later", token);
    const before = await callApi(host, "/orders/changes", token);
    expect([later.status, later.body, challengeOf(later)]).toEqual([403, before.body, challengeOf(before)]);
    expect(host.events.at(-1)).toEqual(host.events.at(-2));
  });

  it("is a 401 where nobody has looked at a token", async () => {
    const response = await request(laterHost().app).get("/open");
    expect(response.status).toBe(401);
    expect(challengeOf(response)).toBe(`${bare}, scope="orders:write"`);
  });

  it.each([
    ["no options", undefined, "unknown-api-of-route"],
    ["an unknown API", { api: "nothing", scope: "orders:read" }, "unknown-api-of-route"],
    ["no scope", { api: "orders" }, "unknown-scope-of-route"],
    ["a scope that is undefined", { api: "orders", scope: undefined }, "undefined-key"],
    ["an empty list", { api: "orders", scope: [] }, "unknown-scope-of-route"],
    ["an unknown scope", { api: "orders", scope: "orders:all" }, "unknown-scope-of-route"],
    ["a function", { api: "orders", scope: () => "orders:read" }, "unknown-scope-of-route"],
    ["an unknown option", { ...options, error: "invalid_token" }, "unknown-key"],
  ])("refuses %s", (_, wrong, code) => {
    const { auth } = testHost();
    const call = () => auth.challenge({} as never, {} as never, wrong as never);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(expect.objectContaining({ code }));
  });
});
