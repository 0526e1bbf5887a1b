// @ts-check
/** The MCP server: three tools, and the notes of every person. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** Subject → their notes. In a real app, these are in your database. @type {Map<unknown, string[]>} */
const notes = new Map();

/** @type {(text: string) => { content: { type: "text", text: string }[] }} */
const answer = (text) => ({ content: [{ type: "text", text }] });

/** A new MCP server. `authInfo` is what the transport was given; without it, everybody shares their notes. */
export function newNotesServer() {
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
