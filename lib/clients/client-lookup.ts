/** Looks up clients in the host's table. Every answer is checked, and remembered for a moment. RFC 6749 §2. */
import type { Advise } from "../events/port";
import { suggestion } from "../host/plain";
import {
  type Client,
  type FlagOption,
  flagOptions,
  isClientId,
  subscriptionOf,
  unmetFlags,
  withCurrentSecrets,
} from "../protocol/client";
import { apiEndKey, clientEndKey, type CurrentMark } from "../protocol/end-mark";
import type { Api, Issuer } from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import { findMarks } from "../storage/end-marks";
import { lagMemory, type Lag } from "../recall/lag-memory";
import type { ClientStore, Storage } from "../storage/port";
import { checkClient, checkRedirectSchemes, ownClient } from "./client-record";

/** A client store whose records are known from the start, such as that of `memoryStorage`. */
export interface ListedClients extends ClientStore {
  /** All of its clients. */
  readonly records: readonly Client[];
}

/** True for a store whose clients are known from the start. */
export function listsRecords(clients: ClientStore): clients is ListedClients {
  return Array.isArray((clients as Partial<ListedClients>).records);
}

/** The clients of a store that are known from the start; none of other stores. */
export function listedClients(clients: ClientStore): readonly Client[] {
  return listsRecords(clients) ? clients.records : [];
}

/**
 * Checks the redirect schemes of clients that are known from the start, so that a host's mistake does not wait for the first
 * request. Stores without `records` are checked as clients are found.
 *
 * @throws TypeError that names the client and the option.
 */
export function checkListedClients(clients: ClientStore, redirectSchemes: readonly string[]): void {
  for (const record of listedClients(clients)) checkRedirectSchemes(record, redirectSchemes);
}

type KnownApis = Readonly<Record<string, Pick<Api, "scopes" | FlagOption>>>;

/** What a record names and no API of the server has. An API with quite another name belongs to another server with the same clients. */
function misspelt({ clientId, subscriptions }: Client, apis: KnownApis): readonly string[] {
  const written = (at: string, name: string, meant: string): string =>
    `${at} of client "${clientId}" has "${name}".${meant}`;
  return Object.entries(subscriptions).flatMap(([apiId, { scopes = [] }]) => {
    if (!Object.hasOwn(apis, apiId)) {
      const meant = suggestion(apiId, Object.keys(apis));
      return meant === "" ? [] : written("subscriptions", apiId, meant);
    }
    const known = Object.keys(apis[apiId]?.scopes ?? {});
    return scopes
      .filter((name) => !known.includes(name))
      .map((name) =>
        written(
          `subscriptions.${apiId}.scopes`,
          name,
          suggestion(name, known) || ` Known: ${known.join(", ")}.`,
        ),
      );
  });
}

/** Flags of a record at APIs without the option that they need: the API refuses the client. */
function unmet(client: Client, apis: KnownApis): readonly string[] {
  return Object.entries(apis).flatMap(([apiId, api]) =>
    (subscriptionOf(client, apiId) ? unmetFlags(client, api) : []).map(
      (flag) => `Client "${client.clientId}" has ${flag}, and API ${apiId} has no ${flagOptions[flag]}.`,
    ),
  );
}

/** Warns of what clients known from the start name, and this server does not have: APIs, scopes, and options that a flag needs. */
export function adviseOfSubscriptions(advise: Advise, clients: ClientStore, apis: KnownApis): void {
  const found = listedClients(clients).flatMap((client) => misspelt(client, apis));
  if (found.length > 0)
    advise(
      "subscription-misspelt",
      `A client has subscriptions to APIs or scopes that this server does not have: ${found.slice(0, 10).join(" ")}`,
    );
  const flags = listedClients(clients).flatMap((client) => unmet(client, apis));
  if (flags.length > 0)
    advise(
      "client-flag-without-option",
      `An API will refuse a client whose record demands what the API does not offer. Add the option, or remove the flag: ${flags.slice(0, 10).join(" ")}`,
    );
}

/** How clients are looked up. */
export interface ClientLookupOptions extends Lag {
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
  /** All APIs of the server. */
  readonly apis: readonly Pick<Api, "audience">[];
  /** Clients besides those of the host's table, which come first. Left out: none. */
  readonly selfDescribed?: SelfDescribedClients | undefined;
}

