/** The public names of `authmount/resource-server`. */
export { createResourceServer, type ResourceServer } from "./create-resource-server";
export type {
  IntrospectionOptions,
  ResourceApiOptions,
  ResourceServerOptions,
} from "./resource-server/options";
export type { DpopOptions } from "./options/options";
export type { AuthServerEvent, EventSubject, OnEvent } from "./events/port";
export type { ReadAccessToken } from "./bearer/access-tokens";
export type { McpAuth, ReadMcpAuth } from "./bearer/mcp-auth";
export type {
  ChallengeOptions,
  McpScopes,
  McpScopesOptions,
  RequireBearer,
  RequireBearerOptions,
  RouteProtection,
} from "./bearer/protect-routes";
export type { BearerHandler, BearerMiddleware } from "./bearer/require-bearer";
export type { AccessToken, EndUserAccessToken } from "./protocol/access-token";
export type { HostClaims } from "./protocol/host-claims";
export type { EpochSeconds } from "./protocol/time";
export type { PrivateJwk, PrivateKeySource } from "./signing/signing-key";
