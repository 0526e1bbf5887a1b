/** Parts that only some hosts need. Each is loaded when it is needed, so that others pay nothing for it. */
import type * as Memory from "./adapters/memory/storage";
import type { MemoryStorage, MemoryStorageOptions } from "./adapters/memory/storage";
import type * as BoundTokens from "./bearer/bound-tokens";
import type { DpopGuard } from "./bearer/require-bearer";
import type * as NotingUses from "./bearer/note-use";
import type { NoteUse, UsePorts } from "./bearer/note-use";
import type * as Userinfo from "./bearer/userinfo";
import type { UserinfoPorts } from "./bearer/userinfo";
import type * as Assessing from "./review/assess";
import type { Assessment } from "./review/assess";
import type * as DocumentFetching from "./fetching/fetch-document";
import type * as DocumentMemory from "./fetching/remembered-documents";
import type { RememberedDocuments } from "./fetching/remembered-documents";
import type * as SelfDescribed from "./strangers/document-clients";
import type { FetchKeys } from "./clients/assertion-keys";
import type { ClientAuthenticationPorts } from "./clients/authenticate-client";
import type * as Managing from "./clients/manage-clients";
import type { AddedClient, NewClient, WritableClients } from "./clients/manage-clients";
import type { SelfDescribedClients } from "./clients/client-lookup";
import type * as Devices from "./endpoints/device-authorization";
import type { DeviceRequestPorts, DeviceRequests } from "./endpoints/device-authorization";
import type * as Pushing from "./endpoints/pushed-request";
import type { PushedRequestPorts, PushedRequests } from "./endpoints/pushed-request";
import type * as RateLimiting from "./endpoints/rate-limit";
import type { RegistrationPorts } from "./endpoints/registration";
import type * as Ends from "./end-user/ends";
import type * as Lists from "./end-user/list-authorizations";
import type * as Narrowing from "./end-user/narrow";
import type * as Vouching from "./end-user/vouched-person";
import type { VouchPorts } from "./end-user/vouched-person";
import type { EmitEvent } from "./events/port";
import type * as DeviceCode from "./grants/device-code";
import type { GrantPorts, IdentityAssertionPorts, PolledTooSoon } from "./grants/grant";
import type * as IdentityGrant from "./grants/identity-assertion";
import type * as DeviceRoute from "./http/device-route";
import type * as Posting from "./http/authorize-by-post";
import type * as MountChecking from "./http/mount-check";
import type * as SignOutRouting from "./http/sign-out-routes";
import type * as DevicePage from "./interaction/device-page";
import type { DevicePageOptions } from "./interaction/device-page";
import type * as SigningOut from "./interaction/sign-out";
import type { SignOutFlow, SignOutOptions } from "./interaction/sign-out";
import type { MountCheck, MountCheckOptions } from "./http/mount-check";
import type * as RegistrationRoute from "./http/registration-route";
import type { RouterParts } from "./http/router";
import type { ApiOptions, AuthServerOptions } from "./options/options";
import type { ResolvedOptions } from "./options/resolve";
import type { Client } from "./protocol/client";
import type { ProtectedApi } from "./protocol/issuer";
import type { Clock } from "./protocol/time";
import type { Storage } from "./storage/port";
import type * as Identity from "./tokens/identity";
import type { IdentityPorts, IssueIdToken } from "./tokens/identity";
import { systemClock } from "./system";

/**
 * Storage in the memory of this process. Its records are lost when the process ends, and two processes do not share them.
 *
 * @throws TypeError when an option or a client record is wrong.
 */
export function memoryStorage(options: MemoryStorageOptions): MemoryStorage {
  const memory = require("./adapters/memory/storage") as typeof Memory;
  return memory.memoryStorage(options);
}

function manageClients(): typeof Managing {
  return require("./clients/manage-clients") as typeof Managing;
}

/** Adds a client, if its id is free. @throws TypeError (as a rejection) when the record is wrong or the id is taken */
export async function addClient(registry: WritableClients, client: NewClient): Promise<AddedClient> {
  return manageClients().addClient(registry, client);
}

