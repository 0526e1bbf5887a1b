// @ts-check
/** Which MCP clients may ask people for access. docs/mcp.md shows the lines about those that nobody registers. */

/** A client that is registered: for people who enter its id by hand. @type {import("authmount").Client[]} */
export const clients = [
  {
    clientId: "inspector",
    name: "MCP Inspector",
    confidential: false,
    platform: "native",
    redirectUris: ["http://localhost/oauth/callback", "http://127.0.0.1/oauth/callback"],
    subscriptions: { mcp: {} },
  },
];

/** Sites whose clients may register themselves, besides apps on people's own devices. */
const sites = new Set([
  "https://claude.ai",
  "https://claude.com",
  "https://chatgpt.com",
  // where OpenAI tries an app that somebody has sent in
  "https://platform.openai.com",
  "https://vscode.dev",
  "https://insiders.vscode.dev",
  "https://www.cursor.com",
]);

/** @param {string} uri */
function leadsToKnownPlace(uri) {
  const { protocol, origin } = new URL(uri);
  return protocol !== "https:" || sites.has(origin);
}

/** Clients that nobody registers. @satisfies {Partial<import("authmount").ApiOptions>} */
export const unregistered = {
  clientMetadataDocuments: {
    // every site may have clients: people see its name, which the document proves, and are asked
    accept: (clientId) => ({
      kind: "accepted",
      // ChatGPT signs for the token endpoint instead of the issuer
      allowTokenEndpointAudience: new URL(clientId).host === "chatgpt.com",
    }),
  },
  clientRegistration: {
    // here nothing proves the name, so the answer must lead to an app on the person's device or to a site that you know
    approve: (_req, { redirect_uris: uris }) =>
      uris.every(leadsToKnownPlace)
        ? { kind: "approved" }
        : { kind: "refused", description: "This site may not register: publish a client metadata document." },
  },
};
