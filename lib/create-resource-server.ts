/** From options to the middleware of an API that runs apart from the authorization server. RFC 6750 §3; 9728 §3; 9068 §4; 7662 §2. */
import { Router } from "express";
import type { EmitEvent } from "./events/port";
import { answerDocument } from "./http/cors";
import { protectRoutes, type RouteProtection } from "./bearer/protect-routes";
import { type HttpRequest, readPath } from "./http/request";
import { writeResponse } from "./http/response";
import { dpopOnDemand } from "./on-demand";
import { isProduction } from "./options/resolve";
import { serverError } from "./protocol/oauth-error";
import { protectedResourceMetadata } from "./protocol/protected-resource-metadata";
import { jsonError, type ProtocolResponse, publicDocument } from "./protocol/protocol-response";
import { clientProof } from "./resource-server/client-proof";
import { introspectionTurns, introspector } from "./resource-server/introspect";
import {
  checkResourceServerOptions,
  type ResourceApi,
  resolveResourceApis,
  type ResourceServerOptions,
} from "./resource-server/options";
import { type ApiIssuers, issuersOf, publications } from "./resource-server/remote-issuers";
import { type Introspection, remoteVerifier } from "./resource-server/remote-verifier";
import { hostEmitter, randomValues, systemClock as clock } from "./system";

/** The middleware of APIs whose tokens another server issues. Its functions do not use `this`. */
export interface ResourceServer extends RouteProtection {
  /**
   * The metadata of the APIs, at the place where RFC 9728 §3.1 wants it. Mount it at the root of the API's origin: clients that know
   * only the URL of the API find the authorization server by it.
   */
  readonly wellKnown: Router;
}

const defaultRevocationLagSeconds = 5;

/** An API, and its issuers. */
interface RemoteApi {
  readonly api: ResourceApi;
  readonly issuers: ApiIssuers;
}

/** The metadata of an API, or a failure while nobody knows its issuers. */
async function metadataAnswer(
  { api, issuers }: RemoteApi,
  { req, emit }: { req: HttpRequest; emit: EmitEvent },
): Promise<ProtocolResponse> {
  try {
    const listed = await issuers.find();
    return answerDocument(req, publicDocument(protectedResourceMetadata({ ...api, issuers: listed })));
  } catch (cause) {
    emit({ kind: "server-error", cause });
    return jsonError(serverError(cause));
  }
}

function wellKnownRouter(apis: readonly RemoteApi[], emit: EmitEvent): Router {
  const byPath = new Map(apis.map((each) => [new URL(each.api.metadataUrl).pathname, each]));
  return Router().use((req, res, next) => {
    const found = byPath.get(readPath(req));
    if (!found) return next();
    metadataAnswer(found, { req, emit })
      .then((answer) => writeResponse({ req, res }, answer))
      .catch(next);
  });
}

/** Each kind of token has its own turns: anyone can make up opaque ones. */
function introspectionOf({ introspection: client }: ResourceServerOptions): Introspection | undefined {
  if (!client) return undefined;
  const proof = clientProof(client, { clock, randomId: randomValues().randomId });
  return {
    opaque: introspector(proof, introspectionTurns()),
    signed: introspector(proof, introspectionTurns()),
  };
}

/**
 * Protects the routes of APIs whose tokens another server issues: one that `createAuthServer` has made, in another process or on
 * another machine. Nothing is fetched before the first request with a token.
 *
 * @throws TypeError that names the first wrong option by its path and says what to write instead.
 */
export function createResourceServer(given: ResourceServerOptions): ResourceServer {
  const options = checkResourceServerOptions(given);
  const { onEvent, revocationLagSeconds = defaultRevocationLagSeconds } = options;
  const apis = resolveResourceApis(options).map((api) => ({ api, issuers: issuersOf(api, clock) }));
  const emit = hostEmitter({ onEvent, isProduction: isProduction() });
  const published = publications(clock);
  const introspection = introspectionOf(options);
  emit({ kind: "started", rootDocuments: apis.map(({ api }) => api.metadataUrl) });
  const dpopOf = dpopOnDemand(clock);
  const verified = apis.map(({ api, issuers }) => ({
    api,
    verify: remoteVerifier({ published, issuers, introspection, clock, revocationLagSeconds }, api),
    dpop: dpopOf(api),
  }));
  return {
    ...protectRoutes({ apis: verified, emit, clock }),
    wellKnown: wellKnownRouter(apis, emit),
  };
}
