/** From options to a running authorization server. Issuers, ports and endpoints are put together here and nowhere else. */
import type { Request } from "express";
import type { AuthServer } from "./auth-server";
import type { FetchKeys } from "./clients/assertion-keys";
import {
  adviseOfSubscriptions,
  checkListedClients,
  type ClientLookup,
  clientLookup,
} from "./clients/client-lookup";
import { clientSecretVerifier } from "./clients/client-secret";
import type { AuthorizationPorts } from "./endpoints/authorization";
import type { ClientEndpointPorts } from "./endpoints/client-endpoint";
import type { DeviceRequests } from "./endpoints/device-authorization";
import type { PushedRequests } from "./endpoints/pushed-request";
import type { RegistrationPorts } from "./endpoints/registration";
import { keySetEndpoint, type RootDocuments, rootDocuments } from "./endpoints/documents";
import type { NarrowPorts } from "./end-user/narrow";
import type { Advise, EmitEvent } from "./events/port";
import { adviser } from "./events/report";
import type { RememberedDocuments } from "./fetching/remembered-documents";
import { type ProtectionPorts, protectRoutes } from "./bearer/protect-routes";
import { readInteractionId } from "./http/request";
import { whileTraced } from "./http/request-trace";
import { adviseOfFormAction, writeResponse } from "./http/response";
import { createRouter, createWellKnownRouter, listenInFront, type RouterParts } from "./http/router";
import { crossOriginRoute, sameOriginRoute } from "./http/routes";
import { authorizationFlow, type AuthorizationFlow } from "./interaction/authorization-flow";
import { pendingRequests } from "./interaction/pending-request";
import { readOtherwise } from "./interaction/lost-interaction";
import type { SignOutFlow } from "./interaction/sign-out";
import { checkOptions } from "./options/check";
import {
  assessmentOnDemand,
  deviceRouteOnDemand,
  devicesOnDemand,
  documentsOnDemand,
  dpopOnDemand,
  endsOnDemand,
  identityAssertionsOnDemand,
  idTokensOnDemand,
  keysOnDemand,
  listsOnDemand,
  mountCheckOnDemand,
  narrowingOnDemand,
  openidRoutesOnDemand,
  pageRoutesOnDemand,
  pushedRequestsOnDemand,
  rateLimitOnDemand,
  routesOnDemand,
  selfDescribedOnDemand,
  signOutOnDemand,
  usesOnDemand,
} from "./on-demand";
import type { AuthServerOptions } from "./options/options";
import { isProduction, type ResolvedOptions, resolveOptions } from "./options/resolve";
import { readSigningKeys } from "./options/signing-keys";
import { type Pages, pagesOf } from "./pages/pages";
import { apisOf, type Issuer, mountPathOf } from "./protocol/issuer";
import type { JsonResponse, ProtocolResponse } from "./protocol/protocol-response";
import { idTokenSigner, jwtSigner, type KeyRing, keyRing } from "./signing/jwt-signer";
import { timeLimited } from "./storage/calls";
import { hostEmitter, randomValues, systemClock as clock, warn } from "./system";
import { longestLifeSeconds } from "./tokens/issue-code";
import { refreshSuccessors } from "./tokens/refresh-successor";
import { accessTokenVerifier } from "./tokens/verify-access-token";

/** Everything that the rules get from outside: storage, keys, time, random values and the host's event listener. */
type Ports = AuthorizationPorts &
  ClientEndpointPorts & { readonly advise: Advise | undefined } & NarrowPorts &
  Omit<RegistrationPorts, "adapter" | "insecureLoopback"> & {
    readonly clients: ClientLookup;
    readonly devices: DeviceRequests | undefined;
  };