/** True for an https or http origin of possible length. Scripts that call have no other origin. RFC 6454 §6.2. */
function isOrigin(text: string): boolean {
  return text.length <= 300 && /^https?:\/\/[^\s/?#]+$/.test(text);
}

/** The end marks under which everything is born that is issued to a client, as they are remembered. */
export interface ClientEnds {
  /** Its own. */
  readonly endMark: CurrentMark;
  /** Those of the APIs of the server, by their audiences. */
  readonly apiEnds: ReadonlyMap<string, CurrentMark>;
  /** When they were read. */
  readonly asOf: EpochSeconds;
}

/** A client and its end marks, which were read with it. */
export interface RegisteredClient extends ClientEnds {
  readonly client: Client;
}

/** Where a client asks, and what may be done to find it. */
export interface ClientPlace {
  readonly issuer: Issuer;
  /** Whether the metadata document of the client may be fetched. Asked only if it is not remembered. */
  readonly mayFetch: () => boolean | Promise<boolean>;
  /** True where its document is fetched only for a code or refresh token, which someone has approved. Left out: anyone can ask. */
  readonly byGrant?: boolean;
}

/** Clients that the host has not registered: those with a metadata document, and those that have registered themselves. */
export interface SelfDescribedClients {
  /** The client, if the policy of the API accepts it. @throws OAuthError `temporarily_unavailable` when it cannot be fetched now */
  find(clientId: string, at: ClientPlace): Promise<Client | undefined>;
  /** Whether tokens of this client are still good at this API. It never fetches. */
  mayHoldTokens(clientId: string, apiId: string): Promise<boolean>;
  /** True for origins of scripts that the host has listed. */
  isBrowserOrigin(origin: string): boolean;
}

/** What a client's access tokens depend on. */
export interface TokenHolder extends ClientEnds {
  readonly hasSubscription: boolean;
  /** True when the host has not registered it. What an earlier registered client with this id was given is not its own. */
  readonly isSelfDescribed: boolean;
}

/** The client store as the library uses it: records are checked copies. */
export interface ClientLookup {
  /** The client with its end marks, all at most as old as the lag. The record is never older than its mark. */
  findRegistered(clientId: string, at: ClientPlace): Promise<RegisteredClient | undefined>;
  /**
   * A record that was read after this one has led to a refusal: the host may have saved a new secret, key or redirect URI a moment ago.
   * `undefined` where there is none, and for a client that the host has not registered. It is read once a second at most for each client: a
   * flood of wrong secrets must not reach storage.
   */
  findNewer(refused: Pick<RegisteredClient, "client">): Promise<RegisteredClient | undefined>;
  /** The client as it is now, whatever is remembered. */
  findCurrent(clientId: string, at: ClientPlace): Promise<Client | undefined>;
  /**
   * What the access tokens of this client at this API depend on, as it is now (`fresh`), or at most as old as the lag. `undefined` when it
   * was deleted.
   */
  findHolder(clientId: string, at: { apiId: string; fresh: boolean }): Promise<TokenHolder | undefined>;
  /** True when a browser client has this origin. */
  isBrowserOrigin(origin: string): Promise<boolean>;
  /** True when a client has this id: then no end user may have it as subject, or one could pass as the other. */
  isTaken(id: string): Promise<boolean>;
}

type LookupPorts = Pick<Storage, "clients" | "endMarks">;

type AskTable = (clientId: string) => Promise<Client | undefined>;

/**
 * The client of the table, also a disabled one, with the secrets that work now. It must be exactly the one that was asked for: a table that
 * ignores case must not turn one client into another.
 */
function askTable({ clients }: LookupPorts, { redirectSchemes, clock }: ClientLookupOptions): AskTable {
  return async (clientId) => {
    const found = await clients.find(clientId);
    if (!found) return undefined;
    const client = ownClient(checkRedirectSchemes(checkClient(found), redirectSchemes));
    return client.clientId === clientId ? withCurrentSecrets(client, clock()) : undefined;
  };
}

/** What was found, unless the client is disabled: nobody may tell it from one that does not exist. */
function unlessDisabled<Found extends { readonly client: Client }>(
  found: Found | undefined,
): Found | undefined {
  return found?.client.disabled ? undefined : found;
}

// what is not found is asked for again each time: a client may call as soon as it is registered
const ifFound = { placesOf: (found: unknown) => (found ? 1 : 0) };
/** Nor is a disabled one remembered: it may call as soon as it is enabled. */
const ifEnabled = { placesOf: (found: RegisteredClient | undefined) => (unlessDisabled(found) ? 1 : 0) };

const always = { placesOf: () => 1 };

type FindInTable = (clientId: string, stale?: RegisteredClient) => Promise<RegisteredClient | undefined>;

type ReadEnds = (clientId: string) => Promise<ClientEnds>;

/** Reads the marks of a client and of all APIs, in one call. */
function readingEnds({ endMarks }: LookupPorts, { apis, clock }: ClientLookupOptions): ReadEnds {
  const ofApis = Object.fromEntries(apis.map(({ audience }) => [audience, apiEndKey(audience)]));
  return async (clientId) => {
    const asOf = clock();
    const keys: Readonly<Record<string, string>> = { client: clientEndKey(clientId), ...ofApis };
    const { client: endMark, ...apiEnds } = await findMarks(endMarks, { keys, now: asOf });
    return { endMark, apiEnds: new Map(Object.entries(apiEnds)), asOf };
  };
}

/** Finds clients of the table with their end marks. */
function findingInTable(ask: AskTable, readEnds: ReadEnds): FindInTable {
  return async (clientId, stale) => {
    const [found, ends] = await Promise.all([ask(clientId), readEnds(clientId)]);
    // the record may be from before a new mark: an earlier client with this id must not get what is born under it
    const client = ends.endMark === stale?.endMark ? found : await ask(clientId);
    return client && { client, ...ends };
  };
}

function holderOf({ client, ...ends }: RegisteredClient, apiId: string): TokenHolder | undefined {
  const hasSubscription = subscriptionOf(client, apiId) !== undefined;
  return client.disabled ? undefined : { hasSubscription, isSelfDescribed: false, ...ends };
}

type FindSelfDescribed = Pick<ClientLookup, "findRegistered" | "findHolder">;

/** The same for clients that the host has not registered. Their ids are never given to another one, and their policy may change. */
function selfDescribedLookup(
  selfDescribed: SelfDescribedClients,
  { readEnds, options }: { readEnds: ReadEnds; options: ClientLookupOptions },
): FindSelfDescribed {
  const holders = lagMemory<TokenHolder | undefined>(options, ifFound);
  return {
    async findRegistered(clientId, at) {
      // the marks are read first: what is ended while the document is fetched must not look newer than that
      const ends = await readEnds(clientId);
      const client = await selfDescribed.find(clientId, at);
      return client && { client, ...ends };
    },
    findHolder(clientId, { apiId, fresh }) {
      const find = async (): Promise<TokenHolder | undefined> => {
        const ends = await readEnds(clientId);
        const mayHold = await selfDescribed.mayHoldTokens(clientId, apiId);
        return mayHold ? { hasSubscription: true, isSelfDescribed: true, ...ends } : undefined;
      };
      return fresh ? find() : holders(JSON.stringify([apiId, clientId]), find);
    },
  };
}

/**
 * Asks only for ids that could be registered: first the host's table, then clients that describe themselves. It rejects with a
 * `TypeError` when a record is wrong.
 */
export function clientLookup(storage: LookupPorts, options: ClientLookupOptions): ClientLookup {
  const { selfDescribed } = options;
  const [ask, readEnds] = [askTable(storage, options), readingEnds(storage, options)];
  const find = findingInTable(ask, readEnds);
  const known = lagMemory<RegisteredClient | undefined>(options, ifEnabled);
  const readAgain = lagMemory<true>({ ...options, lagSeconds: 1 }, always);
  const others = selfDescribed && selfDescribedLookup(selfDescribed, { readEnds, options });
  const origins = lagMemory<boolean>(options, ifFound);
  const taken = lagMemory<boolean>(options, always);
  return {
    async findRegistered(clientId, at) {
      if (!isClientId(clientId)) return undefined;
      const registered = await known(clientId, find);
      if (!registered) return others?.findRegistered(clientId, at);
      // nor is a stranger with its id looked for: what that one was given is not good either
      return registered.client.disabled ? undefined : registered;
    },
    async findNewer(refused) {
      const { clientId, selfDescription } = refused.client;
      // without a lag, it was read for this request
      if (selfDescription || options.lagSeconds === 0) return undefined;
      await readAgain(clientId, () => known(clientId, find, 0).then(() => true));
      const newest = await known(clientId, find);
      return newest?.client === refused.client ? undefined : unlessDisabled(newest);
    },
    async findCurrent(clientId, at) {
      const client = await ask(clientId);
      return client ? unlessDisabled({ client })?.client : selfDescribed?.find(clientId, at);
    },
    async findHolder(clientId, { apiId, fresh }) {
      if (!isClientId(clientId)) return undefined;
      const registered = await (fresh ? find(clientId) : known(clientId, find));
      return registered ? holderOf(registered, apiId) : others?.findHolder(clientId, { apiId, fresh });
    },
    async isBrowserOrigin(origin) {
      if (!isOrigin(origin)) return false;
      return (
        selfDescribed?.isBrowserOrigin(origin) ||
        origins(origin, () => storage.clients.isBrowserOrigin(origin))
      );
    },
    isTaken: (id) =>
      isClientId(id) ? taken(id, async () => (await ask(id)) !== undefined) : Promise.resolve(false),
  };
}
