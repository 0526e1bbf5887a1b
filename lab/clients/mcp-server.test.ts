/** examples/mcp-server, started as a user starts it, and the MCP SDK's own clients, which know its address only. */
import { startExampleForAllTests } from "../../__tests__/servers/example";
import { type McpRegistration, mcpSdks, mcpVisits, type Visit } from "./mcp-client";

const example = startExampleForAllTests("../lab/clients/mcp-server-with-documents.cjs", /MCP server is .*\n/);
const { mcpUrl, connected } = mcpVisits(example);

const answer = (text: string): object => ({ content: [{ type: "text", text }] });
const editions = Object.keys(mcpSdks);

const documentUrl = "https://app.example/mcp-client.json";
const ways: readonly [string, McpRegistration, RegExp][] = [
  ["a client id that somebody has typed in", { kind: "known", clientId: "inspector" }, /^inspector$/],
  [
    "a metadata document",
    { kind: "document", clientMetadataUrl: documentUrl },
    /^https:\/\/app\.example\/mcp-client\.json$/,
  ],
  ["nothing: it registers itself (RFC 7591 §3)", { kind: "registration" }, /^dcr-/],
];

describe.each(editions)("examples/mcp-server and the client of %s", (sdk) => {
  it.each(ways)("connects with the address of the MCP server and %s", async (_, registration, clientId) => {
    const { client, memory } = await connected({ name: "alice", sdk, registration });
    expect(await client.call("list_notes")).toMatchObject({ content: [{ type: "text" }] });
    const asked = memory.asked.map((each) => [
      each.get("client_id"),
      each.get("scope"),
      each.get("resource"),
    ]);
    expect(asked).toEqual([[expect.stringMatching(clientId), "notes:read", mcpUrl()]]);
    await client.close();
  });

  it.each(ways)("refreshes its token with %s, for the same resource", async (_, registration) => {
    const { client, memory } = await connected({ name: "alice", sdk, registration });
    const before = memory.tokens;
    if (before) memory.tokens = { ...before, access_token: "worthless" };
    await client.call("list_notes");
    expect(memory.asked).toHaveLength(1);
    expect(memory.tokens).toMatchObject({ scope: "notes:read", access_token: expect.stringMatching(/^eyJ/) });
    expect(memory.tokens?.refresh_token).not.toBe(before?.refresh_token);
    await client.close();
  });
});

/** Calls the tool that needs more, and lets the person allow it as often as the client asks. */
async function addNote(visit: Visit, text: string): Promise<unknown> {
  try {
    return await visit.client.call("add_note", { text });
  } catch {
    await visit.allow();
    return visit.client.call("add_note", { text });
  }
}

describe("a tool that needs more scope (MCP authorization, scope challenge handling)", () => {
  it("is asked for when it is first called, by the client of @modelcontextprotocol/client", async () => {
    const alice = await connected({ name: "alice", sdk: "@modelcontextprotocol/client" });
    expect(await addNote(alice, "Buy tea")).toMatchObject(answer("Added."));
    expect(alice.memory.asked.map((asked) => asked.get("scope"))).toEqual([
      "notes:read",
      "notes:read notes:write",
    ]);
    expect(await alice.client.call("list_notes")).toMatchObject(answer('["Buy tea"]'));
    const bob = await connected({ name: "bob", sdk: "@modelcontextprotocol/client" });
    expect(await bob.client.call("list_notes")).toMatchObject(answer("[]"));
    await Promise.all([alice.client.close(), bob.client.close()]);
  });

  // this edition refreshes first, gets the same scopes again, and gives up
  it("is asked for by the client of @modelcontextprotocol/sdk once it has no refresh token", async () => {
    const alice = await connected({ name: "alice", sdk: "@modelcontextprotocol/sdk" });
    await expect(alice.client.call("add_note", { text: "Buy milk" })).rejects.toThrow(
      "after trying upscoping",
    );
    expect(alice.memory.asked).toHaveLength(1);
    await alice.client.close();
    await alice.client.connect();
    const { refresh_token: _, ...tokens } = alice.memory.tokens ?? { access_token: "", token_type: "" };
    alice.memory.tokens = tokens;
    expect(await addNote(alice, "Buy milk")).toMatchObject(answer("Added."));
    expect(alice.memory.asked.at(-1)?.get("scope")).toBe("notes:read notes:write");
    await alice.client.close();
  });
});

/** A token of Alice that may only read. */
async function readingToken(): Promise<string> {
  const { client, memory } = await connected({ name: "alice", sdk: editions[0] ?? "" });
  await client.close();
  return memory.tokens?.access_token ?? "";
}

