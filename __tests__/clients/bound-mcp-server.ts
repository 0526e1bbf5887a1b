/** An MCP server for clients that bind their tokens to a key. RFC 9449 §7.1; 9728 §5.1. */
import type { IncomingMessage } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { type ApiOptions, createAuthServer, generateSigningKey, memoryStorage } from "../../lib";
import type { StartedServer } from "../servers/free-port";

/** Where the one client that the host has registered gets its answers. */
export const redirectUrl = "http://127.0.0.1:6276/callback";

/** Puts the MCP server onto a port, with a tool that says whose token has come; gives its address, and the reasons of refusals. */
export function serveMcp(
  { origin, serve }: StartedServer,
  dpop: NonNullable<ApiOptions["dpop"]>,
): { readonly url: URL; readonly refusals: string[] } {
  const refusals: string[] = [];
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({
      clients: [
        {
          clientId: "inspector",
          name: "Inspector",
          confidential: false,
          platform: "native",
          redirectUris: [redirectUrl],
          trusted: true,
          dpopBound: true,
          subscriptions: { mcp: {} },
        },
      ],
    }),
    authMethods: { password: { authenticate: () => ({ kind: "authenticated", subject: "alice" }) } },
    apis: {
      mcp: {
        audience: `${origin}/mcp`,
        authMethods: ["password"],
        scopes: { "notes:read": "Read your notes", "notes:write": "Add notes" },
        defaultScopes: ["notes:read"],
        dpop,
      },
    },
    onEvent: (event) => {
      if ("reason" in event) refusals.push(event.code);
    },
  });
  const app = express().use("/login", auth.router).use(auth.wellKnown);
  const tools = { whose: ["notes:read"], add: ["notes:write"] };
  app.use("/mcp", express.json());
  app.use("/mcp", auth.requireBearer({ api: "mcp", scope: auth.mcpScopes({ api: "mcp", tools }) }));
  app.post("/mcp", async (req, res) => {
    const server = new McpServer({ name: "notes", version: "1.0.0" });
    server.registerTool("whose", {}, ({ authInfo }) => ({
      content: [{ type: "text", text: String(authInfo?.extra?.["subject"]) }],
    }));
    const transport = new StreamableHTTPServerTransport();
    res.once("close", () => void transport.close());
    await server.connect(transport);
    const withAuthInfo = Object.create(req, { auth: { value: auth.mcpAuth(req) } }) as IncomingMessage;
    await transport.handleRequest(withAuthInfo, res, req.body ?? null);
  });
  app.all("/mcp", (_req, res) => void res.set("Allow", "POST").sendStatus(405));
  serve(app);
  return { url: new URL("/mcp", origin), refusals };
}
