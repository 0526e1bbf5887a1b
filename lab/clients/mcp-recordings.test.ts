/** What MCP clients sent to examples/mcp-server in November 2026, each request again. Secrets, ids and ports are those of this run. */
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import { newWebBrowser, startExampleForAllTests } from "../../__tests__/servers/example";
import { allow, passwordIn } from "./mcp-client";
import recordings from "./mcp-recordings.json";

interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

const example = startExampleForAllTests("mcp-server/server.mjs", /MCP server is .*\n/);

/** What the client knows, by the names that stand in the recordings. */
type Known = Map<string, string>;

function filled(text: string, known: Known): string {
  const resource = text.replaceAll("http://localhost:<port>/mcp", `${example.origin}/mcp`);
  return resource.replaceAll(/<[\w ]+>/g, (name) => known.get(name) ?? "unknown");
}

/** The message of an MCP client; the recordings have its method only. Where it was refused, it called a tool that needs more. */
function message({ body, status }: Recorded): object {
  const params: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
    "tools/call": { name: status === 403 ? "delete_notes" : "list_notes", arguments: {} },
  };
  const method = String(body?.["method"]);
  const id = method.startsWith("notifications/") ? {} : { id: 1 };
  return { jsonrpc: "2.0", ...id, method, params: params[method] ?? {} };
}

function bodyOf(recorded: Recorded, known: Known): string | null {
  const { path, headers = {}, body } = recorded;
  if (!body) return null;
  if (path === "/mcp") return JSON.stringify(message(recorded));
  const text = filled(JSON.stringify(body), known);
  return headers["content-type"]?.startsWith("application/json") === true
    ? text
    : new URLSearchParams(JSON.parse(text) as Record<string, string>).toString();
}

function urlOf({ path, query = {} }: Recorded, known: Known): URL {
  const issuer = `${example.origin}/oauth/auth/account/api/mcp`;
  const url = new URL(path.replace("{issuer}", issuer), example.origin);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, filled(value, known));
  return url;
}

/** Alice allows what the client asks for, where the browser was led on to her. */
async function authorize(recorded: Recorded, known: Known): Promise<void> {
  const url = urlOf(recorded, known);
  const redirectUrl = url.searchParams.get("redirect_uri") ?? "";
  const password = passwordIn(example, "alice");
  const answer = await allow(newWebBrowser(), { url, name: "alice", password, redirectUrl });
  expect(answer.get("state")).toBe(url.searchParams.get("state"));
  known.set("<code>", answer.get("code") ?? "");
}

/** Sends a request, and keeps what the client is told. */
async function send(recorded: Recorded, known: Known): Promise<number> {
  const { method, status } = recorded;
  const token = status === 401 ? "worthless" : known.get("<access_token>");
  const headers = new Headers(recorded.headers);
  if (headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
  const init = { method, headers, body: bodyOf(recorded, known), redirect: "manual" } as const;
  const response = await fetch(urlOf(recorded, known), init);
  const text = await response.text();
  const told = text.startsWith("{") ? (JSON.parse(text) as Record<string, string>) : {};
  const kept = {
    client_id: "<registered id>",
    access_token: "<access_token>",
    refresh_token: "<refresh_token>",
  };
  for (const [name, placeholder] of Object.entries(kept))
    if (told[name] !== undefined) known.set(placeholder, told[name]);
  known.set("<token>", known.get("<refresh_token>") ?? "");
  return response.status;
}

describe("what MCP clients sent (MCP 2025-11-25, authorization)", () => {
  it.each(Object.entries(recordings as Readonly<Record<string, readonly Recorded[]>>))(
    "%s gets the same answers, and its token",
    async (_, requests) => {
      const known: Known = new Map([
        ["<port>", "33418"],
        ["<state>", "tY9+a/4="],
        ["<code_challenge>", codeChallenge],
        ["<code_verifier>", codeVerifier],
      ]);
      for (const recorded of requests) {
        const { method, path, status } = recorded;
        if (path === "{issuer}/authorize" && status === 302) await authorize(recorded, known);
        else expect([method, path, await send(recorded, known)]).toEqual([method, path, status]);
      }
      expect(known.get("<access_token>")).toMatch(/^eyJ/);
    },
  );
});
