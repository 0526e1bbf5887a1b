/** From options to a running authorization server: issuers, ports and endpoints are joined here and nowhere else. */
import { createHmac, randomBytes } from "node:crypto";
import type { AuthServer } from "./auth-server";
import { checkOptions, implicationsOf, isProduction } from "./check-options";
import { clientSecretChecker } from "./endpoints/client-secret-check";
import type { ClientRequestContext } from "./endpoints/client-request";
import { type EmitEvent, eventEmitter } from "./events/port";
import { longestLifeSeconds } from "./grants/authorization-code";
import { withdrawConsent } from "./grants/withdraw-consent";
import { readInteractionId } from "./http/read-request";
import { checkingMount } from "./http/mount-check";
import { listenInFront } from "./http/in-front";
import { createRouter } from "./http/router";
import { createWellKnownRouter, rootDocuments } from "./http/well-known-router";
import { writeResponse } from "./http/write-response";
import { authorizationFlow, type AuthorizationFlow } from "./interaction/authorization-flow";
import { type Pages, pagesOf } from "./interaction/pages";
import { pendingRequests } from "./interaction/pending-request";
import {
  type ApiOptions,
  type AuthServerOptions,
  defaultAccessTokenSeconds,
  defaultLifetimes,
  defaultRevocationLagSeconds,
  isScopeOptions,
} from "./options";
import { protectRoutes } from "./protect-routes";
import { randomSource } from "./random-source";
import { readSigningKeys } from "./read-signing-keys";
import type { EpochSeconds } from "./protocol/epoch-seconds";
import { type Api, type Issuer, protectedResourceMetadataUrl } from "./protocol/issuer";
import type { Lifetimes } from "./protocol/lifetimes";
import { jwtSigner } from "./signing/jwt-signer";
import { type KeyRing, keyRing } from "./signing/key-ring";
import { generateSigningKey, publicJwk } from "./signing/signing-key";
import { checkedClients, checkListedClients } from "./storage/checked-clients";
import { timeLimited } from "./storage/time-limit";

const now = (): EpochSeconds => Math.floor(Date.now() / 1000);

function toApi(apiId: string, { options, lifetimes }: { options: ApiOptions; lifetimes: Lifetimes }): Api {
  const { audience } = options;
  const sentences = Object.entries(options.scopes).map(
    ([name, scope]) => [name, isScopeOptions(scope) ? scope.text : scope] as const,
  );
  return {
    apiId,
    name: options.name ?? apiId,
    audience,
    scopes: Object.fromEntries(sentences),
    impliedScopes: implicationsOf(options),
    defaultScopes: options.defaultScopes ?? [],
    accessTokenSeconds: options.accessTokenSeconds ?? defaultAccessTokenSeconds,
    accessTokenFormat: options.accessTokenFormat ?? "jwt",
    redirectUri: options.redirectUri ?? "required",
    scope: options.scope ?? "optional",
    unknownScopes: options.unknownScopes ?? "refuse",
    lifetimes: { ...lifetimes, ...options.lifetimes },
    metadataUrl: protectedResourceMetadataUrl(audience),
  };
}

/** One issuer for each valid pair. */
function toIssuers(options: AuthServerOptions): readonly Issuer[] {
  const lifetimes = { ...defaultLifetimes, ...options.lifetimes };
  return Object.entries(options.apis).flatMap(([apiId, apiOptions]) => {
    const api = toApi(apiId, { options: apiOptions, lifetimes });
    return apiOptions.authMethods.map((authMethodId) => ({
      identifier: `${options.baseUrl}/auth/${authMethodId}/api/${apiId}`,
      authMethodId,
      api,
    }));
  });
}

function warn(code: string, message: string): void {
  process.emitWarning(message, { type: "AuthmountWarning", code });
}

function warnOfThrowAway({ secrets, signingKeys }: AuthServerOptions): void {
  const made = [secrets ? [] : ["secrets"], signingKeys ? [] : ["signingKeys"]].flat().join(" and ");
  if (made === "") return;
  warn(
    "AUTHMOUNT_THROW_AWAY",
    `createAuthServer made throw-away ${made}: what was issued is worth nothing after a restart or in another process.`,
  );
}

function toKeyRing({ signingKeys, apis }: AuthServerOptions): KeyRing {
  const keys = readSigningKeys(signingKeys ?? [generateSigningKey()], { by: "createAuthServer", now: now() });
  const lifetimes = Object.values(apis).map(
    ({ accessTokenSeconds }) => accessTokenSeconds ?? defaultAccessTokenSeconds,
  );
  return keyRing({ keys, tokenSeconds: Math.max(...lifetimes) });
}

/** Of this server alone: what another one with the same secrets has sealed is worth nothing here. */
function toSecrets({ secrets, baseUrl }: AuthServerOptions): [string, ...string[]] {
  const given = secrets ?? [randomBytes(32).toString("base64url")];
  return given.map((secret) =>
    createHmac("sha256", secret).update(`authmount ${baseUrl}`).digest("base64url"),
  ) as [string, ...string[]];
}

