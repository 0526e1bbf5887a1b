/** The userinfo endpoint, and where relying parties find it. Loaded only where an API has `openid`. OpenID Connect Core §5.3; Discovery §4. */
import type { ClientLookup } from "../clients/client-lookup";
import type { EmitEvent } from "../events/port";
import { answerPreflight, exposedBy, readableBy, varyByOrigin } from "../http/cors";
import type { HttpRequest } from "../http/request";
import { metadataRoute, type Route, type RoutedRequest, type RouteHandler } from "../http/routes";
import type { AccessToken } from "../protocol/access-token";
import { isLive } from "../protocol/authorization";
import { schemeOf } from "../protocol/bearer-token";
import { endpoints, type Issuer, openidMetadataPath } from "../protocol/issuer";
import { because } from "../protocol/oauth-error";
import { signInScope } from "../protocol/openid";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { intersect } from "../protocol/scope";
import type { Clock } from "../protocol/time";
import { findClaims, identityReasons, type IdentityPorts } from "../tokens/identity";
import { invalid } from "../tokens/verify-access-token";
import { type BearerGuard, challenge, checkBearer, invalidToken, refusedEvent } from "./require-bearer";

/** What the endpoint uses. */
export interface UserinfoPorts extends Pick<IdentityPorts, "storage" | "adapters"> {
  readonly clients: Pick<ClientLookup, "findRegistered" | "findHolder" | "isBrowserOrigin">;
  /** API id → how its tokens are checked. */
  readonly guards: ReadonlyMap<string, Pick<BearerGuard, "verify" | "dpop">>;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

type Claims = Readonly<Record<string, unknown>>;

/** The claims that a valid token opens, or `undefined` when it stands for nobody any more, also when that happens while the host answers. */
async function claimsOf(
  { storage, clients, clock, adapters }: UserinfoPorts,
  { issuer, token }: { issuer: Issuer; token: AccessToken },
): Promise<Claims | undefined> {
  const { authorizationId = "", clientId } = token;
  const [registered, authorization] = await Promise.all([
    clients.findRegistered(clientId, { issuer, mayFetch: () => true }),
    storage.authorizations.find(authorizationId, clock()),
  ]);
  if (!registered || !isLive(authorization, clock())) return undefined;
  // the end user may have taken back a part a moment ago
  const scopes = intersect(token.scopes, authorization.grantedScopes);
  if (!scopes.includes(signInScope)) return undefined;
  const { client } = registered;
  const asked = { issuer, client, authorization, scopes, use: "userinfo", token, now: clock } as const;
  const found = await findClaims({ storage, clients, adapters }, asked);
  return found.kind === "claims" ? { sub: authorization.subject, ...found.claims } : undefined;
}

/** Tells what the token opens. @rfc OpenID Connect Core §5.3 */
export async function userinfoEndpoint(
  ports: UserinfoPorts,
  { req, issuer }: RoutedRequest<HttpRequest>,
): Promise<JsonResponse> {
  const { api } = issuer;
  const guard = ports.guards.get(api.apiId) as Pick<BearerGuard, "verify" | "dpop">;
  const scopes = [signInScope];
  const url = `${issuer.identifier}/${endpoints.userinfo.path}`;
  let token = await checkBearer({ subject: "required", ...guard }, { req, url, scopes });
  // `sub` is that of the issuer, so each one answers for its own tokens only
  if (!("status" in token) && token.issuer !== issuer.identifier)
    token = invalidToken(invalid("token-of-another-api", issuer.identifier));
  const claims = "status" in token ? undefined : await claimsOf(ports, { issuer, token });
  if (claims) return { kind: "json", status: 200, body: claims };
  const refusal = "status" in token ? token : invalidToken(because(identityReasons, "end-user-gone"));
  ports.emit(refusedEvent(api, refusal));
  const scheme = schemeOf(req.headers.authorization);
  return challenge({ ...guard, api, scopes }, { scheme, refusal });
}

/** The routes that only APIs with `openid` have. Browser clients' scripts may read userinfo, as they may read tokens. */
export function openidRoutes(ports: UserinfoPorts): readonly Route<HttpRequest>[] {
  const readerOf = async ({ headers: { origin } }: HttpRequest): Promise<string | undefined> =>
    origin !== undefined && (await ports.clients.isBrowserOrigin(origin)) ? origin : undefined;
  const userinfo: RouteHandler<HttpRequest> = async (_, request) =>
    exposedBy(
      request.issuer.api,
      readableBy(await readerOf(request.req), await userinfoEndpoint(ports, request)),
    );
  const preflight: RouteHandler<HttpRequest> = async (_, { req }) =>
    answerPreflight(req, { origin: await readerOf(req), methods: "GET, POST" });
  const methods = { GET: userinfo, POST: userinfo, OPTIONS: preflight };
  const { on } = endpoints.userinfo;
  return [
    metadataRoute({ path: openidMetadataPath, ...(on && { on }) }),
    { ...endpoints.userinfo, endpoint: "userinfo", methods, failure: jsonError, headers: varyByOrigin },
  ];
}
