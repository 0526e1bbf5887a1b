/** The pending authorization request: sealed in a cookie named by its id, so nothing is stored before approval. RFC 6265. */
import { createHmac } from "node:crypto";
import cookieParser from "cookie-parser";
import type { Request } from "express";
import { authorizationParameterNames } from "../protocol/authorization-request";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { type Parameters, parametersFromObject } from "../protocol/parameters";
import type { ShownScopes } from "../protocol/requested-scopes";

/** What a person said on a consent page. */
export type PageAnswer = "approve" | "deny";

export interface PendingRequest {
  readonly interactionId: string;
  readonly authMethodId: string;
  readonly apiId: string;
  /** Without `scope`: what it asks for was found out on the first visit. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The scopes that every page of this request shows. */
  readonly shownScopes: readonly string[];
  /** What they imply. Beyond the two nothing can be granted. */
  readonly impliedScopes?: readonly string[];
  /** When the person was first sent to a page. */
  readonly began: EpochSeconds;
  readonly expiresAt: EpochSeconds;
  /** Who was shown a consent page. */
  readonly consentSubject?: string;
  /** The end mark that stood when the consent page was shown. */
  readonly endMark?: string | undefined;
  /** What was answered already: only the same answer counts now, the second click of an impatient person. */
  readonly answered?: PageAnswer;
}

/** Why there is no pending request: no id, no cookie of ours at all, one that other secrets have sealed, or it is over. */
export type LostInteraction = "no-id" | "no-cookie" | "foreign-seal" | "over";

/** Keeps and finds the pending requests of a browser. */
export interface PendingRequests {
  /** `Set-Cookie` values that keep the request, or `undefined` when it is too big for a cookie. */
  seal(pending: PendingRequest, req: Request): readonly string[] | undefined;
  /** The pending request with this id, if its seal is whole and its time has not passed; otherwise what has become of it. */
  open(req: Request, interactionId: string | undefined): PendingRequest | LostInteraction;
  /** `Set-Cookie` values that end it; after an answer, it can be repeated for a moment. */
  end(pending: PendingRequest, by: { req: Request; answer: PageAnswer | undefined }): readonly string[];
}

export interface PendingRequestOptions {
  readonly secure: boolean;
  /** The first one seals, all of them open. */
  readonly secrets: readonly [string, ...string[]];
  readonly clock: Clock;
}

/** How long the answer of a page can be repeated. */
const repetitionSeconds = 30;
const maxCookieBytes = 3_500;
/** All pending requests of one browser together, so that its headers never outgrow what servers accept. */
const maxTotalBytes = 7_000;

/** The values that a pending request keeps: those of the authorization request, without `scope`, and no others. */
export function pendingParameters(parameters: Parameters): Readonly<Record<string, string>> {
  const names = authorizationParameterNames.filter((name) => name !== "scope");
  const entries = names.map((name) => [name, parameters.get(name)] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is typeof entry & [string, string] => entry[1] !== undefined),
  );
}

/** The scopes of a request, to be kept as they are shown. */
export function keptScopes({
  requestedScopes,
  grantableScopes,
}: ShownScopes): Pick<PendingRequest, "shownScopes" | "impliedScopes"> {
  const impliedScopes = grantableScopes.filter((scope) => !requestedScopes.includes(scope));
  return { shownScopes: requestedScopes, ...(impliedScopes.length > 0 && { impliedScopes }) };
}

export function shownScopesOf({ shownScopes, impliedScopes = [] }: PendingRequest): ShownScopes {
  return { requestedScopes: shownScopes, grantableScopes: [...shownScopes, ...impliedScopes] };
}

export function parametersOf({ parameters }: PendingRequest): Parameters {
  return parametersFromObject(parameters);
}

/** A key for this purpose alone: nothing else that is signed with the secret passes as a pending request. */
function sealingKey(secret: string): string {
  return createHmac("sha256", secret).update("authmount pending request").digest("base64url");
}

/** The signature that `cookie-parser` checks. */
function sign(value: string, key: string): string {
  return `s:${value}.${createHmac("sha256", key).update(value).digest("base64").replace(/=+$/, "")}`;
}

function decodePending(value: string): PendingRequest | undefined {
  try {
    return JSON.parse(Buffer.from(value, "base64url").toString()) as PendingRequest;
  } catch {
    return undefined;
  }
}

