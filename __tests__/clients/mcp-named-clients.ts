/**
 * MCP clients by name: what they publish and send, as far as there is a public source for it (collected in November 2026). Tests replay
 * it. A shape without a source is left out.
 */
import type { Fields } from "../browser/browser";

/** A metadata document or a registration request, by the names of RFC 7591 §2. */
export interface McpClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly [name: string]: unknown;
}

/** JSON of a client, and who has published it. */
export interface Sourced<T> {
  readonly json: T;
  readonly source: string;
}

/** What a client publishes, and what it sends. */
export interface NamedMcpClient {
  /** Its metadata document, if it has one, and where that was read. `client_id` is the URL. */
  readonly document?: Sourced<McpClientMetadata & { readonly client_id: string }>;
  /** What it posts to register itself, if that is known, and where that was read. */
  readonly registration?: Sourced<McpClientMetadata>;
  /** The redirect URI of its authorization request. */
  readonly redirectUri: string;
  /** What else it sends there, besides `response_type`, `client_id`, PKCE with S256, `scope` and `resource`; or instead. */
  readonly asks: Fields;
  /** How it authenticates at the token endpoint where the host has registered it. */
  readonly authentication: "none" | "client_secret_post";
}

const codeAndRefresh = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
const publicClient = { ...codeAndRefresh, token_endpoint_auth_method: "none" };

/**
 * Callback: the support page
 * "Building custom connectors via remote MCP servers" (support.claude.com, 11503834). `resource` and the base64url `state`:
 * anthropics/claude-ai-mcp#124, open-metadata/OpenMetadata#28951.
 */
const claude: NamedMcpClient = {
  document: {
    source: "claude.ai/oauth/mcp-oauth-client-metadata, as read by others in August and September 2026",
    json: {
      client_id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
      client_name: "Claude",
      client_uri: "https://claude.ai",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      ...publicClient,
      grant_types: [...codeAndRefresh.grant_types, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    },
  },
  redirectUri: "https://claude.ai/api/mcp/auth_callback",
  asks: { state: "8bAyz3nS0Zl-TqfXcNq1_w" },
  authentication: "none",
};

/** With an id and a secret that somebody has typed in, it sends both in the form: anthropics/claude-ai-mcp#667. */
const claudeWithSecret: NamedMcpClient = { ...claude, authentication: "client_secret_post" };

/**
 * The document has no application_type (anthropics/claude-code#44378), the registration no scope. The port: #37767. Authorization
 * request: #10439, #64013.
 */
const claudeCode: NamedMcpClient = {
  document: {
    source: "anthropics/claude-code#37767, #41011",
    json: {
      client_id: "https://claude.ai/oauth/claude-code-client-metadata",
      client_name: "Claude Code",
      redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
      ...publicClient,
    },
  },
  registration: {
    source: "appstrate/appstrate#1267; elmohq/elmo#684",
    json: {
      client_name: "Claude Code",
      redirect_uris: ["http://localhost:3118/callback"],
      ...publicClient,
      application_type: "native",
    },
  },
  redirectUri: "http://localhost:58135/callback",
  asks: { state: "9dQ2Z_0eVdX4pY1w" },
  authentication: "none",
};

/** Where it asks for offline_access as well, it adds prompt=consent: anthropics/claude-code#64013. */
const claudeCodeOffline: NamedMcpClient = {
  ...claudeCode,
  asks: { ...claudeCode.asks, scope: "notes:read notes:write offline_access", prompt: "consent" },
};

/**
 * The document of the stable address. Authorization request of an app of its own: Doist/todoist-mcp#478, getsentry/sentry-mcp#1271;
 * developers.openai.com/plugins/build/auth. Its assertions are for the token endpoint (Artexis10/exomem#380) and signed with RS256
 * (Altinity/altinity-mcp#118).
 */
const chatGpt: NamedMcpClient = {
  document: {
    source: "chatgpt.com/oauth/client.json, as read by others; Artexis10/exomem#380",
    json: {
      client_id: "https://chatgpt.com/oauth/client.json",
      client_uri: "https://chatgpt.com/",
      redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
      ...codeAndRefresh,
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
      jwks_uri: "https://chatgpt.com/oauth/jwks.json",
    },
  },
  redirectUri: "https://chatgpt.com/connector_platform_oauth_redirect",
  asks: { state: "oauth_s_6a1b2c3d4e" },
  authentication: "none",
};

/** Authorization request: microsoft/vscode#252892. The base64 `state`: microsoft/vscode#314715. */
const vsCode: NamedMcpClient = {
  document: {
    source: "vscode.dev/oauth/client-metadata.json, as read by others",
    json: {
      client_id: "https://vscode.dev/oauth/client-metadata.json",
      client_name: "Visual Studio Code",
      client_uri: "https://vscode.dev/product",
      logo_uri: "https://code.visualstudio.com/assets/branding/code-stable.png",
      redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
      ...publicClient,
      grant_types: [...codeAndRefresh.grant_types, "urn:ietf:params:oauth:grant-type:device_code"],
      application_type: "native",
    },
  },
  registration: {
    source: "microsoft/vscode, src/vs/base/common/oauth.ts at 05f882b",
    json: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      ...publicClient,
      scope: "notes:read notes:write",
      application_type: "native",
    },
  },
  redirectUri: "http://127.0.0.1:33418/",
  asks: { state: "test+abc/def==" },
  authentication: "none",
};

