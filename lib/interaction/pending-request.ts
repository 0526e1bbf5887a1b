/** Pending authorization requests, sealed in cookies named by their ids: nothing is stored before approval. RFC 6265. */
import { createHmac } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import cookieParser from "cookie-parser";
import type { Request } from "express";
import {
  type AuthorizationRequest,
  authorizationParameterNames,
  type PushedRequest,
  sentParameters,
} from "../protocol/authorization-request";
import type { DeviceInteraction } from "../protocol/device";
import type { Issuer } from "../protocol/issuer";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { type Parameters, parametersFromObject } from "../protocol/parameters";
import { isRandomId } from "../protocol/token-value";
import type { ShownScopes } from "../protocol/requested-scopes";

/** What a person answered on a consent page. */
export type PageAnswer = "approve" | "deny";

/** An authorization request that waits for the person at the browser. All of it is in the cookie, and is checked again later. */
export interface PendingRequest {
  /** 128 random bits, base64url. Each tab has its own. */
  readonly interactionId: string;
  /** With `apiId`, the issuer that the request was sent to. */
  readonly authMethodId: string;
  readonly apiId: string;
  /**
   * The request's parameters. On the first visit, the redirect URI was added if it was left out, `acr_values` kept only those of the API, and
   * `scope` became the scopes below.
   */
  readonly parameters: Readonly<Record<string, string>>;
  /** The scopes that every page of this request shows. */
  readonly shownScopes: readonly string[];
  /** The scopes that these imply. Nothing beyond the two lists can be granted. */
  readonly impliedScopes?: readonly string[];
  /** What a client that nobody registered said of itself on the first visit. */
  readonly clientDigest?: string;
  /** The person whom the client expects, by its `id_token_hint`. */
  readonly hintedSubject?: string;
  /** Set where the client has pushed the request. */
  readonly pushed?: PushedRequest;
  /** Set where a device asks. */
  readonly device?: DeviceInteraction;
  /** When the person was first sent to a page: a sign-in after this moment is fresh. */
  readonly began: EpochSeconds;
  /** From then on the cookie is refused, whatever the browser does with it. */
  readonly expiresAt: EpochSeconds;
  /** The end user who was shown a consent page. */
  readonly consentSubject?: string;
  /** The key of the context in which they were asked. */
  readonly contextKey?: string | undefined;
  /** The end marks that were current when the consent page was shown. */
  readonly endMarks?: readonly string[] | undefined;
  /** Set once an answer was ignored: only a page that is answered can end it with a yes. */
  readonly mustAsk?: boolean;
  /** How often the person has asked for another account. */
  readonly switches?: number;
  /**
   * Set once it was answered. Only the same answer still counts then, the second click of an impatient person, unless it leads to a page
   * once more.
   */
  readonly answered?: PageAnswer;
}

/** Why there is no pending request: no id and no authmount cookie, no id, no cookie, one sealed with other secrets, or one that is over. */
export type LostInteraction = "no-request" | "no-id" | "no-cookie" | "foreign-seal" | "over";

/** Keeps pending requests in the browser's cookies. */
export interface PendingRequests {
  /** `Set-Cookie` values that keep the request, or `undefined` when it is too large for a cookie. */
  seal(pending: PendingRequest, req: Request): readonly string[] | undefined;
  /** The pending request with this id, if its seal is valid and it has not expired; otherwise why there is none. */
  open(req: Request, interactionId: string | undefined): PendingRequest | LostInteraction;
  /** `Set-Cookie` values that end it. After an answer, the same answer can be repeated for a moment. */
  end(pending: PendingRequest, by: { req: Request; answer: PageAnswer | undefined }): readonly string[];
}

/** What pending requests are kept with. */
export interface PendingRequestOptions {
  /** True when `baseUrl` is https: cookies are then `Secure` and named `__Host-…`. */
  readonly secure: boolean;
  /** The first one seals, all of them open. */
  readonly secrets: readonly [string, ...string[]];
  readonly clock: Clock;
}

/** For how long the answer of a page can be repeated. */
const repetitionSeconds = 30;
/** Below the size that every browser keeps, with room for the name and the attributes. */
const maxCookieBytes = 3_500;
/**
 * For all pending requests of one browser together, so that its headers do not grow beyond what servers accept. Requests that are under way
 * at the same time do not see each other's.
 */
const maxTotalBytes = 7_000;

/** The parameters that a pending request keeps as they are: those of an authorization request, without its lists, and no others. */
export function pendingParameters(parameters: Parameters): Readonly<Record<string, string>> {
  const names = authorizationParameterNames.filter((name) => name !== "scope" && name !== "acr_values");
  return sentParameters(parameters, names);
}

