// @ts-check
/** The MCP server with sessions: each keeps its state between requests, and belongs to the person and the client that opened it. */
import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { auth, protect } from "./auth.mjs";
import { newNotesServer } from "./notes.mjs";
import { session, signInPages } from "./sign-in.mjs";

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;

/** @typedef {{ clientId: string, subject: unknown, transport: StreamableHTTPServerTransport }} Session */

/** `Mcp-Session-Id` → session, the one that was used last at the end. @type {Map<string, Session>} */
const sessions = new Map();
const sessionsOfOnePerson = 10;

/** Opens a session if the transport finds a request to initialize. @param {Pick<Session, "clientId" | "subject">} owner */
async function newTransport({ clientId, subject }) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: async (id) => {
      const own = [...sessions].filter(([, each]) => each.subject === subject);
      const [oldest] = own.length < sessionsOfOnePerson ? [] : own;
      if (oldest) {
        sessions.delete(oldest[0]);
        await oldest[1].transport.close();
      }
      sessions.set(id, { clientId, subject, transport });
    },
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await newNotesServer().connect(transport);
  return transport;
}

const app = express();
app.use(session).use("/oauth", auth.router).use(auth.wellKnown);
app.use("/mcp", express.json());
app.use("/mcp", protect);
app.all("/mcp", async (req, res) => {
  const authInfo = auth.mcpAuth(req);
  const { clientId, expiresAt } = authInfo;
  const { subject } = authInfo.extra;
  const id = req.get("Mcp-Session-Id");
  const found = id === undefined ? undefined : sessions.get(id);
  // an id is no proof: for anyone but its owner, the session does not exist
  if (id !== undefined && (found?.subject !== subject || found?.clientId !== clientId)) {
    const error = { code: -32001, message: "Session not found" };
    res.status(404).json({ jsonrpc: "2.0", error, id: null });
    return;
  }
  if (id !== undefined && found) {
    sessions.delete(id);
    sessions.set(id, found);
  }
  // a stream must not outlive the token that opened it
  const timer = setTimeout(() => res.destroy(), expiresAt * 1000 - Date.now());
  res.once("close", () => clearTimeout(timer));
  const transport = found?.transport ?? (await newTransport({ clientId, subject }));
  const withAuthInfo = Object.create(req, { auth: { value: authInfo } });
  await transport.handleRequest(withAuthInfo, res, req.body ?? null);
  if (transport.sessionId === undefined) await transport.close();
});
app.use(signInPages(auth));

app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`The MCP server is ${origin}/mcp`);
});
