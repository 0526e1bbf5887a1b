/** The scopes that a request to an MCP server needs, by the tools that it calls. RFC 6750 §3.1; MCP 2025-11-25, scope challenges. */
import type { IncomingHttpHeaders } from "node:http";
import type { Request } from "express";
import { ownScopes, type ProtectedApi } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";

const mistake = mistakesOf({
  "mcp-body-not-parsed":
    "mcpScopes: req.body is undefined, although the request has JSON. Put express.json() in front of requireBearer.",
});

/** For an API without default scopes: `requireBearer` takes this list from a scope function, and no other empty one. */
export const noScopes: readonly string[] = Object.freeze([]);

/** True for JSON that `express.json()` parses. Anything less plain, such as a strange parameter, may be what it leaves alone. */
function hasJson({
  "content-type": type = "",
  "content-length": length,
  "transfer-encoding": coding,
}: IncomingHttpHeaders): boolean {
  const hasBody = coding !== undefined || Number(length) > 0;
  return hasBody && /^application\/json(?:; ?charset="?utf-8"?)?$/i.test(type);
}

/** What is found in one message of the body. The transport reads own properties of parsed JSON, and so does this. */
function readMessage(message: unknown): "no-call" | "unreadable" | { readonly tool: unknown } {
  if (typeof message !== "object" || message === null) return "unreadable";
  const own = new Map<string, unknown>(Object.entries(message));
  if (own.get("method") === "tools/call") return { tool: Object(own.get("params")).name };
  // without a method it is an answer to the server; {} is what the parsers of Express 4 leave of a body that they did not read
  return typeof own.get("method") === "string" || own.has("result") || own.has("error")
    ? "no-call"
    : "unreadable";
}

/** Gives the scopes that a request needs. `tools`: tool → the scopes that it needs besides the default scopes. */
export function scopesByTools(
  api: ProtectedApi,
  tools: ReadonlyMap<unknown, readonly string[]>,
): (req: Request) => readonly string[] {
  const { defaultScopes } = api;
  const all = ownScopes(api);
  function scopesOfMessage(message: unknown): readonly string[] {
    const found = readMessage(message);
    if (found === "no-call") return [];
    // a tool that was forgotten, and a body that the transport may read in another way, need every scope rather than none
    return found === "unreadable" ? all : (tools.get(found.tool) ?? all);
  }
  return ({ method, headers, body }) => {
    // streams and the end of a session
    const isPost = method === "POST";
    if (isPost && body === undefined && hasJson(headers)) throw mistake("mcp-body-not-parsed");
    const messages: readonly unknown[] = isPost ? (Array.isArray(body) ? body : [body]) : [];
    const needed = new Set([...defaultScopes, ...messages.flatMap(scopesOfMessage)]);
    return needed.size === 0 ? noScopes : [...needed];
  };
}
