/** From options to a running authorization server: issuers, ports and endpoints are joined here and nowhere else. */
import type { AuthServer } from "./auth-server";
import { checkListedClients, type ClientLookup, clientLookup } from "./clients/client-lookup";
import { clientSecretVerifier } from "./clients/client-secret";
import type { AuthorizationPorts } from "./endpoints/authorization";
import type { ClientEndpointPorts } from "./endpoints/client-endpoint";
import { keySetEndpoint } from "./endpoints/keys";
import { type RootDocuments, rootDocuments } from "./endpoints/metadata";
import { type WithdrawalPorts, withdrawConsent } from "./end-user/withdraw-consent";
import { type EmitEvent, eventEmitter } from "./events/port";
import { eventReporter } from "./events/report";
import { mountCheck, mountPathOf } from "./http/mount-check";
import { protectRoutes } from "./http/protect-routes";
import { readInteractionId } from "./http/request";
import { writeResponse } from "./http/response";
import { createRouter, createWellKnownRouter, listenInFront, type RouterParts } from "./http/router";
import { authorizationFlow, type AuthorizationFlow } from "./interaction/authorization-flow";
import { pendingRequests } from "./interaction/pending-request";
import { checkOptions } from "./options/check";
import type { AuthServerOptions } from "./options/options";
import { isProduction, type ResolvedOptions, resolveOptions } from "./options/resolve";
import { readSigningKeys } from "./options/signing-keys";
import { type Pages, pagesOf } from "./pages/pages";
import type { Issuer } from "./protocol/issuer";
import { jwtSigner } from "./signing/jwt-signer";
import { type KeyRing, keyRing } from "./signing/key-ring";
import { timeLimited } from "./storage/calls";
import { randomValues, systemClock as clock } from "./system";
import { longestLifeSeconds } from "./tokens/issue-code";

/** Everything that reaches the rules from outside: storage, keys, time, chance and the host's ears. */
type Ports = AuthorizationPorts & ClientEndpointPorts & WithdrawalPorts & { readonly clients: ClientLookup };

function portsOf(options: ResolvedOptions, { emit, ring }: { emit: EmitEvent; ring: KeyRing }): Ports {
  const { redirectSchemes, revocationLagSeconds: lagSeconds } = options;
  const storage = timeLimited(options.storage);
  return {
    storage,
    clients: clientLookup(storage.clients, { lagSeconds, clock, redirectSchemes }),
    redirectSchemes,
    verifySecret: clientSecretVerifier(),
    signer: jwtSigner(ring, clock),
    emit,
    clock,
    ...randomValues(),
  };
}

function warn(code: string, message: string, detail?: string): void {
  process.emitWarning(message, { type: "AuthmountWarning", code, ...(detail !== undefined && { detail }) });
}

function warnOfTemporary({ temporary }: ResolvedOptions): void {
  if (temporary.length === 0) return;
  warn(
    "AUTHMOUNT_THROW_AWAY",
    `createAuthServer made throw-away ${temporary.join(" and ")}: what was issued is worth nothing after a restart or in another process.`,
  );
}

function findIssuerIn(
  issuers: readonly Issuer[],
): (authMethodId: string, apiId: string) => Issuer | undefined {
  const byPair = new Map(issuers.map((issuer) => [`${issuer.authMethodId}/${issuer.api.apiId}`, issuer]));
  return (authMethodId, apiId) => byPair.get(`${authMethodId}/${apiId}`);
}

function flowOf(
  { baseUrl, secrets, authMethods, consent, issuers }: ResolvedOptions,
  { ports, pages }: { ports: Ports; pages: Pages },
): AuthorizationFlow {
  const { origin, protocol } = new URL(baseUrl);
  return authorizationFlow({
    ports,
    pendingRequests: pendingRequests({ secure: protocol === "https:", secrets, clock }),
    origin,
    secrets,
    pages,
    authMethods,
    consent,
    findIssuer: findIssuerIn(issuers),
  });
}

function consentsOf(ports: Ports, issuers: readonly Issuer[]): AuthServer["consents"] {
  return {
    list: async (subject) => (await ports.storage.consents.list(subject, clock())) ?? [],
    revoke: (key) => withdrawConsent(ports, { key, longestLifeSeconds: longestLifeSeconds(issuers) }),
  };
}

/** What the pages of the host call. */
function hostPagesOf(
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

/** In development the first requests tell what is wrong with the mounting. */
function routersOf(
  parts: RouterParts,
  { baseUrl, documents }: { baseUrl: string; documents: RootDocuments },
): Pick<AuthServer, "router" | "wellKnown"> {
  const check = isProduction() ? undefined : mountCheck({ baseUrl, warn });
  const wellKnown = createWellKnownRouter(documents, check);
  return {
    router: createRouter(parts, check),
    get wellKnown() {
      check?.takeWellKnown();
      return wellKnown;
    },
  };
}

/**
 * An authorization server for every valid (authentication method, API) pair of the options.
 *
 * @throws TypeError that names the first wrong option by its path, and what to write instead.
 */
export function createAuthServer(given: AuthServerOptions): AuthServer {
  checkOptions(given);
  const options = resolveOptions(given, clock());
  const { baseUrl, issuers, revocationLagSeconds } = options;
  checkListedClients(options.storage.clients, options.redirectSchemes);
  warnOfTemporary(options);
  const onEvent = options.onEvent ?? eventReporter({ warn, isProduction: isProduction() });
  const emit = eventEmitter(onEvent, clock);
  const tokenSeconds = Math.max(...issuers.map(({ api }) => api.accessTokenSeconds));
  const ring = keyRing({ keys: options.signingKeys, tokenSeconds });
  const ports = portsOf(options, { emit, ring });
  const pages = pagesOf(options.pages, {
    showReason: !isProduction(),
    onFailure: (cause) => emit({ kind: "server-error", cause }),
  });
  const flow = flowOf(options, { ports, pages });
  const jwksUri = `${baseUrl}/jwks`;
  const parts = { ports, flow, pages, issuers, jwksUri, keySet: () => keySetEndpoint(ring, clock) };
  const documents = rootDocuments(issuers, jwksUri);
  emit({ kind: "started", rootDocuments: [...documents.keys()] });
  const routers = routersOf(parts, { baseUrl, documents });
  return {
    router: routers.router,
    get wellKnown() {
      return routers.wellKnown;
    },
    inFrontOf: (app) => listenInFront(parts, { app, mountPath: mountPathOf(baseUrl) }),
    rotateKeys: (signingKeys) =>
      ring.replace(readSigningKeys(signingKeys, { by: "rotateKeys", now: clock() })),
    ...protectRoutes(ports, { issuers, revocationLagSeconds }),
    ...hostPagesOf(flow, pages),
    consents: consentsOf(ports, issuers),
  };
}