/** The scopes of a request in the form in which a pending request keeps them. */
export function keptScopes({
  requestedScopes,
  grantableScopes,
}: ShownScopes): Pick<PendingRequest, "shownScopes" | "impliedScopes"> {
  const impliedScopes = grantableScopes.filter((scope) => !requestedScopes.includes(scope));
  return { shownScopes: requestedScopes, ...(impliedScopes.length > 0 && { impliedScopes }) };
}

/** What becomes of a request that has to wait for the person. */
export function newPending(
  { clock, randomId }: { readonly clock: Clock; readonly randomId: () => string },
  { request, parameters }: { request: AuthorizationRequest; parameters: Parameters },
): PendingRequest {
  const { authMethodId, api } = request.issuer;
  const { selfDescription } = request.client;
  const { hintedSubject, acrValues, target, pushed } = request;
  const now = clock();
  return {
    interactionId: randomId(),
    authMethodId,
    apiId: api.apiId,
    parameters: {
      ...pendingParameters(parameters),
      // the answer goes where the pages say, whatever the client has registered by then
      ...(!target.device && { redirect_uri: target.uri }),
      // the others count nowhere, and may be too long for a cookie
      ...(acrValues.length > 0 && { acr_values: acrValues.join(" ") }),
    },
    ...keptScopes(request),
    ...(selfDescription && { clientDigest: selfDescription.digest }),
    ...(hintedSubject !== undefined && { hintedSubject }),
    ...(pushed && { pushed }),
    ...(target.device && { device: { userCode: target.device.userCode } }),
    began: now,
    expiresAt: now + api.lifetimes.interactionSeconds,
  };
}

/** The scopes that the pages of a pending request show; the inverse of `keptScopes`. */
export function shownScopesOf({ shownScopes, impliedScopes = [] }: PendingRequest): ShownScopes {
  return { requestedScopes: shownScopes, grantableScopes: [...shownScopes, ...impliedScopes] };
}

/** The parameters of a pending request, to be checked like those of a new one. */
export function parametersOf({ parameters }: PendingRequest): Parameters {
  return parametersFromObject(parameters);
}

/** A key for this purpose only, so that nothing else that was signed with the secret can pass as a pending request. */
function sealingKey(secret: string): string {
  return createHmac("sha256", secret).update("authmount pending request").digest("base64url");
}

/** A signed value in the form that `cookie-parser` checks: without the one `=` at the end of the digest. */
function sign(value: string, key: string): string {
  return `s:${value}.${createHmac("sha256", key).update(value).digest("base64").replace("=", "")}`;
}

/** Compresses what the client sent, but not what is known of the person: the length must not reveal that to the client (CRIME). */
function encodePending({ parameters, shownScopes, impliedScopes, ...others }: PendingRequest): string {
  const sent = deflateRawSync(JSON.stringify({ parameters, shownScopes, impliedScopes }));
  return [Buffer.from(JSON.stringify(others)), sent].map((part) => part.toString("base64url")).join(".");
}

function decodePending(value: string): PendingRequest | undefined {
  try {
    const [others = "", sent = ""] = value.split(".").map((part) => Buffer.from(part, "base64url"));
    const rest = JSON.parse(others.toString()) as object;
    return { ...rest, ...(JSON.parse(inflateRawSync(sent).toString()) as object) } as PendingRequest;
  } catch {
    return undefined;
  }
}

/** False when it has expired, or began in the future: then a clock was set back, which must not make a request last longer. */
function isOpen({ began, expiresAt }: PendingRequest, now: EpochSeconds): boolean {
  return now < expiresAt && began <= now + clockDriftSeconds;
}

interface Cookies {
  readonly prefix: string;
  readonly attributes: string;
  /** The content of the cookie with this name, if its seal is valid. */
  open(req: Request, name: string): string | undefined;
  /** True when the request has a cookie whose name passes. */
  has(req: Request, isWanted: (name: string) => boolean): boolean;
  /** The cookies of all pending requests, the oldest first, with unchecked seals. */
  list(req: Request): readonly Cookie[];
}

interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** The cookies of a request. Read from the header, not from `req.cookies`: the host's cookie-parser has other secrets. */
function cookiesOf({ headers }: Request): readonly Cookie[] {
  return (headers.cookie ?? "").split(";").map((pair) => {
    const at = pair.indexOf("=");
    return { name: pair.slice(0, Math.max(at, 0)).trim(), value: pair.slice(at + 1).trim() };
  });
}

