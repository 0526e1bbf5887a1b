// @ts-check
/** The authorization server for the notes, and the scopes that their tools need. docs/mcp.md shows this file. */
import { createAuthServer, memoryStorage } from "authmount";
import { clients, unregistered } from "./clients.mjs";
import { account } from "./sign-in.mjs";

const origin = `http://localhost:${process.env["PORT"] ?? "3000"}`;

export const auth = createAuthServer({
  baseUrl: `${origin}/oauth`,
  // a restart forgets who has registered: take a storage that keeps it
  storage: memoryStorage({ clients }),
  authMethods: { account },
  redirectSchemes: ["cursor"],
  // two windows of one client share its refresh token, and may send it at the same time
  lifetimes: { refreshRetrySeconds: 30 },
  apis: {
    mcp: {
      ...unregistered,
      name: "Notes",
      audience: `${origin}/mcp`,
      authMethods: ["account"],
      scopes: {
        "notes:read": "Read your notes",
        "notes:write": "Add notes",
        "notes:delete": "Delete all your notes",
      },
      // what every request needs, so the first challenge asks for it
      defaultScopes: ["notes:read"],
      // some clients ask for scopes of their own as well
      unknownScopes: "ignore",
    },
  },
});

/** Lets requests pass that have a token of a person with the scopes of the tools that they call. */
export const protect = auth.requireBearer({
  api: "mcp",
  scope: auth.mcpScopes({
    api: "mcp",
    tools: { list_notes: ["notes:read"], add_note: ["notes:write"], delete_notes: ["notes:delete"] },
  }),
  subject: "required",
});