/** A request as any program can send it. */
function send(
  body: unknown,
  { token, ...init }: { token?: string; method?: string; contentType?: string } = {},
): Promise<Response> {
  const { method = "POST", contentType = "application/json" } = init;
  const headers = {
    "content-type": contentType,
    accept: "application/json, text/event-stream",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return fetch(mcpUrl(), { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

/** Registers a client with these redirect URIs. */
async function register(...redirect_uris: readonly string[]): Promise<{ status: number; body: unknown }> {
  const issuer = `${example.origin}/oauth/auth/account/api/mcp`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ redirect_uris, token_endpoint_auth_method: "none" });
  const response = await fetch(`${issuer}/register`, { method: "POST", headers, body });
  return { status: response.status, body: await response.json() };
}

describe("who may register at examples/mcp-server (RFC 7591 §5)", () => {
  it.each([
    ["an app on a device", "http://127.0.0.1/callback"],
    ["an app with a scheme that is known", "cursor://anysphere.cursor-mcp/oauth/callback"],
    ["a site that is known", "https://claude.ai/api/mcp/auth_callback"],
    ["OpenAI, which tries an app before it is listed", "https://platform.openai.com/apps-manage/oauth"],
  ])("%s", async (_, uri) => {
    expect(await register(uri)).toMatchObject({ status: 201, body: { redirect_uris: [uri] } });
  });

  it.each([
    ["another site", "https://evil.example/callback"],
    ["another site in capital letters", "HTTPS://EVIL.example/callback"],
    ["a site that begins like a known one", "https://claude.ai.evil.example/"],
  ])("not %s, even beside an app on a device", async (_, uri) => {
    expect(await register("http://127.0.0.1/callback", uri)).toMatchObject({
      status: 403,
      body: { error: "access_denied" },
    });
  });
});

const addNoteCall = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "add_note", arguments: { text: "planted" } },
};

describe("examples/mcp-server (RFC 6750 §3, 9728 §5.1)", () => {
  it.each(["GET", "POST", "DELETE", "HEAD"])(
    "answers %s without a token with a challenge",
    async (method) => {
      const { status, headers } = await send(method === "POST" ? addNoteCall : undefined, { method });
      const metadata = `${example.origin}/.well-known/oauth-protected-resource/mcp`;
      const scope = method === "POST" ? "notes:read notes:write" : "notes:read";
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe(
        `Bearer realm="${mcpUrl()}", resource_metadata="${metadata}", scope="${scope}"`,
      );
    },
  );

  it("asks for every scope where a POST has no JSON: a call in it could not be seen", async () => {
    for (const init of [
      {},
      { body: JSON.stringify(addNoteCall), headers: { "content-type": "text/plain" } },
    ]) {
      const { headers } = await fetch(mcpUrl(), { method: "POST", ...init });
      expect(headers.get("www-authenticate")).toMatch(/scope="notes:read notes:write notes:delete"$/);
    }
  });

  it("needs every scope for no tool, or mcp-remote would never ask for them", async () => {
    const url = `${example.origin}/.well-known/oauth-protected-resource/mcp`;
    const { scopes_supported: all } = (await (await fetch(url)).json()) as { scopes_supported: string[] };
    for (const name of ["list_notes", "add_note", "delete_notes"]) {
      const { headers } = await send({ ...addNoteCall, params: { name } });
      expect(headers.get("www-authenticate")).not.toContain(`scope="${all.join(" ")}"`);
    }
  });

  it("has no stream for messages of its own", async () => {
    const response = await send(undefined, { method: "GET", token: await readingToken() });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it.each([
    ["alone", addNoteCall, {}],
    ["in a batch", [{ ...addNoteCall, method: "ping" }, addNoteCall], {}],
    ["of a tool that does not exist", { ...addNoteCall, params: { name: "rename_notes" } }, {}],
  ])("refuses a call %s with a token that may only read", async (_, body, init) => {
    const token = await readingToken();
    const response = await send(body, { ...init, token });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toMatch(
      /error="insufficient_scope", .*scope="notes:read notes:write(?: notes:delete)?"$/,
    );
  });

  it("lets no call pass in a body that is not JSON by its type", async () => {
    const token = await readingToken();
    const response = await send(addNoteCall, { contentType: "text/plain; application/json", token });
    expect(response.status).toBe(403);
    const list = await send({ ...addNoteCall, params: { name: "list_notes", arguments: {} } }, { token });
    expect(await list.text()).not.toContain("planted");
  });

  it("prints no token and no stack trace", () => {
    expect(example.printed.out + example.printed.err).not.toMatch(/eyJ[\w-]+\.eyJ|^\s+at /m);
  });
});
