/** The MCP server without protection. docs/mcp.md shows the lines in which server.mjs differs. */
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { newNotesServer } from "./notes.mjs";

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;

const app = express();
app.use("/mcp", express.json());
app.post("/mcp", async (req, res) => {
  const transport = new StreamableHTTPServerTransport();
  res.once("close", () => void transport.close());
  await newNotesServer().connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.all("/mcp", (_req, res) => res.set("Allow", "POST").sendStatus(405));

app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`The MCP server is ${origin}/mcp`);
});