function portsOf(
  options: ResolvedOptions,
  { emit, advise, ring }: { emit: EmitEvent; advise: Advise | undefined; ring: KeyRing },
): Ports {
  const { redirectSchemes, revocationLagSeconds: lagSeconds } = options;
  // all calls go through the limited storage: a database that hangs must not hold requests and their sockets
  const storage = timeLimited(options.storage);
  const apis = apisOf(options.issuers);
  const newDocuments = (): RememberedDocuments => documentsOnDemand(options.insecureLoopbackClients, clock);
  const documents = newDocuments();
  const selfDescribed = selfDescribedOnDemand(options, { storage, documents, emit, clock });
  const random = randomValues();
  const clients = clientLookup(storage, { lagSeconds, clock, redirectSchemes, apis, selfDescribed });
  const idTokens = idTokenSigner(ring, clock);
  const keysOf = (registered: RememberedDocuments): FetchKeys =>
    keysOnDemand({ registered, strangers: documents });
  // identity providers have a memory of their own
  const vouching = { storage, clients, clock, fetchKeys: keysOf(newDocuments()) };
  const ofDevices = devicesOnDemand(options, { storage, clients, emit, clock, ...random });
  return {
    storage,
    clients,
    redirectSchemes,
    verifySecret: clientSecretVerifier({
      tell: (clientId) => emit({ kind: "old-secret-used", clientId }),
      clock,
    }),
    fetchKeys: keysOf(newDocuments()),
    ...identityAssertionsOnDemand(options, vouching),
    tokens: options.tokens,
    successors: refreshSuccessors(options.secrets, random.randomId),
    signer: jwtSigner(ring, clock),
    idTokens,
    issueIdToken: idTokensOnDemand(options, { storage, clients, signer: idTokens }),
    devices: ofDevices?.devices,
    polledTooSoon: ofDevices?.polledTooSoon,
    emit,
    advise,
    clock,
    ...random,
  };
}

const makers = { secrets: "npx authmount secret", signingKeys: "npx authmount signing-key" } as const;

function warnOfTemporary({ temporary }: ResolvedOptions): void {
  if (temporary.length === 0) return;
  const commands = temporary.map((option) => makers[option]).join(" and ");
  warn(
    "temporary-values",
    `createAuthServer made throw-away ${temporary.join(" and ")}: what is issued with them ends with this process. A trial needs nothing more. For production, run ${commands}.`,
  );
}

/** What is likely to be a mistake, as far as options alone tell. */
function adviseAtStart(advise: Advise, { issuers, storage, rateLimit }: ResolvedOptions): void {
  const known = Object.fromEntries(apisOf(issuers).map((api) => [api.apiId, api]));
  adviseOfSubscriptions(advise, storage.clients, known);
  if (!rateLimit && issuers.some(({ api }) => api.deviceAuthorization))
    advise(
      "device-codes-unlimited",
      "An API has deviceAuthorization, and rateLimit is left out, so anyone can guess codes of devices. Write a rateLimit that counts device_authorization and device.",
    );
}

function findIssuerIn(
  issuers: readonly Issuer[],
): (authMethodId: string, apiId: string) => Issuer | undefined {
  const byPair = new Map(issuers.map((issuer) => [`${issuer.authMethodId}/${issuer.api.apiId}`, issuer]));
  return (authMethodId, apiId) => byPair.get(`${authMethodId}/${apiId}`);
}

/** The authorization endpoint with its pages, and the page for devices, which leads to it. */
function flowOf(
  { baseUrl, secrets, authMethods, consent, issuers }: ResolvedOptions,
  { ports, pages, pushed }: { ports: Ports; pages: Pages; pushed: PushedRequests | undefined },
): Pick<RouterParts, "flow" | "deviceRoute"> {
  const { origin, protocol } = new URL(baseUrl);
  const shared = {
    pendingRequests: pendingRequests({ secure: protocol === "https:", secrets, clock }),
    findIssuer: findIssuerIn(issuers),
    pages,
  };
  const flow = authorizationFlow({
    ...shared,
    ports,
    pushedRequests: pushed,
    origin,
    advise: ports.advise,
    secrets,
    authMethods,
    consent,
  });
  return { flow, deviceRoute: deviceRouteOnDemand({ ...ports, ...shared, baseUrl }) };
}

/** The host's routes are protected by what this server knows of its own tokens. */
function protectionOf(ports: Ports, options: ResolvedOptions): ProtectionPorts {
  const { issuers, revocationLagSeconds } = options;
  const dpopOf = dpopOnDemand(clock);
  const apis = apisOf(issuers).map((api) => ({
    api,
    verify: accessTokenVerifier(ports, { api, revocationLagSeconds }),
    dpop: dpopOf(api),
  }));
  return { apis, noteUse: usesOnDemand(options, ports), emit: ports.emit, clock };
}

