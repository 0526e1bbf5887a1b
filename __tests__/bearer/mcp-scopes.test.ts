import express, { type Request } from "express";
import request, { type Response } from "supertest";
import { type McpScopesOptions, protectRoutes } from "../../lib/bearer/protect-routes";
import type { Api } from "../../lib/protocol/issuer";
import { createResourceServer } from "../../lib/resource-server";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { apiRecord } from "../records/records";

stopClockForEachTest();

const scopes = { "notes:read": "Read", "notes:write": "Add", "notes:delete": "Delete" };
const all = Object.keys(scopes);
const tools = {
  list_notes: [],
  add_note: ["notes:write"],
  delete_notes: "notes:read notes:delete",
  toString: ["notes:write"],
} as const;

function scopesWith(changes: Partial<Api> = {}): (req: Partial<Request>) => readonly string[] {
  const api = apiRecord({ apiId: "mcp", scopes, defaultScopes: ["notes:read"], ...changes });
  const { mcpScopes } = protectRoutes({
    apis: [{ api, verify: () => Promise.reject(new Error("nobody asks")) }],
    emit: () => undefined,
    clock: () => 0,
  });
  const scope = mcpScopes({ api: "mcp", tools });
  return (req) => scope({ method: "POST", headers: {}, ...req } as Request);
}

const scopesOf = scopesWith();
const call = (name: unknown): object => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } });
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

describe("the scopes of a request to an MCP server (RFC 6750 §3.1)", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["a message that calls no tool", ping, ["notes:read"]],
    ["a message with a tool's name that is no call", { ...call("add_note"), method: "x" }, ["notes:read"]],
    ["a result for the server", { jsonrpc: "2.0", id: 1, result: {} }, ["notes:read"]],
    ["an error for the server", { jsonrpc: "2.0", id: 1, error: {} }, ["notes:read"]],
    ["a tool without scopes", call("list_notes"), ["notes:read"]],
    ["a tool with a scope", call("add_note"), ["notes:read", "notes:write"]],
    ["a tool with scopes in one text", call("delete_notes"), ["notes:read", "notes:delete"]],
    [
      "a call that also looks like a result",
      { ...call("add_note"), result: {} },
      ["notes:read", "notes:write"],
    ],
    ["a listed tool with the name of an inherited property", call("toString"), ["notes:read", "notes:write"]],
    ["a batch without calls", [ping, ping], ["notes:read"]],
    ["an empty batch", [], ["notes:read"]],
    ["a batch whose last message is a call", [ping, call("add_note")], ["notes:read", "notes:write"]],
    [
      "a batch with two calls",
      [call("delete_notes"), call("add_note")],
      ["notes:read", "notes:delete", "notes:write"],
    ],
  ])("are the default ones and those of the tools: %s", (_, body, expected) => {
    expect(scopesOf({ body })).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ["a tool that is not listed", call("rename_notes")],
    ["a tool in other letters", call("List_notes")],
    ["a tool named constructor", call("constructor")],
    ["a tool named __proto__", call("__proto__")],
    ["a call of nothing", call(undefined)],
    ["a list with the name of a tool", call(["list_notes"])],
    ["a call without params", { ...ping, method: "tools/call" }],
    ["a call with params that are null", { ...ping, method: "tools/call", params: null }],
    ["a batch with such a tool", [call("list_notes"), call("rename_notes")]],
    ["a batch in a batch", [[call("list_notes")]]],
    ["null in a batch", [null]],
    ["a method that is a list", { ...call("list_notes"), method: ["tools/call"] }],
    ["a method that is inherited", Object.create(ping)],
    ["a result that is inherited", Object.create({ result: {} })],
    ["an empty object, which parsers leave of what they do not read", {}],
    ["null", null],
    ["a text", JSON.stringify(call("list_notes"))],
    ["bytes", Buffer.from(JSON.stringify(call("list_notes")))],
    ["nothing", undefined],
  ])("are all scopes of the API where the request can't be judged: %s", (_, body) => {
    expect(new Set(scopesOf({ body }))).toEqual(new Set(all));
  });

  it.each(["GET", "HEAD", "DELETE", "OPTIONS"])(
    "are the default ones for %s, whatever the body says",
    (method) => {
      expect(scopesOf({ method, body: call("add_note") })).toEqual(["notes:read"]);
      expect(
        scopesOf({ method, headers: { "content-type": "application/json", "content-length": "2" } }),
      ).toEqual(["notes:read"]);
    },
  );

  it("are none for a message without a call where the API has no default scopes", () => {
    expect(scopesWith({ defaultScopes: [] })({ body: ping })).toEqual([]);
    expect(scopesWith({ defaultScopes: [] })({ body: call("add_note") })).toEqual(["notes:write"]);
  });
});