function sealedCookies(secure: boolean, keys: readonly string[]): Cookies {
  // browsers accept a __Host- cookie only from exactly this host and over https, so no sibling domain can plant one
  const prefix = secure ? "__Host-authmount." : "authmount.";
  return {
    prefix,
    attributes: `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`,
    open(req, name) {
      // only the first cookie with the name is checked: each check costs a signature, and a header may hold many cookies
      const value = cookiesOf(req).find((cookie) => cookie.name === name)?.value;
      // cookie-parser returns a value without a signature unchanged, as if it were valid
      if (value?.startsWith("s:") !== true) return undefined;
      return cookieParser.signedCookie(value, [...keys]) || undefined;
    },
    has: (req, isWanted) => cookiesOf(req).some(({ name }) => isWanted(name)),
    // browsers send the oldest cookies first. RFC 6265 §5.4
    list: (req) =>
      cookiesOf(req).filter(({ name }) => name.startsWith(prefix) && isRandomId(name.slice(prefix.length))),
  };
}

/** The names of the oldest cookies that must go to make room for a new one of this size. */
function crowdedOut(oldestFirst: readonly Cookie[], bytes: number): readonly string[] {
  let total = oldestFirst.reduce((sum, { name, value }) => sum + name.length + value.length, bytes);
  return oldestFirst.flatMap(({ name, value }) => {
    if (total <= maxTotalBytes) return [];
    total -= name.length + value.length;
    return [name];
  });
}

/** Pending requests in signed, HttpOnly cookies. Any process that has the same secrets can continue any request. */
export function pendingRequests({ secure, secrets, clock }: PendingRequestOptions): PendingRequests {
  const keys = secrets.map(sealingKey);
  const cookies = sealedCookies(secure, keys);
  const { prefix, attributes } = cookies;
  const clear = (name: string): string => `${name}=; ${attributes}; Max-Age=0`;
  const seal: PendingRequests["seal"] = (pending, req) => {
    const { interactionId, expiresAt } = pending;
    const name = prefix + interactionId;
    const value = sign(encodePending(pending), keys[0] ?? "");
    if (value.length > maxCookieBytes) return undefined;
    const others = cookies.list(req).filter((other) => other.name !== name);
    const cookie = `${name}=${value}; ${attributes}; Max-Age=${expiresAt - clock()}`;
    return [...crowdedOut(others, value.length).map(clear), cookie];
  };
  return {
    seal,
    open(req, interactionId) {
      const hasCookie = (): boolean => cookies.has(req, (other) => other.startsWith(prefix));
      if (interactionId === undefined) return hasCookie() ? "no-id" : "no-request";
      const name = prefix + interactionId;
      const pending = decodePending(cookies.open(req, name) ?? "");
      // the id inside must match the name, so that a cookie cannot be passed off under another name
      if (pending?.interactionId === interactionId && isOpen(pending, clock())) return pending;
      if (!pending && cookies.has(req, (other) => other === name)) return "foreign-seal";
      // a browser that has cookies of other interactions does keep cookies
      return pending || hasCookie() ? "over" : "no-cookie";
    },
    end(pending, { req, answer }) {
      const expiresAt = Math.min(pending.expiresAt, clock() + repetitionSeconds);
      const repeatable = answer && seal({ ...pending, answered: answer, expiresAt }, req);
      return repeatable ?? [clear(prefix + pending.interactionId)];
    },
  };
}

/** A pending request with the issuer it is pending at. */
export interface Found {
  readonly pending: PendingRequest;
  readonly issuer: Issuer;
}

/** What finding uses. */
export interface FindPendingOptions {
  readonly pendingRequests: Pick<PendingRequests, "open">;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
}

/** Which request is looked for, and what its page has answered. */
export interface Wanted {
  readonly req: Request;
  readonly interactionId: string | undefined;
  readonly answer?: PageAnswer | undefined;
}

/** The pending request, or what has become of it. One that was answered is found by the same answer only. */
export function findPending(
  options: FindPendingOptions,
  { req, interactionId, answer }: Wanted,
): Found | LostInteraction {
  const pending = options.pendingRequests.open(req, interactionId);
  if (typeof pending === "string") return pending;
  // after an answer only the same answer is accepted again, for an impatient second click: never the other one
  if (pending.answered !== undefined && pending.answered !== answer) return "over";
  const issuer = options.findIssuer(pending.authMethodId, pending.apiId);
  return issuer ? { pending, issuer } : "over";
}
