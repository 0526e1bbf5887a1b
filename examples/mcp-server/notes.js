// @ts-check
/** The MCP server: three tools, each with the scopes that it needs, and the notes of every person. */
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { z } = require("zod");

/** Subject → their notes. In a real app, these are in your database. @type {Map<unknown, string[]>} */
const notes = new Map();

/** Scope → what people read on the consent page. */
const scopes = {
  "notes:read": "Read your notes",
  "notes:write": "Add notes for you",
  "notes:delete": "Delete all your notes",
};

/** What the authorization server is told about the notes. */
const notesApi = /** @type {const} */ ({
  name: "Notes",
  scopes,
  // for clients that ask for no scope, and for those that ask for scopes of their own as well
  defaultScopes: ["notes:read"],
  unknownScopes: "ignore",
});

/** Tool → its scopes. None needs all of them: mcp-remote does not ask people for all scopes when a tool needs them later. */
const scopesOfTools = new Map([
  ["list_notes", ["notes:read"]],
  // both: a client that asks for these scopes replaces its token, and must not lose what it could do before
  ["add_note", ["notes:read", "notes:write"]],
  ["delete_notes", ["notes:read", "notes:delete"]],
]);

/** @typedef {{ method?: unknown, params?: { name?: unknown } } | null | undefined} Message */

/** @param {Message} message */
function scopesOfMessage(message) {
  if (message?.method !== "tools/call") return ["notes:read"];
  // a tool that was forgotten above needs every scope, rather than none
  return scopesOfTools.get(String(message.params?.name)) ?? Object.keys(scopes);
}

/** The scopes that a request needs. Without a parsed body there is no call. @param {{ body?: unknown }} req */
function scopesOf({ body }) {
  const messages = /** @type {Message[]} */ (Array.isArray(body) ? body : [body]);
  return [...new Set(["notes:read", ...messages.flatMap(scopesOfMessage)])];
}

/** @type {(text: string) => { content: { type: "text", text: string }[] }} */
const answer = (text) => ({ content: [{ type: "text", text }] });

/** An MCP server for one request. `authInfo` is what the transport was given; without it, everybody shares their notes. */
function newNotesServer() {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool("list_notes", { description: "Lists the notes" }, ({ authInfo }) =>
    answer(JSON.stringify(notes.get(authInfo?.extra?.["subject"]) ?? [])),
  );
  const inputSchema = { text: z.string().max(1000) };
  server.registerTool("add_note", { description: "Adds a note", inputSchema }, ({ text }, { authInfo }) => {
    const subject = authInfo?.extra?.["subject"];
    notes.set(subject, [...(notes.get(subject) ?? []), text]);
    return answer("Added.");
  });
  server.registerTool("delete_notes", { description: "Deletes all notes" }, ({ authInfo }) => {
    notes.delete(authInfo?.extra?.["subject"]);
    return answer("Deleted.");
  });
  return server;
}

module.exports = { newNotesServer, notesApi, scopesOf };
