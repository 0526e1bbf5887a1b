// @ts-check
/** An MCP server that people let their MCP clients use. */
const express = require("express");
const { StreamableHTTPServerTransport } = require("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { createAuthServer, memoryStorage } = require("authmount");
const { clients, unregistered } = require("./clients");
const { newNotesServer, notesApi, scopesOf } = require("./notes");
const { password, session, signInPages } = require("./sign-in");

const { PORT = "3000" } = process.env;
const origin = `http://localhost:${PORT}`;

const auth = createAuthServer({
  baseUrl: `${origin}/login`,
  storage: memoryStorage({ clients }),
  authMethods: { password },
  redirectSchemes: ["cursor"],
  apis: { mcp: { ...notesApi, ...unregistered, audience: `${origin}/mcp`, authMethods: ["password"] } },
});

const app = express();
app.use(session).use("/login", auth.router).use(auth.wellKnown);
app.use("/mcp", express.json());
app.use("/mcp", auth.requireBearer({ api: "mcp", scope: scopesOf, subject: "required" }));
app.post("/mcp", async (req, res) => {
  const transport = new StreamableHTTPServerTransport();
  res.once("close", () => void transport.close());
  await newNotesServer().connect(transport);
  // the transport reads req.auth; the request itself keeps the one of requireBearer, which has no text of a token
  const withAuthInfo = Object.create(req, { auth: { value: auth.mcpAuth(req) } });
  // never undefined: the transport would then read the body itself, and could find a call that scopesOf has not seen
  await transport.handleRequest(withAuthInfo, res, req.body ?? null);
});
app.all("/mcp", (_req, res) => res.set("Allow", "POST").sendStatus(405));
app.use(signInPages(auth));

app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`The MCP server is ${origin}/mcp`);
});