function toContext(
  options: AuthServerOptions,
  { emit, ring, revocationLagSeconds }: { emit: EmitEvent; ring: KeyRing; revocationLagSeconds: number },
): ClientRequestContext {
  const storage = timeLimited(options.storage);
  const random = randomSource();
  const { redirectSchemes = [] } = options;
  const checking = { lagSeconds: revocationLagSeconds, now, redirectSchemes };
  return {
    storage: { ...storage, clients: checkedClients(storage.clients, checking) },
    redirectSchemes,
    signer: jwtSigner(ring, now),
    emit,
    now,
    randomToken: () => random(32),
    randomId: () => random(16),
    checkSecret: clientSecretChecker(),
  };
}

type FindIssuer = (authMethodId: string, apiId: string) => Issuer | undefined;

function toFlow(
  options: AuthServerOptions,
  { context, findIssuer, pages }: { context: ClientRequestContext; findIssuer: FindIssuer; pages: Pages },
): AuthorizationFlow {
  const secrets = toSecrets(options);
  const { origin, protocol } = new URL(options.baseUrl);
  return authorizationFlow({
    context,
    pendingRequests: pendingRequests({ secure: protocol === "https:", secrets, now }),
    origin,
    secrets,
    pages,
    authMethods: options.authMethods,
    consent: options.consent,
    findIssuer,
  });
}

function toConsents(context: ClientRequestContext, issuers: readonly Issuer[]): AuthServer["consents"] {
  return {
    list: async (subject) => (await context.storage.consents.list(subject, now())) ?? [],
    revoke: (key) => withdrawConsent(context, { key, longestLifeSeconds: longestLifeSeconds(issuers) }),
  };
}

/** What the pages of the host call. */
function toHostPages(
  flow: AuthorizationFlow,
  pages: Pages,
): Pick<AuthServer, "interaction" | "resume" | "approve" | "deny"> {
  return {
    interaction: (req) => flow.describe(req, readInteractionId(req)),
    resume: (req, res) => writeResponse({ req, res, pages }, flow.leadBack(req, readInteractionId(req))),
    async approve(req, res, ...decisions) {
      const interactionId = readInteractionId(req);
      const chosen: unknown = decisions.length === 0 ? {} : decisions[0];
      writeResponse({ req, res, pages }, await flow.approve(req, { interactionId, chosen }));
    },
    async deny(req, res) {
      writeResponse({ req, res, pages }, await flow.deny(req, readInteractionId(req)));
    },
  };
}

/** Without a slash at its end. */
function pathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, "");
}

function warnOfMount(message: string): void {
  warn("AUTHMOUNT_MOUNT", message);
}

type Routers = Pick<AuthServer, "router" | "wellKnown">;

/** In development the first request tells what is wrong with the mounting. */
function toRouters({ baseUrl }: AuthServerOptions, { router, wellKnown }: Routers): Routers {
  if (isProduction()) return { router, wellKnown };
  let taken = false;
  const isWellKnownTaken = (): boolean => taken;
  return {
    router: checkingMount(router, { baseUrl, isWellKnownTaken, warn: warnOfMount }),
    get wellKnown() {
      taken = true;
      return wellKnown;
    },
  };
}

/**
 * An authorization server for every valid (authentication method, API) pair of the options.
 *
 * @throws TypeError that names the first wrong option by its path, and what to write instead.
 */
export function createAuthServer(options: AuthServerOptions): AuthServer {
  checkOptions(options);
  checkListedClients(options.storage.clients, options.redirectSchemes ?? []);
  warnOfThrowAway(options);
  const emit = eventEmitter(options.onEvent, now);
  const issuers = toIssuers(options);
  const issuerByPair = new Map(
    issuers.map((issuer) => [`${issuer.authMethodId}/${issuer.api.apiId}`, issuer]),
  );
  const findIssuer: FindIssuer = (authMethodId, apiId) => issuerByPair.get(`${authMethodId}/${apiId}`);
  const ring = toKeyRing(options);
  const { revocationLagSeconds = defaultRevocationLagSeconds } = options;
  const context = toContext(options, { emit, ring, revocationLagSeconds });
  const pages = pagesOf(options.pages, {
    showReason: !isProduction(),
    onFailure: (cause) => emit({ kind: "server-error", cause }),
  });
  const flow = toFlow(options, { context, findIssuer, pages });
  const jwksUri = `${options.baseUrl}/jwks`;
  const jwks = (): object => ({ keys: ring.published(now()).map(publicJwk) });
  const serveOptions = { context, flow, pages, issuers, jwksUri, jwks };
  const documents = rootDocuments(issuers, jwksUri);
  emit({ kind: "started", rootDocuments: [...documents.keys()] });
  const routers = toRouters(options, {
    router: createRouter(serveOptions),
    wellKnown: createWellKnownRouter(documents),
  });
  return {
    router: routers.router,
    get wellKnown() {
      return routers.wellKnown;
    },
    inFrontOf: (app) => listenInFront(serveOptions, { app, mountPath: pathOf(options.baseUrl) }),
    rotateKeys: (signingKeys) => ring.replace(readSigningKeys(signingKeys, { by: "rotateKeys", now: now() })),
    ...protectRoutes(context, { issuers, revocationLagSeconds }),
    ...toHostPages(flow, pages),
    consents: toConsents(context, issuers),
  };
}
