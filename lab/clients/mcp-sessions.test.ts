/** examples/mcp-server with sessions: an `Mcp-Session-Id` belongs to the person and the client that opened the session. */
import { startExampleForAllTests } from "../../__tests__/servers/example";
import { mcpVisits } from "./mcp-client";

const example = startExampleForAllTests("mcp-server/with-sessions.mjs", /MCP server is .*\n/);
const { mcpUrl, connected } = mcpVisits(example);
const sdk = "@modelcontextprotocol/client";

/** An access token of this person for a client that has just registered. */
async function newToken(name: string): Promise<string> {
  const { client, memory } = await connected({ name, sdk });
  await client.close();
  return memory.tokens?.access_token ?? "";
}

interface Sent {
  readonly token: string;
  readonly session?: string;
  readonly method?: string;
}

interface Answer {
  readonly status: number;
  readonly session: string | null;
  readonly text: string;
}

/** A request as any program can send it. */
async function send(message: object | undefined, { token, session, method = "POST" }: Sent): Promise<Answer> {
  const headers = {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${token}`,
    "mcp-protocol-version": "2025-11-25",
    ...(message && { "content-type": "application/json" }),
    ...(session !== undefined && { "mcp-session-id": session }),
  };
  const init = { method, headers, ...(message && { body: JSON.stringify(message) }) };
  const response = await fetch(mcpUrl(), init);
  const text = await response.text();
  return { status: response.status, session: response.headers.get("mcp-session-id"), text };
}

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const listNotes = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_notes" } };

async function openSession(token: string): Promise<string> {
  return (await send(initialize, { token })).session ?? "";
}

describe("examples/mcp-server with sessions (MCP 2025-11-25, session hijacking)", () => {
  it("keeps one session for the requests of a client of the SDK", async () => {
    const { client } = await connected({ name: "alice", sdk });
    expect(await client.call("list_notes")).toMatchObject({ content: [{ text: "[]" }] });
    expect(await client.call("list_notes")).toMatchObject({ content: [{ text: "[]" }] });
    await client.close();
  });

  it.each<[string, object | undefined, string]>([
    ["a call", listNotes, "POST"],
    ["the stream", undefined, "GET"],
    ["the end of the session", undefined, "DELETE"],
  ])(
    "answers 404 to %s with somebody else's session id, and the session goes on",
    async (_, message, method) => {
      const [alice, bob, otherClientOfAlice] = [
        await newToken("alice"),
        await newToken("bob"),
        await newToken("alice"),
      ];
      const session = await openSession(alice);
      for (const token of [bob, otherClientOfAlice]) {
        const stolen = await send(message, { token, session, method });
        const unknown = await send(message, {
          token,
          session: "00000000-0000-4000-8000-000000000000",
          method,
        });
        expect(stolen).toEqual({ ...unknown, status: 404 });
      }
      const own = await send(listNotes, { token: alice, session });
      expect(own).toMatchObject({ status: 200, text: expect.stringContaining('"text":"[]"') });
    },
  );

  it("asks for a token first: a session id alone opens nothing", async () => {
    const session = await openSession(await newToken("alice"));
    expect((await send(listNotes, { token: "worthless", session })).status).toBe(401);
  });

  it("opens no session for anything but a request to initialize", async () => {
    const answer = await send(listNotes, { token: await newToken("alice") });
    expect(answer).toMatchObject({ status: 400, session: null });
  });

  it("ends a session when its owner says so", async () => {
    const token = await newToken("alice");
    const session = await openSession(token);
    expect((await send(undefined, { token, session, method: "DELETE" })).status).toBe(200);
    expect((await send(listNotes, { token, session })).status).toBe(404);
  });

  it("keeps ten sessions of one person, those that were used last, and all of others", async () => {
    const [alice, bob] = [await newToken("alice"), await newToken("bob")];
    const sessionOfBob = await openSession(bob);
    const first = await openSession(alice);
    const second = await openSession(alice);
    for (let others = 0; others < 8; others++) await openSession(alice);
    expect((await send(listNotes, { token: alice, session: first })).status).toBe(200);
    await openSession(alice);
    const statuses = [first, second].map(
      async (session) => (await send(listNotes, { token: alice, session })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 404]);
    expect((await send(listNotes, { token: bob, session: sessionOfBob })).status).toBe(200);
  });
});
