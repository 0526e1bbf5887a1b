/** The client of the MCP SDK before version 2 knows no DPoP. Its `fetch` is where a host adds it. RFC 9449 §5, §7.1. */
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type TestKey, testKey } from "../../lib/testing";
import { serverForEachTest, visit } from "../servers/free-port";
import { redirectUrl, serveMcp } from "./bound-mcp-server";

const startServer = serverForEachTest();

/** What an MCP client stores: nothing but its id at first. */
interface ClientMemory {
  readonly provider: OAuthClientProvider;
  tokens: OAuthTokens | undefined;
  /** Where the person is sent. */
  asked: URL | undefined;
}

/** A client that the host has registered. */
function newClientMemory(): ClientMemory {
  let verifier = "";
  const memory: ClientMemory = {
    tokens: undefined,
    asked: undefined,
    provider: {
      redirectUrl,
      clientMetadata: { redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
      clientInformation: () => ({ client_id: "inspector" }),
      saveClientInformation: () => undefined,
      tokens: () => memory.tokens,
      saveTokens: (saved) => void (memory.tokens = saved),
      redirectToAuthorization: (url) => void (memory.asked = url),
      saveCodeVerifier: (saved) => void (verifier = saved),
      codeVerifier: () => verifier,
    },
  };
  return memory;
}

/** Adds a proof to each POST, and sends the token with it in place of `Bearer`. */
function proving(key: TestKey): FetchLike {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    const { method = "GET" } = init ?? {};
    const token = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
    const proof = key.headers({ method, url: String(url), ...(token !== undefined && { token }) });
    for (const [name, value] of Object.entries(proof)) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
}

const newClient = (): Client => new Client({ name: "test", version: "1.0.0" });

/** Connects a client whose person is signed in. */
async function connected(
  url: URL,
  { memory, fetchOfClient }: { memory: ClientMemory; fetchOfClient: FetchLike },
): Promise<Client> {
  const options = { authProvider: memory.provider, fetch: fetchOfClient };
  const transport = new StreamableHTTPClientTransport(url, options);
  await expect(newClient().connect(transport)).rejects.toThrow("Unauthorized");
  const answer = await visit(memory.asked ?? url);
  await transport.finishAuth(answer.searchParams.get("code") ?? "");
  const client = newClient();
  await client.connect(new StreamableHTTPClientTransport(url, options));
  return client;
}

describe.each([
  // it reads Bearer challenges only: it finds the metadata by itself, and asks for all that they name
  ['tokens: "required"', { tokens: "required" }, "notes:read notes:write"],
  ["both kinds of tokens", {}, "notes:read"],
] as const)(
  "a client of @modelcontextprotocol/sdk that signs proofs, and an MCP server with %s",
  (_, dpop, scope) => {
    it("gets bound tokens, calls a tool, and refreshes", async () => {
      const { url, refusals } = serveMcp(await startServer(), dpop);
      const memory = newClientMemory();
      const key = testKey();
      const client = await connected(url, { memory, fetchOfClient: proving(key) });
      const whose = { content: [{ type: "text", text: "alice" }] };
      expect(await client.callTool({ name: "whose" })).toMatchObject(whose);
      expect(memory.asked?.searchParams.get("scope")).toBe(scope);
      const before = memory.tokens;
      expect(before?.token_type).toBe("DPoP");
      memory.tokens = before && { ...before, access_token: "worthless" };
      expect(await client.callTool({ name: "whose" })).toMatchObject(whose);
      expect(memory.tokens?.refresh_token).not.toBe(before?.refresh_token);
      expect(new Set(refusals)).toEqual(new Set(["no-access-token", "token-unknown"]));
      await client.close();
    });
  },
);

describe("a thief who has read the tokens of such a client (RFC 9449 §7.2)", () => {
  it.each([
    ["without a key", fetch],
    ["with another key", proving(testKey())],
  ])("%s gets nothing from the MCP server, and ends nothing", async (_, fetchOfThief) => {
    const { url } = serveMcp(await startServer(), { tokens: "required" });
    const memory = newClientMemory();
    const client = await connected(url, { memory, fetchOfClient: proving(testKey()) });
    const stolen = newClientMemory();
    stolen.tokens = memory.tokens;
    const transport = new StreamableHTTPClientTransport(url, {
      authProvider: stolen.provider,
      fetch: fetchOfThief,
    });
    await expect(newClient().connect(transport)).rejects.toThrow();
    expect(stolen.tokens).toEqual(memory.tokens);
    memory.tokens = memory.tokens && { ...memory.tokens, access_token: "worthless" };
    expect(await client.callTool({ name: "whose" })).toMatchObject({ content: [{ text: "alice" }] });
    await client.close();
  });
});
