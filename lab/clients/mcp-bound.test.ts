/** The client of the MCP SDK since version 2 binds its tokens by itself when its provider has dpop(). RFC 9449 §5, §7.1; 9728 §5.1. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { serveMcp } from "../../__tests__/clients/bound-mcp-server";
import { serverForEachTest } from "../../__tests__/servers/free-port";

const startServer = serverForEachTest();

// in a process of its own: it imports the signing library while it runs, which Jest does not let it
const program = path.join(__dirname, "mcp-bound-client.mjs");

describe.each([
  ['tokens: "required"', { tokens: "required" }],
  ["both kinds of tokens", {}],
] as const)("a client of @modelcontextprotocol/client with dpop(), and an MCP server with %s", (_, dpop) => {
  it.each(["ES256", "EdDSA", "PS256"])("gets tokens that are bound to its key of %s", async (alg) => {
    const { url, refusals } = serveMcp(await startServer(), dpop);
    const { stdout } = await promisify(execFile)(process.execPath, [program, url.href, alg]);
    expect(JSON.parse(stdout)).toEqual({
      answers: ["alice", "alice"],
      type: "DPoP",
      refreshed: true,
      // what the challenges name, be they of DPoP alone
      scopes: ["notes:read", "notes:read notes:write"],
    });
    expect(new Set(refusals)).toEqual(
      new Set(["no-access-token", "token-unknown", "access-token-lacks-scope"]),
    );
  });
});