/**
 * Changes a client: finds it, asks `change` for the new record, and stores that unless somebody else has changed the client meanwhile. Then
 * it tries again, five times at most, so `change` may be called more than once.
 *
 * @returns the new record, or `undefined` when there is no such client.
 * @throws TypeError (as a rejection) when the new record is wrong, or others have changed the client each time
 */
export async function changeClient(
  registry: WritableClients,
  clientId: string,
  change: (client: Client) => Client,
): Promise<Client | undefined> {
  return manageClients().changeClient(registry, clientId, change);
}

/**
 * Makes a new secret for a client. Give it to the client now: it is stored nowhere. The one before works until the overlap is over, by
 * default for seven days; older ones end at once.
 *
 * @throws TypeError (as a rejection) when there is no such client, or it has no secret
 * @rfc 6749 §2.3.1
 */
export async function rotateClientSecret(
  registry: WritableClients,
  clientId: string,
  { overlapSeconds }: { readonly overlapSeconds?: number } = {},
): Promise<{ readonly secret: string }> {
  return manageClients().rotateClientSecret(registry, { clientId, overlapSeconds, now: systemClock() });
}

/** Gives what `make` has made when it was first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Documents of strangers. Nothing is loaded before the first one is asked for. */
export function documentsOnDemand(insecureLoopback: boolean, clock: Clock): RememberedDocuments {
  const fetcher = once(() => {
    const { documentFetcher } = require("./fetching/fetch-document") as typeof DocumentFetching;
    return documentFetcher({ insecureLoopback });
  });
  const documents = once(() => {
    const { rememberedDocuments } = require("./fetching/remembered-documents") as typeof DocumentMemory;
    return rememberedDocuments({ fetchDocument: (url) => fetcher()(url), clock });
  });
  return {
    find: (url, asker) => documents().find(url, asker),
    refresh: (url) => documents().refresh(url),
    fresh: (url, asker) => documents().fresh(url, asker),
    peek: (url) => documents().peek(url),
    isAgeing: (url) => documents().isAgeing(url),
    isFailing: (url) => documents().isFailing(url),
  };
}

const notRemembered = {
  kind: "refused",
  reason:
    "this process does not remember them, and fetches them only for a code or refresh token of this client: start with one of these",
} as const;

/**
 * The key sets at the `jwksUri` of clients. Those of registered clients have their own memory and their own fetches: anyone can name URLs,
 * and a flood of them must not keep the host's own clients out.
 */
export function keysOnDemand(of: {
  readonly registered: RememberedDocuments;
  readonly strangers: RememberedDocuments;
}): FetchKeys {
  return async (jwksUri, { refresh, mayFetch, isStranger }) => {
    const documents = isStranger ? of.strangers : of.registered;
    const fresh = refresh ? undefined : documents.fresh(jwksUri);
    if (fresh) return { kind: "found", text: fresh.text, isFinal: false };
    if (!(await mayFetch())) {
      const last = documents.peek(jwksUri);
      return last ? { kind: "found", text: last.text, isFinal: true } : notRemembered;
    }
    const answer = await (refresh ? documents.refresh(jwksUri) : documents.find(jwksUri));
    return answer.kind === "found" ? { kind: "found", text: answer.text, isFinal: answer.isNew } : answer;
  };
}

/** API id → its adapter, for APIs that have one. */
function adaptersOf<Name extends "clientMetadataDocuments" | "clientRegistration" | "openid">(
  apis: Readonly<Record<string, ApiOptions>>,
  name: Name,
): ReadonlyMap<string, NonNullable<ApiOptions[Name]>> {
  return new Map(
    Object.entries(apis).flatMap(([apiId, api]) => (api[name] ? [[apiId, api[name]] as const] : [])),
  );
}