/** The routes that only some APIs have. */
function someRoutesOf(
  ports: Ports,
  {
    options,
    protection,
    signOut,
    pushed,
  }: {
    options: ResolvedOptions;
    protection: ProtectionPorts;
    signOut: SignOutFlow | undefined;
    pushed: PushedRequests | undefined;
  },
): Pick<RouterParts, "someRoutes" | "somePageRoutes"> {
  const guards = new Map(protection.apis.map((each) => [each.api.apiId, each]));
  const openidRoutes = openidRoutesOnDemand(options, { ...ports, guards });
  const pushRoutes = pushed ? [crossOriginRoute("pushed_authorization_request", pushed.endpoint)] : [];
  const { devices } = ports;
  const deviceRoutes = devices ? [sameOriginRoute("device_authorization", devices.endpoint)] : [];
  return {
    someRoutes: [...routesOnDemand(options, ports), ...pushRoutes, ...deviceRoutes, ...openidRoutes],
    somePageRoutes: pageRoutesOnDemand(options, signOut),
  };
}

/** What the host can see and end. */
function endsOf(
  ports: Ports,
  issuers: readonly Issuer[],
): Pick<AuthServer, "consents" | "authorizations" | "subjects" | "clients" | "apis"> {
  const life = { longestLifeSeconds: longestLifeSeconds(issuers) };
  const apis = apisOf(issuers);
  return {
    consents: {
      list: (subject, page = {}) => listsOnDemand().listConsents(ports, { subject, page, apis }),
      revoke: (selection) => endsOnDemand().withdrawConsent(ports, { selection, ...life }),
      narrow: async (step) => narrowingOnDemand().narrowConsent(ports, { step, apis, ...life }),
    },
    authorizations: {
      list: (subject, page = {}) => listsOnDemand().listAuthorizations(ports, { subject, page, apis }),
      revoke: (target) => endsOnDemand().endAuthorization(ports, target),
    },
    subjects: {
      async revoke(subject, options = {}) {
        const { endSubject, subjectEndOf } = endsOnDemand();
        return endSubject(ports, { subject, end: subjectEndOf(options), ...life });
      },
      erase: (subject) => endsOnDemand().endSubject(ports, { subject, end: "erase", ...life }),
    },
    clients: { revoke: (clientId) => endsOnDemand().endClient(ports, clientId) },
    apis: { revoke: (apiId) => endsOnDemand().endApi(ports, { apiId, apis }) },
  };
}

/** The functions that the host's own pages call. */
function hostPagesOf(
  flow: AuthorizationFlow,
  {
    pages,
    advise,
    origin,
    signOut,
  }: { pages: Pages; advise: Advise | undefined; origin: string; signOut: SignOutFlow | undefined },
): Pick<AuthServer, "interaction" | "resume" | "approve" | "deny"> {
  function write(
    exchange: Parameters<typeof writeResponse>[0] & { readonly req: Request },
    response: ProtocolResponse,
  ): void {
    const { req, res } = exchange;
    if (advise && response.kind === "redirect" && req.method === "POST")
      adviseOfFormAction(advise, { sentTo: `${req.baseUrl}${req.path}`, res, redirect: response, origin });
    writeResponse({ ...exchange, pages }, response);
  }
  return {
    interaction: (req) => flow.describe(req, readInteractionId(req)),
    resume(req, res, given?: unknown) {
      const interactionId = readInteractionId(req);
      // each time, so that a text from a link cannot stay unchecked while requests are pending
      const otherwise = readOtherwise(given);
      const signedOut = signOut?.leadBack(interactionId);
      write({ req, res }, signedOut ?? flow.leadBack(req, { interactionId, otherwise }));
    },
    async approve(req, res, ...decisions) {
      const interactionId = readInteractionId(req);
      // approve(req, res) allows everything; approve(req, res, undefined) is refused, as it may be a mistake of the host
      const chosen: unknown = decisions.length === 0 ? {} : decisions[0];
      await whileTraced({ endpoint: "approve", method: req.method }, async (trace) =>
        write({ req, res, trace }, await flow.approve(req, { interactionId, chosen })),
      );
    },
    async deny(req, res) {
      await whileTraced({ endpoint: "deny", method: req.method }, async (trace) =>
        write({ req, res, trace }, await flow.deny(req, readInteractionId(req))),
      );
    },
  };
}

