/** What the apps of a person may do, as far as one page shows it. RFC 6749 §1.3. */
import type {
  ActiveAuthorization,
  ActiveAuthorizations,
  RememberedConsents,
} from "../end-user/list-authorizations";
import { inTime } from "../host/ask";
import { resolveImplications } from "../options/resolve";
import { type Client, isTrusted } from "../protocol/client";
import type { Consent, ConsentSelection } from "../protocol/consent";
import { parseUrl } from "../protocol/parsed-url";
import { intersect } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import type { AccountTexts } from "./account-texts";
import type { Visit } from "./portal";
import type { PortalOptions } from "./portal-options";

/** A visit of a person to their apps. */
export type AccountVisit = Visit<keyof AccountTexts>;

type List<Page> = (subject: string, page: { readonly after?: string | undefined }) => Promise<Page>;

/** Where the apps are read. */
export interface AppSources {
  readonly auth: {
    readonly authorizations: { readonly list: List<ActiveAuthorizations> };
    readonly consents: { readonly list: List<RememberedConsents> };
  };
  readonly options: Pick<PortalOptions<never, never>["options"], "storage">;
  readonly contextName?:
    ((contextKey: string) => string | undefined | Promise<string | undefined>) | undefined;
}

/** What an app may do at one API in one context. */
export interface Access extends Required<Omit<ConsentSelection, "subject">> {
  /** What people know the context by; empty where there is none. */
  readonly contextName: string;
  /** In the order of the API. */
  readonly scopes: readonly string[];
  /** Those that are not implied by others of them, each with what it implies. */
  readonly boxes: readonly { readonly scope: string; readonly implied: readonly string[] }[];
  /** True where nobody was asked, or the app is not known any more. */
  readonly isFixed: boolean;
  readonly since: EpochSeconds;
  readonly until: EpochSeconds;
  /** What a form that changes it must have seen. */
  readonly seen: string;
}

/** An app of a person. */
export interface App {
  readonly clientId: string;
  readonly kind: "registered" | "trusted" | "unverified" | "gone";
  /** What it says of itself, or the host name of its document, or its id where nothing else is known. */
  readonly name: string;
  readonly isNamedByItself: boolean;
  readonly accesses: readonly Access[];
  readonly signIns: readonly ActiveAuthorization[];
  /** What a form that only ends must have seen. It stays when the app signs in again and again, so that nobody is kept from ending it. */
  readonly seen: string;
}

/** The apps that a page shows. */
export interface Apps {
  readonly apps: readonly App[];
  /** False when there are more. */
  readonly areAll: boolean;
}

type Listed = Consent | ActiveAuthorization;
type Pages = { readonly found: readonly Listed[]; readonly next?: string | undefined };

const mostPages = 5;
const mostApps = 50;

async function firstPages(read: (after: string | undefined) => Promise<Pages>): Promise<Pages> {
  let pages = await read(undefined);
  for (let count = 1; count < mostPages && pages.next !== undefined; count += 1) {
    const { found, next } = await read(pages.next);
    pages = { found: [...pages.found, ...found], next };
  }
  return pages;
}

function sinceOf(one: Listed): EpochSeconds {
  return "grantedAt" in one ? one.grantedAt : one.createdAt;
}

/** In the order of the list. */
function groupsOf(listed: readonly Listed[], keyOf: (one: Listed) => string): readonly Listed[][] {
  const groups = new Map<string, Listed[]>();
  for (const one of listed) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}