/** What finding clients that nobody registered uses. */
export interface SelfDescribedNeeds {
  readonly storage: Pick<Storage, "clientRegistrations">;
  readonly documents: RememberedDocuments;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** Finds clients that the host has not registered; `undefined` where no API accepts any. */
export function selfDescribedOnDemand(
  { apis, redirectSchemes, insecureLoopbackClients: insecureLoopback }: ResolvedOptions,
  needs: SelfDescribedNeeds,
): SelfDescribedClients | undefined {
  const adapters = adaptersOf(apis, "clientMetadataDocuments");
  const registrars = adaptersOf(apis, "clientRegistration");
  if (adapters.size + registrars.size === 0) return undefined;
  const { selfDescribedClients } = require("./strangers/document-clients") as typeof SelfDescribed;
  return selfDescribedClients({ adapters, registrars, redirectSchemes, insecureLoopback, ...needs });
}

/** The route at which clients register, where an API has one. */
export function routesOnDemand(
  { apis, insecureLoopbackClients: insecureLoopback }: ResolvedOptions,
  ports: Omit<RegistrationPorts, "adapter" | "insecureLoopback">,
): RouterParts["someRoutes"] {
  const adapters = adaptersOf(apis, "clientRegistration");
  if (adapters.size === 0) return [];
  const { registrationRoute } = require("./http/registration-route") as typeof RegistrationRoute;
  return [registrationRoute({ ...ports, insecureLoopback }, adapters)];
}

/** Pushed authorization requests; `undefined` where no API has them. */
export function pushedRequestsOnDemand(
  { issuers, secrets }: ResolvedOptions,
  ports: Omit<PushedRequestPorts, "secrets">,
): PushedRequests | undefined {
  if (!issuers.some(({ api }) => api.pushedRequests)) return undefined;
  const { pushedRequests } = require("./endpoints/pushed-request") as typeof Pushing;
  return pushedRequests({ ...ports, secrets });
}

/** The requests of devices, and how often they ask; `undefined` where no API has `deviceAuthorization`. */
export function devicesOnDemand(
  { issuers, baseUrl }: Pick<ResolvedOptions, "issuers" | "baseUrl">,
  { storage, ...ports }: Omit<DeviceRequestPorts, "storage" | "baseUrl"> & { readonly storage: Storage },
): { readonly devices: DeviceRequests; readonly polledTooSoon: PolledTooSoon } | undefined {
  const { parkedRequests } = storage;
  if (!parkedRequests || !issuers.some(({ api }) => api.deviceAuthorization)) return undefined;
  const { deviceRequests } = require("./endpoints/device-authorization") as typeof Devices;
  const { pollPace } = require("./grants/device-code") as typeof DeviceCode;
  const devices = deviceRequests({ ...ports, baseUrl, storage: { parkedRequests } });
  return { devices, polledTooSoon: pollPace() };
}

/** The page for devices; `undefined` where there are none. */
export function deviceRouteOnDemand({
  devices,
  ...options
}: Omit<DevicePageOptions, "devices"> & {
  readonly devices: DeviceRequests | undefined;
}): RouterParts["deviceRoute"] {
  if (!devices) return undefined;
  const { devicePageFlow } = require("./interaction/device-page") as typeof DevicePage;
  const { deviceRoute } = require("./http/device-route") as typeof DeviceRoute;
  return deviceRoute(devicePageFlow({ ...options, devices }));
}

/** The routes for relying parties, where an API has `openid`. */
export function openidRoutesOnDemand(
  { apis }: ResolvedOptions,
  ports: Omit<UserinfoPorts, "adapters">,
): RouterParts["someRoutes"] {
  const adapters = adaptersOf(apis, "openid");
  if (adapters.size === 0) return [];
  const { openidRoutes } = require("./bearer/userinfo") as typeof Userinfo;
  return openidRoutes({ ...ports, adapters });
}

/** Signing out at the wish of relying parties; `undefined` where no issuer can. */
export function signOutOnDemand(
  { issuers, authMethods, secrets }: ResolvedOptions,
  ports: Omit<SignOutOptions, "authMethods" | "secrets">,
): SignOutFlow | undefined {
  if (!issuers.some(({ signsOut }) => signsOut)) return undefined;
  const { signOutFlow } = require("./interaction/sign-out") as typeof SigningOut;
  return signOutFlow({ ...ports, authMethods, secrets });
}

/** The routes for browsers that only some APIs have: requests by POST, where an API has `openid`, and signing out. */
export function pageRoutesOnDemand(
  { apis }: ResolvedOptions,
  signOut: SignOutFlow | undefined,
): RouterParts["somePageRoutes"] {
  if (adaptersOf(apis, "openid").size === 0) return [];
  const { authorizeByPost } = require("./http/authorize-by-post") as typeof Posting;
  if (!signOut) return [authorizeByPost];
  const { signOutRoutes } = require("./http/sign-out-routes") as typeof SignOutRouting;
  return [authorizeByPost, ...signOutRoutes(signOut)];
}

/** Makes ID tokens; `undefined` where no API has `openid`. */
export function idTokensOnDemand(
  { apis }: ResolvedOptions,
  ports: Omit<IdentityPorts, "adapters">,
): IssueIdToken | undefined {
  const adapters = adaptersOf(apis, "openid");
  if (adapters.size === 0) return undefined;
  const { idTokenIssuer } = require("./tokens/identity") as typeof Identity;
  return idTokenIssuer({ ...ports, adapters });
}

/** Identity providers that vouch for people; nothing where no authentication method has `identityAssertions`. */
export function identityAssertionsOnDemand(
  { authMethods }: Pick<ResolvedOptions, "authMethods">,
  needs: Omit<VouchPorts, "authMethods"> & Pick<IdentityAssertionPorts, "storage" | "fetchKeys">,
): Pick<GrantPorts, "identityAssertions"> & Pick<ClientAuthenticationPorts, "isVouchedFor"> {
  // a copy: what the host does to its list later changes nothing
  const issuers = Object.entries(authMethods).flatMap(([id, { identityAssertions: adapter }]) =>
    adapter ? [[id, structuredClone(adapter.issuers)] as const] : [],
  );
  if (issuers.length === 0) return {};
  const byMethod = new Map(issuers);
  const { isVouchedFor } = require("./grants/identity-assertion") as typeof IdentityGrant;
  const { vouchedPerson } = require("./end-user/vouched-person") as typeof Vouching;
  const identityAssertions: IdentityAssertionPorts = {
    ...needs,
    providersOf: ({ authMethodId }) => byMethod.get(authMethodId) ?? {},
    vouch: (question) => vouchedPerson({ ...needs, authMethods }, question),
  };
  return { identityAssertions, isVouchedFor: (presented) => isVouchedFor(identityAssertions, presented) };
}

/** The host's limit on requests of clients; `undefined` where it has none. */
export function rateLimitOnDemand({ rateLimit: ask }: ResolvedOptions): RouterParts["rateLimit"] {
  if (!ask) return undefined;
  const { answerWithinLimit } = require("./endpoints/rate-limit") as typeof RateLimiting;
  return { ask, answerWithinLimit };
}

/** Notes calls of the host's API as uses; `undefined` where only what issues tokens is one. */
export function usesOnDemand({ lastUses }: ResolvedOptions, ports: UsePorts): NoteUse | undefined {
  if (lastUses === "refresh") return undefined;
  const { useNotes } = require("./bearer/note-use") as typeof NotingUses;
  return useNotes(ports);
}

/** Checks what the tokens of an API are bound to; `undefined` where it has no `dpop`. */
export function dpopOnDemand(clock: Clock): (api: ProtectedApi) => DpopGuard | undefined {
  const guards = once(() => {
    const { dpopGuards } = require("./bearer/bound-tokens") as typeof BoundTokens;
    return dpopGuards(clock);
  });
  return (api) => api.dpop && guards()(api, api.dpop);
}

/** A check of how the routers are mounted, which sees the answers of the process. It is for development only. */
export function mountCheckOnDemand(options: MountCheckOptions): MountCheck {
  const { mountCheck, watchAnswers } = require("./http/mount-check") as typeof MountChecking;
  const check = mountCheck(options);
  watchAnswers(check, options.baseUrl);
  return check;
}

/** What the host can end. It is loaded when the host first does. */
export function endsOnDemand(): typeof Ends {
  return require("./end-user/ends") as typeof Ends;
}

/** Taking back a part of a consent. It is loaded when the host first does. */
export function narrowingOnDemand(): typeof Narrowing {
  return require("./end-user/narrow") as typeof Narrowing;
}

/** What the host can list of a person. It is loaded when the host first does. */
export function listsOnDemand(): typeof Lists {
  return require("./end-user/list-authorizations") as typeof Lists;
}

/** Compares options that `checkOptions` has given with the standards, each time it is asked. */
export function assessmentOnDemand(options: AuthServerOptions): () => Assessment {
  return () => {
    const { assess } = require("./review/assess") as typeof Assessing;
    return assess(options);
  };
}