/** In development, the first requests show how the routers are mounted, and a warning says what is wrong. */
function routersOf(
  parts: RouterParts,
  {
    baseUrl,
    documents,
    advise,
  }: { baseUrl: string; documents: RootDocuments; advise: ReturnType<typeof adviser> | undefined },
): Pick<AuthServer, "router" | "wellKnown"> {
  const issuers = parts.issuers.map(({ identifier }) => identifier);
  const check =
    advise && mountCheckOnDemand({ baseUrl, issuers, documents: [...documents.keys()], warn: advise });
  const wellKnown = createWellKnownRouter(documents, check);
  return {
    router: createRouter(parts, check),
    // reading the property is taken as mounting it: the server cannot see more
    get wellKnown() {
      check?.takeWellKnown();
      return wellKnown;
    },
  };
}

/**
 * Creates an authorization server for every valid (authentication method, API) pair in the options. It emits `started`, and warns
 * (`temporary-values`) when it had to generate `secrets` or `signingKeys`.
 *
 * @throws TypeError that names the first wrong option by its path and says what to write instead.
 */
export function createAuthServer(given: AuthServerOptions): AuthServer {
  const written = checkOptions(given);
  const options = resolveOptions(written, clock());
  const { baseUrl, issuers, algorithms } = options;
  checkListedClients(options.storage.clients, options.redirectSchemes);
  warnOfTemporary(options);
  const emit = hostEmitter({ onEvent: options.onEvent, isProduction: isProduction() });
  // a replaced key must verify for as long as the longest-lived token that it may have signed
  const tokenSeconds = Math.max(...issuers.map(({ api }) => api.accessTokenSeconds));
  const ring = keyRing({ keys: options.signingKeys, tokenSeconds, ...algorithms });
  const advise = isProduction() ? undefined : adviser({ warn, isProduction: false, clock });
  if (advise) adviseAtStart(advise, options);
  const ports = portsOf(options, { emit, advise, ring });
  const pages = pagesOf(options.pages, {
    showReason: !isProduction(),
    onFailure: (cause) => emit({ kind: "server-error", cause }),
  });
  const signOut = signOutOnDemand(options, { ...ports, pages });
  const pushed = pushedRequestsOnDemand(options, ports);
  const flows = flowOf(options, { ports, pages, pushed });
  const jwksUri = `${baseUrl}/jwks`;
  const protection = protectionOf(ports, options);
  const someRoutes = someRoutesOf(ports, { options, protection, signOut, pushed });
  const keySet = (): JsonResponse => keySetEndpoint(ring, clock);
  const [rateLimit, mountPath] = [rateLimitOnDemand(options), mountPathOf(baseUrl)];
  const parts = { ports, rateLimit, ...flows, pages, issuers, mountPath, jwksUri, keySet, ...someRoutes };
  const documents = rootDocuments(issuers, jwksUri);
  emit({ kind: "started", rootDocuments: [...documents.keys()] });
  const routers = routersOf(parts, { baseUrl, documents, advise });
  return {
    router: routers.router,
    // a getter, not a copy: in development, routers.wellKnown notes that it was read
    get wellKnown() {
      return routers.wellKnown;
    },
    inFrontOf: (app) => listenInFront(parts, app),
    rotateKeys: (signingKeys) =>
      ring.replace(readSigningKeys(signingKeys, { by: "rotateKeys", ...algorithms, now: clock() })),
    ...protectRoutes(protection),
    ...hostPagesOf(flows.flow, { pages, advise, signOut, origin: new URL(baseUrl).origin }),
    ...endsOf(ports, issuers),
    assessment: assessmentOnDemand(written),
  };
}