/** False once its time is over. One that began in the future is of a clock that was set back: it must not last longer. */
function isOpen({ began, expiresAt }: PendingRequest, now: EpochSeconds): boolean {
  return now < expiresAt && began <= now + clockDriftSeconds;
}

function isInteractionId(text: string): boolean {
  return /^[A-Za-z0-9_-]{22}$/.test(text);
}

interface Cookies {
  readonly prefix: string;
  readonly attributes: string;
  /** What the cookie of this name holds, if its seal is whole. */
  open(req: Request, name: string): string | undefined;
  /** True when a cookie has a name of this kind. */
  has(req: Request, isWanted: (name: string) => boolean): boolean;
  /** The cookies that pending requests are kept in, the oldest first, unopened. */
  list(req: Request): readonly Cookie[];
}

interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** The cookies of a request. A host's own cookie-parser knows other secrets, so the header is read anew, past `req.cookies`. */
function cookiesOf({ headers }: Request): readonly Cookie[] {
  return (headers.cookie ?? "").split(";").map((pair) => {
    const at = pair.indexOf("=");
    return { name: pair.slice(0, Math.max(at, 0)).trim(), value: pair.slice(at + 1).trim() };
  });
}

function sealedCookies(secure: boolean, keys: readonly string[]): Cookies {
  // browsers take a __Host- cookie only from this very host over https, so no sibling domain can plant one
  const prefix = secure ? "__Host-authmount." : "authmount.";
  return {
    prefix,
    attributes: `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`,
    open(req, name) {
      // of several with one name the first counts, and no other seal is looked at: each costs a signature
      const value = cookiesOf(req).find((cookie) => cookie.name === name)?.value;
      // cookie-parser gives back a value without a seal as it is
      if (value?.startsWith("s:") !== true) return undefined;
      return cookieParser.signedCookie(value, [...keys]) || undefined;
    },
    has: (req, isWanted) => cookiesOf(req).some(({ name }) => isWanted(name)),
    // browsers send what they have had longest first. RFC 6265 §5.4
    list: (req) =>
      cookiesOf(req).filter(
        ({ name }) => name.startsWith(prefix) && isInteractionId(name.slice(prefix.length)),
      ),
  };
}

/** The names of the oldest cookies that leave no room for a new one of so many bytes. */
function crowdedOut(oldestFirst: readonly Cookie[], bytes: number): readonly string[] {
  let total = oldestFirst.reduce((sum, { name, value }) => sum + name.length + value.length, bytes);
  return oldestFirst.flatMap(({ name, value }) => {
    if (total <= maxTotalBytes) return [];
    total -= name.length + value.length;
    return [name];
  });
}

export function pendingRequests({ secure, secrets, clock }: PendingRequestOptions): PendingRequests {
  const keys = secrets.map(sealingKey);
  const cookies = sealedCookies(secure, keys);
  const { prefix, attributes } = cookies;
  const clear = (name: string): string => `${name}=; ${attributes}; Max-Age=0`;
  const seal: PendingRequests["seal"] = (pending, req) => {
    const { interactionId, expiresAt } = pending;
    const name = prefix + interactionId;
    const value = sign(Buffer.from(JSON.stringify(pending)).toString("base64url"), keys[0] ?? "");
    if (value.length > maxCookieBytes) return undefined;
    const others = cookies.list(req).filter((other) => other.name !== name);
    const cookie = `${name}=${value}; ${attributes}; Max-Age=${expiresAt - clock()}`;
    return [...crowdedOut(others, value.length).map(clear), cookie];
  };
  return {
    seal,
    open(req, interactionId) {
      if (interactionId === undefined) return "no-id";
      const name = prefix + interactionId;
      const pending = decodePending(cookies.open(req, name) ?? "");
      if (pending?.interactionId === interactionId && isOpen(pending, clock())) return pending;
      if (!pending && cookies.has(req, (other) => other === name)) return "foreign-seal";
      // with cookies of other interactions here, the browser does keep them
      return pending || cookies.has(req, (other) => other.startsWith(prefix)) ? "over" : "no-cookie";
    },
    end(pending, { req, answer }) {
      const expiresAt = Math.min(pending.expiresAt, clock() + repetitionSeconds);
      const repeatable = answer && seal({ ...pending, answered: answer, expiresAt }, req);
      return repeatable ?? [clear(prefix + pending.interactionId)];
    },
  };
}