/** Without application_type in 3.13: better-auth/better-auth#10956. An authorization request without `state`: cursor/cursor#3576. */
const cursor: NamedMcpClient = {
  registration: {
    source: "erp-mafia/accounted#2225; soflyy/agent-connector-for-wp#111; different-ai/openwork#3059",
    json: {
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      token_endpoint_auth_method: "none",
    },
  },
  redirectUri: "http://localhost:8787/callback",
  asks: { state: undefined },
  authentication: "none",
};

/** The redirect URI of older ones: makeplane/plane-mcp-server#159. */
const cursorByScheme: NamedMcpClient = {
  ...cursor,
  redirectUri: "cursor://anysphere.cursor-mcp/oauth/callback",
};

/** Version 1.0.81. Another port in the authorization request: github/copilot-cli#1951. */
const copilotCli: NamedMcpClient = {
  registration: {
    source: "dozigden/boardoil#11",
    json: {
      redirect_uris: ["http://127.0.0.1:56679/"],
      ...publicClient,
    },
  },
  redirectUri: "http://127.0.0.1:56702/",
  asks: { state: "1f0c9f4e" },
  authentication: "none",
};

/** The redirect URI is from the same place. */
const inspector: NamedMcpClient = {
  registration: {
    source: "modelcontextprotocol/inspector, core/auth at 86d5f58",
    json: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://localhost:6274/oauth/callback"],
      ...publicClient,
      scope: "",
      application_type: "native",
    },
  },
  redirectUri: "http://localhost:6274/oauth/callback",
  asks: { state: "0f6e" },
  authentication: "none",
};

const codex: NamedMcpClient = {
  registration: {
    source: "codex-mcp-client 0.169.0, recorded",
    json: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:34211/callback"],
      ...publicClient,
      scope: "notes:read",
      application_type: "native",
    },
  },
  redirectUri: "http://127.0.0.1:34211/callback",
  asks: { state: "u5Yc0n7tWf3a" },
  authentication: "none",
};

const mcpRemote: NamedMcpClient = {
  registration: {
    source: "mcp-remote 0.15.1, recorded",
    json: {
      client_name: "MCP CLI Proxy",
      client_uri: "https://github.com/modelcontextprotocol/mcp-cli",
      software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
      software_version: "0.15.1",
      redirect_uris: ["http://localhost:18719/oauth/callback"],
      ...publicClient,
      scope: "notes:read",
      application_type: "native",
    },
  },
  redirectUri: "http://localhost:18719/oauth/callback",
  asks: { state: "14201d48-5e56-4975-9054-2bf5c447a1dd", scope: "notes:read notes:write" },
  authentication: "none",
};

/** Name → what this client does. */
export const namedMcpClients: Readonly<Record<string, NamedMcpClient>> = {
  Claude: claude,
  "Claude with a secret": claudeWithSecret,
  "Claude Code": claudeCode,
  "Claude Code, asking for offline_access": claudeCodeOffline,
  ChatGPT: chatGpt,
  "VS Code": vsCode,
  Cursor: cursor,
  "Cursor by its own scheme": cursorByScheme,
  "GitHub Copilot CLI": copilotCli,
  "MCP Inspector": inspector,
  Codex: codex,
  "mcp-remote": mcpRemote,
};
