/** The MCP SDK's own client in both editions, and a person who signs in and allows what it asks for. */
import {
  Client as ClientOf2,
  StreamableHTTPClientTransport as TransportOf2,
} from "@modelcontextprotocol/client";
import { Client as ClientOf1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOf1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { type Example, newWebBrowser, type Page, type WebBrowser } from "../../__tests__/servers/example";

/** How an MCP client gets its client id. A client that is registered knows it; the others are told by the server's metadata. */
export type McpRegistration =
  | { readonly kind: "known"; readonly clientId: string }
  | { readonly kind: "document"; readonly clientMetadataUrl: string }
  | { readonly kind: "registration" };

/** What an MCP client has stored, and what it has asked for. */
export interface McpMemory {
  readonly provider: OAuthClientProvider;
  /** Where the client sends the person now. */
  readonly authorizationUrl: () => URL;
  /** The authorization requests so far, as their parameters. */
  readonly asked: URLSearchParams[];
  tokens: OAuthTokens | undefined;
}

/** A client with nothing but the address of its MCP server, its redirect URI and a way to its client id. */
function newMcpMemory(redirectUrl: string, registration: McpRegistration): McpMemory {
  let verifier = "";
  let discovered: OAuthDiscoveryState | undefined;
  let url: URL | undefined;
  let information = registration.kind === "known" ? { client_id: registration.clientId } : undefined;
  const memory: McpMemory = {
    authorizationUrl() {
      if (!url) throw new Error("the client has not asked for authorization");
      return url;
    },
    asked: [],
    tokens: undefined,
    provider: {
      redirectUrl,
      ...(registration.kind === "document" && { clientMetadataUrl: registration.clientMetadataUrl }),
      clientMetadata: {
        redirect_uris: [redirectUrl],
        client_name: "MCP test client",
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
      },
      state: () => `state ${memory.asked.length}`,
      // a client that is registered belongs to the server that was found
      clientInformation: () =>
        information && { ...information, ...(discovered && { issuer: discovered.authorizationServerUrl }) },
      saveClientInformation: (saved) => void (information = saved),
      tokens: () => memory.tokens,
      saveTokens: (saved) => void (memory.tokens = saved),
      redirectToAuthorization: (asked) => {
        url = asked;
        memory.asked.push(asked.searchParams);
      },
      saveDiscoveryState: (saved) => void (discovered = saved),
      discoveryState: () => discovered,
      saveCodeVerifier: (saved) => void (verifier = saved),
      codeVerifier: () => verifier,
    },
  };
  return memory;
}

/** What a tool answers. */
export interface ToolAnswer {
  readonly content?: unknown;
}

/** An MCP client, whichever edition of the SDK it is made with. */
export interface McpClient {
  connect(): Promise<void>;
  /** Ends an authorization with what the browser brought back. */
  finish(answer: URLSearchParams): Promise<void>;
  call(name: string, input?: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

/** Edition of the SDK → a client of that edition. */
export const mcpSdks: Readonly<Record<string, (url: string, provider: OAuthClientProvider) => McpClient>> = {
  "@modelcontextprotocol/sdk": (url, authProvider) => {
    const options = { authProvider };
    let transport = new TransportOf1(new URL(url), options);
    let client = new ClientOf1({ name: "test", version: "1.0.0" });
    return {
      async connect() {
        transport = new TransportOf1(new URL(url), options);
        client = new ClientOf1({ name: "test", version: "1.0.0" });
        await client.connect(transport);
      },
      finish: (answer) => transport.finishAuth(answer.get("code") ?? ""),
      call: (name, input = {}) => client.callTool({ name, arguments: input }),
      close: () => client.close(),
    };
  },
  "@modelcontextprotocol/client": (url, authProvider) => {
    const options = { authProvider };
    let transport = new TransportOf2(new URL(url), options);
    let client = new ClientOf2({ name: "test", version: "1.0.0" });
    return {
      async connect() {
        transport = new TransportOf2(new URL(url), options);
        client = new ClientOf2({ name: "test", version: "1.0.0" });
        await client.connect(transport);
      },
      finish: (answer) => transport.finishAuth(answer),
      call: (name, input = {}) => client.callTool({ name, arguments: input }),
      close: () => client.close(),
    };
  },
};

/** A person at the browser: signs in where a password is asked for, allows what is asked, and gives what the client was told. */
export async function allow(
  browser: WebBrowser,
  { url, name, password, redirectUrl }: { url: URL; name: string; password: string; redirectUrl: string },
): Promise<URLSearchParams> {
  let page: Page = await browser.open(url, redirectUrl);
  if (page.text.includes('type="password"'))
    page = await browser.submit(page, { name, password }, redirectUrl);
  if (page.text.includes('name="decision"'))
    page = await browser.submit(page, { decision: "approve" }, redirectUrl);
  return page.url.searchParams;
}

/** A client and its person at an MCP server. */
export interface Visit {
  readonly memory: McpMemory;
  readonly client: McpClient;
  /** The person allows what the client asks for now. */
  allow(): Promise<void>;
}

/** Who comes, and with what. */
interface Visitor {
  readonly name: string;
  readonly sdk: string;
  readonly registration?: McpRegistration;
}

const redirectUrl = "http://127.0.0.1:6276/oauth/callback";

/** The password that an example has printed for a person. */
export function passwordIn({ printed }: Pick<Example, "printed">, name: string): string {
  return new RegExp(`^  ${name} (.+)$`, "m").exec(printed.out)?.[1] ?? "";
}

/** Visits of an example that prints the passwords of its people. */
export function mcpVisits(example: Pick<Example, "origin" | "printed">): {
  readonly mcpUrl: () => string;
  /** A client that is connected for reading. */
  readonly connected: (visitor: Visitor) => Promise<Visit>;
} {
  const mcpUrl = (): string => `${example.origin}/mcp`;
  function visitBy({ name, sdk, registration = { kind: "registration" } }: Visitor): Visit {
    const browser = newWebBrowser();
    const memory = newMcpMemory(redirectUrl, registration);
    const client = mcpSdks[sdk]?.(mcpUrl(), memory.provider);
    if (!client) throw new Error(`no SDK is called ${sdk}`);
    const password = passwordIn(example, name);
    return {
      memory,
      client,
      async allow() {
        const url = memory.authorizationUrl();
        await client.finish(await allow(browser, { url, name, password, redirectUrl }));
      },
    };
  }
  return {
    mcpUrl,
    async connected(visitor) {
      const visit = visitBy(visitor);
      await expect(visit.client.connect()).rejects.toThrow();
      await visit.allow();
      await visit.client.connect();
      return visit;
    },
  };
}
