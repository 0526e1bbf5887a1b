/** examples/mcp-server, where every URL is that of a metadata document: the one of the client in mcp-client.ts. Nothing is fetched. */
"use strict";

const fetching = require("../../dist/fetching/fetch-document");

fetching.documentFetcher = () => async (url) => {
  const document = {
    client_id: url,
    client_name: "MCP test client",
    redirect_uris: ["http://127.0.0.1:6276/oauth/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  };
  return { kind: "fetched", text: JSON.stringify(document), maxAgeSeconds: undefined };
};

void import("../../examples/mcp-server/server.mjs");