function accessOf(
  listed: readonly Listed[],
  { visit, isFixed, contextName }: { visit: AccountVisit; isFixed: boolean; contextName: string },
): Access {
  const [{ clientId, apiId, contextKey = "" }] = listed as [Listed];
  const api = visit.apis.get(apiId) ?? { scopes: {} };
  const held = listed.flatMap((one) => one.scopes);
  const scopes = intersect([...new Set([...Object.keys(api.scopes), ...held])], held);
  const implications = resolveImplications(api);
  const impliedBy = (scope: string): readonly string[] => intersect(implications.get(scope) ?? [], scopes);
  const implied = scopes.flatMap(impliedBy);
  const boxed = scopes.filter((scope) => !implied.includes(scope));
  const boxes = boxed.map((scope) => ({ scope, implied: impliedBy(scope) }));
  const ends = listed.flatMap((one) => ("grantedAt" in one ? one.expiresAt : []));
  return {
    clientId,
    apiId,
    contextKey,
    contextName,
    scopes,
    boxes,
    isFixed,
    since: Math.min(...listed.map(sinceOf)),
    until: Math.max(...listed.map(({ expiresAt }) => expiresAt)),
    // a box is ticked by its place, which another version of the host may have changed
    seen: visit.seen([clientId, apiId, contextKey, scopes, boxes, ends]),
  };
}

async function findClient(
  { clients, clientRegistrations }: AppSources["options"]["storage"],
  { clientId, now }: { readonly clientId: string; readonly now: EpochSeconds },
): Promise<Client | undefined> {
  const found = await inTime("storage.clients.find", async () => {
    return (await clients.find(clientId)) ?? (await clientRegistrations.find(clientId, now));
  });
  // a table that ignores case must not turn one client into another
  return (found as Client | undefined)?.clientId === clientId ? (found as Client) : undefined;
}

function kindOf(
  client: Client | undefined,
  { host, trustedAt }: { host: string | undefined; trustedAt: readonly string[] },
): App["kind"] {
  if (client?.selfDescription) return "unverified";
  if (client) return trustedAt.length > 0 ? "trusted" : "registered";
  return host === undefined ? "gone" : "unverified";
}

async function appOf(
  listed: readonly Listed[],
  { options, contextName, visit }: Omit<AppSources, "auth"> & { readonly visit: AccountVisit },
): Promise<App> {
  const [{ clientId }] = listed as [Listed];
  const client = await findClient(options.storage, { clientId, now: visit.now });
  // the id of a client that nobody registered is the URL of its document
  const host = /^https?:/.test(clientId) ? parseUrl(clientId)?.host : undefined;
  const trustedAt = listed.flatMap(({ apiId }) => (client && isTrusted(client, apiId) ? apiId : []));
  const kind = kindOf(client, { host, trustedAt });
  const accesses: Access[] = [];
  for (const group of groupsOf(listed, ({ apiId, contextKey = "" }) => JSON.stringify([apiId, contextKey]))) {
    const [{ apiId, contextKey = "" }] = group as [Listed];
    const name = contextKey === "" ? "" : await inTime("contextName", () => contextName?.(contextKey));
    const isFixed = kind === "gone" || trustedAt.includes(apiId);
    accesses.push(
      accessOf(group, { visit, isFixed, contextName: typeof name === "string" ? name : contextKey }),
    );
  }
  return {
    clientId,
    kind,
    name: client?.name ?? host ?? clientId,
    isNamedByItself: client?.selfDescription !== undefined,
    accesses,
    signIns: listed.filter((one) => "createdAt" in one),
    seen: visit.seen([clientId]),
  };
}

/** The apps of the person, the one that came last first. Rejects with whatever storage rejects with. */
export async function readApps({ auth, ...shown }: AppSources, visit: AccountVisit): Promise<Apps> {
  const { subject } = visit;
  const [allowed, signedIn] = await Promise.all([
    firstPages(async (after) => {
      const { consents: found, next } = await auth.consents.list(subject, { after });
      return { found, next };
    }),
    firstPages(async (after) => {
      const { authorizations: found, next } = await auth.authorizations.list(subject, { after });
      return { found, next };
    }),
  ]);
  const listed = [...allowed.found, ...signedIn.found].toSorted((a, b) => sinceOf(b) - sinceOf(a));
  const groups = groupsOf(listed, ({ clientId }) => clientId);
  const apps: App[] = [];
  // one after the other: a page must not ask the table for fifty clients at once
  for (const group of groups.slice(0, mostApps)) apps.push(await appOf(group, { ...shown, visit }));
  const isAnyLeft = [allowed, signedIn].some(({ next }) => next !== undefined);
  return { apps, areAll: !isAnyLeft && groups.length <= mostApps };
}
