// @ts-check
/** An MCP server that people let their MCP clients use. with-sessions.mjs is the same with sessions. */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { auth, protect } from "./auth.mjs";
import { newNotesServer } from "./notes.mjs";
import { session, signInPages } from "./sign-in.mjs";

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;

const app = express();
app.use(session).use("/oauth", auth.router).use(auth.wellKnown);
app.use("/mcp", express.json());
app.use("/mcp", protect);
app.post("/mcp", async (req, res) => {
  const transport = new StreamableHTTPServerTransport();
  res.once("close", () => void transport.close());
  await newNotesServer().connect(transport);
  // the transport reads req.auth; the request itself keeps the one of requireBearer, which has no text of a token
  const withAuthInfo = Object.create(req, { auth: { value: auth.mcpAuth(req) } });
  await transport.handleRequest(withAuthInfo, res, req.body ?? null);
});
app.all("/mcp", (_req, res) => res.set("Allow", "POST").sendStatus(405));
app.use(signInPages(auth));

app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`The MCP server is ${origin}/mcp`);
});