describe("a body that nothing has parsed", () => {
  it.each<[string, Request["headers"]]>([
    ["JSON", { "content-type": "application/json", "content-length": "2" }],
    ["JSON in chunks", { "content-type": "application/json", "transfer-encoding": "chunked" }],
    ["JSON with a charset", { "content-type": "Application/JSON; charset=UTF-8", "content-length": "2" }],
  ])("is the host's mistake where express.json() would have parsed it: %s", (_, headers) => {
    expect(() => scopesOf({ headers })).toThrow(
      Object.assign(
        new TypeError(
          "mcpScopes: req.body is undefined, although the request has JSON. Put express.json() in front of requireBearer.",
        ),
        { code: "mcp-body-not-parsed" },
      ),
    );
  });

  it.each<[string, Request["headers"]]>([
    ["no headers", {}],
    ["JSON without a body", { "content-type": "application/json" }],
    ["JSON of no length", { "content-type": "application/json", "content-length": "0" }],
    [
      "a text that contains the type",
      { "content-type": "text/plain; application/json", "content-length": "2" },
    ],
    ["a parameter that is none", { "content-type": "application/json; x", "content-length": "2" }],
    ["a type in front", { "content-type": "x/application/json", "content-length": "2" }],
    ["another charset", { "content-type": "application/json; charset=latin1", "content-length": "2" }],
    ["a longer type", { "content-type": "application/json-rpc", "content-length": "2" }],
  ])("needs every scope otherwise, because a sender chooses the headers: %s", (_, headers) => {
    expect(new Set(scopesOf({ headers }))).toEqual(new Set(all));
  });
});

describe("the options of mcpScopes are checked when it is called", () => {
  const { mcpScopes } = testHost().auth;
  const ofOrders = "must name scopes of orders, and no others. Known scopes: orders:read, orders:write.";

  it.each<[string, object | undefined, string, string]>([
    ["no options", undefined, "api is not an id in apis.", "unknown-api-of-route"],
    [
      "an unknown API",
      { api: "constructor", tools: {} },
      "api is not an id in apis.",
      "unknown-api-of-route",
    ],
    ["an unknown option", { api: "orders", tool: {} }, "tool is not known here.", "unknown-key"],
    ["no tools", { api: "orders" }, "tools must be a plain object", "not-plain"],
    [
      "a list of tools",
      { api: "orders", tools: ["list_notes"] },
      "tools must be a plain object",
      "not-plain",
    ],
    [
      "inherited tools",
      { api: "orders", tools: { __proto__: { x: [] } } },
      "tools must be a plain object",
      "not-plain",
    ],
    [
      "a tool without a value",
      { api: "orders", tools: { x: undefined } },
      "x is undefined.",
      "undefined-key",
    ],
    [
      "an unknown scope",
      { api: "orders", tools: { x: ["files:read"] } },
      `tools.x ${ofOrders}`,
      "unknown-scope-of-route",
    ],
    ["an empty text", { api: "orders", tools: { x: "" } }, `tools.x ${ofOrders}`, "unknown-scope-of-route"],
    ["null", { api: "orders", tools: { x: null } }, `tools.x ${ofOrders}`, "unknown-scope-of-route"],
  ])("refuses %s", (_, options, text, code) => {
    const attempt = (): unknown => mcpScopes(options as McpScopesOptions);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow(`mcpScopes: ${text}`);
    expect(attempt).toThrow(expect.objectContaining({ code }));
  });

  it("copies them: a list that the host empties later still counts", async () => {
    const list = ["orders:write"];
    const host = testHost();
    const scope = host.auth.mcpScopes({ api: "orders", tools: { add_note: list } });
    list.length = 0;
    expect(scope({ method: "POST", headers: {}, body: call("add_note") } as Request)).toContain(
      "orders:write",
    );
  });
});

