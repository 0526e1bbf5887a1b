/** The verified token of a request, in the form that MCP servers hand to their tools. MCP 2025-11-25, authorization. */
import type { IncomingMessage } from "node:http";
import { readBearerToken, schemeOf } from "../protocol/bearer-token";
import { hostMistake } from "../protocol/mistake";
import { ownRecord } from "../protocol/host-json";
import { type AccessTokens, passedToken } from "./access-tokens";

/** What `auth.mcpAuth` gives. It can be used wherever the MCP SDK asks for its `AuthInfo`. */
export interface McpAuth {
  /** The access token as it was sent. It is a secret: do not log it, and do not send it to another service. */
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** The audience of the API. */
  readonly resource: URL;
  /** What else the token says, by the names of `AccessToken`: `subject`, `claims`, `issuer` and so on. */
  readonly extra: Record<string, unknown>;
}

/** The type of `AuthServer.mcpAuth`. */
export type ReadMcpAuth = (req: IncomingMessage) => McpAuth;

/** The token in the header, which `requireBearer` has verified. Not kept with the request: one place for a secret is enough. */
function sentToken({ headers: { authorization } }: IncomingMessage): string {
  const presented = readBearerToken(authorization, schemeOf(authorization));
  if (presented.kind === "token") return presented.token;
  throw hostMistake(
    "authorization-header-gone",
    "mcpAuth: the request no longer has its Authorization header. Call mcpAuth before anything removes the header.",
  );
}

/** `auth.mcpAuth`. */
export function mcpAuthReader(accessTokens: AccessTokens): ReadMcpAuth {
  return (req) => {
    const { accessToken, audience } = passedToken(accessTokens, { req, by: "mcpAuth" });
    const { clientId, scopes, expiresAt, ...extra } = ownRecord(accessToken);
    const resource = new URL(audience);
    return { token: sentToken(req), clientId, scopes: [...scopes], expiresAt, resource, extra };
  };
}
