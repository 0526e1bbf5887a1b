/** An MCP client whose tokens are bound to a key: connects, calls a tool, refreshes, and prints what has happened as JSON. */
import { Client, DpopSession, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url = "", alg] = process.argv.slice(2);
const redirectUrl = "http://127.0.0.1:6276/callback";
const session = await DpopSession.create({ alg });
const asked = [];
const memory = { tokens: undefined, verifier: "" };

const authProvider = {
  redirectUrl,
  dpop: () => session,
  clientMetadata: { redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
  clientInformation: () => ({ client_id: "inspector" }),
  saveClientInformation: () => undefined,
  tokens: () => memory.tokens,
  saveTokens: (saved) => void (memory.tokens = saved),
  redirectToAuthorization: (to) => void asked.push(to),
  saveCodeVerifier: (saved) => void (memory.verifier = saved),
  codeVerifier: () => memory.verifier,
};

async function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: "test", version: "1.0.0" });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (memory.tokens) throw error;
    // the person is signed in, and the client is trusted: the browser comes back at once
    const { headers } = await fetch(asked.at(-1), { redirect: "manual" });
    await transport.finishAuth(new URL(headers.get("location")).searchParams);
    return connect();
  }
}

const whose = async () => (await client.callTool({ name: "whose", arguments: {} })).content[0].text;
const client = await connect();
const answers = [await whose()];
const type = memory.tokens.token_type;
const { refresh_token: before } = memory.tokens;
memory.tokens = { ...memory.tokens, access_token: "worthless" };
answers.push(await whose());
const refreshed = memory.tokens.refresh_token !== before;
await client.callTool({ name: "add", arguments: {} }).catch(() => undefined);
const scopes = asked.map((to) => to.searchParams.get("scope"));
await client.close();
process.stdout.write(JSON.stringify({ answers, type, refreshed, scopes }));