/** POSTs to an MCP server behind `requireBearer` with `mcpScopes`. */
async function post(
  { app }: Pick<TestHost, "app">,
  body: string | object,
  { token, type = "application/json" }: { token?: string; type?: string } = {},
): Promise<Response> {
  const sent = request(app).post("/mcp").set("Content-Type", type);
  if (token !== undefined) sent.auth(token, { type: "bearer" });
  return sent.send(body);
}

function mcpHost(): TestHost {
  const host = testHost();
  const scope = host.auth.mcpScopes({ api: "orders", tools: { list_notes: [], add_note: ["orders:write"] } });
  host.app.post(
    "/mcp",
    express.json(),
    host.auth.requireBearer({ api: "orders", scope }),
    (_, res) => void res.json("passed"),
  );
  return host;
}

describe("mcpScopes in requireBearer (RFC 6750 §3)", () => {
  it("names the default scopes in the first challenge", async () => {
    const { status, headers } = await post(mcpHost(), { ...ping, method: "initialize" });
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toMatch(/scope="orders:read"$/);
  });

  it.each<[string, object | string, string | undefined, number]>([
    ["reading", call("list_notes"), undefined, 200],
    ["adding", call("add_note"), undefined, 403],
    ["adding in a batch", [call("list_notes"), call("add_note")], undefined, 403],
    ["a tool that is not listed", call("rename_note"), undefined, 403],
    ["a body of another type", JSON.stringify(call("add_note")), "text/plain; application/json", 403],
  ])("with a token that may only read: %s", async (_, body, type, expected) => {
    const host = mcpHost();
    const { access_token: token } = await obtainTokens(host, {
      client: "web",
      fields: { scope: "orders:read" },
    });
    const { status, headers } = await post(host, body, { token, ...(type !== undefined && { type }) });
    expect(status).toBe(expected);
    if (expected === 403) expect(headers["www-authenticate"]).toMatch(/scope="orders:read orders:write"$/);
  });

  it("answers server_error without express.json(), and the event has the id of the mistake", async () => {
    const host = testHost();
    const scope = host.auth.mcpScopes({ api: "orders", tools: {} });
    host.app.post("/mcp", host.auth.requireBearer({ api: "orders", scope }));
    expect((await post(host, ping)).status).toBe(500);
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: { code: "mcp-body-not-parsed" },
    });
  });

  it.each<[readonly string[] | undefined, RegExp, RegExp]>([
    [undefined, /^Bearer (?!.*scope=)/, /scope="orders:write"$/],
    [["orders:read"], /scope="orders:read"$/, /scope="orders:read orders:write"$/],
  ])("asks at a resource server for its default scopes: %j", async (defaultScopes, atFirst, forTheTool) => {
    const orders = { audience: "https://api.example/orders", scopes: ["orders:read", "orders:write"] };
    const auth = createResourceServer({
      baseUrl: "https://host.example/oauth",
      apis: { orders: { ...orders, ...(defaultScopes && { defaultScopes }) } },
    });
    const scope = auth.mcpScopes({ api: "orders", tools: { add_note: ["orders:write"] } });
    const app = express();
    app.use(express.json(), auth.requireBearer({ api: "orders", scope }));
    const [first, later] = [await post({ app }, ping), await post({ app }, call("add_note"))];
    expect([first.status, later.status]).toEqual([401, 401]);
    expect(first.headers["www-authenticate"]).toMatch(atFirst);
    expect(later.headers["www-authenticate"]).toMatch(forTheTool);
  });
});
