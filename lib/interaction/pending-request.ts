/** The pending authorization request: sealed in a cookie named by its id, so nothing is stored before approval. RFC 6265. */
import { createHmac } from "node:crypto";
import cookieParser from "cookie-parser";
import type { Request, Response } from "express";
import { authorizationParameterNames } from "../protocol/authorization-request";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import { type Parameters, parametersFromObject } from "../protocol/parameters";

/** What a person said on a consent page. */
export type PageAnswer = "approve" | "deny";

export interface PendingRequest {
  readonly interactionId: string;
  readonly authMethodId: string;
  readonly apiId: string;
  /** Without `scope`: what it asks for was found out on the first visit. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The scopes that every page of this request shows, and the only ones that can be granted. */
  readonly shownScopes: readonly string[];
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

export interface PendingRequests {
  /** `Set-Cookie` values that keep the request, or `undefined` when it is too big for a cookie. */
  seal(pending: PendingRequest, req: Request): readonly string[] | undefined;
  /** The pending request with this id, if its seal is whole and its time has not passed. */
  open(req: Request, interactionId: string | undefined): PendingRequest | undefined;
  /** `Set-Cookie` values that end it; after an answer, it can be repeated for a moment. */
  end(pending: PendingRequest, by: { req: Request; answer: PageAnswer | undefined }): readonly string[];
}

export interface PendingRequestOptions {
  readonly secure: boolean;
  /** The first one seals, all of them open. */
  readonly secrets: readonly [string, ...string[]];
  readonly now: () => EpochSeconds;
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

interface Cookies {
  readonly prefix: string;
  readonly attributes: string;
  /** All cookies of the request whose seal is whole. */
  read(req: Request): Readonly<Record<string, unknown>>;
}

function sealedCookies(secure: boolean, keys: readonly string[]): Cookies {
  const parse = cookieParser([...keys]);
  return {
    // browsers take a __Host- cookie only from this very host over https, so no sibling domain can plant one
    prefix: secure ? "__Host-authmount." : "authmount.",
    attributes: `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`,
    read(req) {
      // a host's own cookie-parser knows other secrets, so the header is read anew, past `req.cookies`
      const carrier = { headers: { cookie: req.headers.cookie } } as Request;
      parse(carrier, {} as Response, () => undefined);
      return carrier.signedCookies as Record<string, unknown>;
    },
  };
}

interface Kept {
  readonly pending: PendingRequest;
  readonly bytes: number;
}

/** The pending requests of a browser that are still open. */
function keptRequests(cookies: Cookies, { req, now }: { req: Request; now: EpochSeconds }): readonly Kept[] {
  const { prefix } = cookies;
  return Object.entries(cookies.read(req)).flatMap(([name, value]) => {
    if (!name.startsWith(prefix) || typeof value !== "string") return [];
    const pending = decodePending(value);
    if (!pending || name !== prefix + pending.interactionId || pending.expiresAt <= now) return [];
    return [{ pending, bytes: name.length + value.length }];
  });
}

/** The oldest requests that leave no room for a new one of so many bytes. */
function crowdedOut(others: readonly Kept[], bytes: number): readonly PendingRequest[] {
  let total = others.reduce((sum, other) => sum + other.bytes, bytes);
  const oldestFirst = others.toSorted((a, b) => a.pending.began - b.pending.began);
  return oldestFirst.flatMap((other) => {
    if (total <= maxTotalBytes) return [];
    total -= other.bytes;
    return [other.pending];
  });
}

export function pendingRequests({ secure, secrets, now }: PendingRequestOptions): PendingRequests {
  const keys = secrets.map(sealingKey);
  const cookies = sealedCookies(secure, keys);
  const { prefix, attributes } = cookies;
  const clear = ({ interactionId }: PendingRequest): string =>
    `${prefix}${interactionId}=; ${attributes}; Max-Age=0`;
  const seal: PendingRequests["seal"] = (pending, req) => {
    const { interactionId, expiresAt } = pending;
    const value = sign(Buffer.from(JSON.stringify(pending)).toString("base64url"), keys[0] ?? "");
    if (value.length > maxCookieBytes) return undefined;
    const others = keptRequests(cookies, { req, now: now() }).filter(
      (kept) => kept.pending.interactionId !== interactionId,
    );
    const cookie = `${prefix}${interactionId}=${value}; ${attributes}; Max-Age=${expiresAt - now()}`;
    return [...crowdedOut(others, value.length).map(clear), cookie];
  };
  return {
    seal,
    open(req, interactionId) {
      const kept = keptRequests(cookies, { req, now: now() });
      return kept.find(({ pending }) => pending.interactionId === interactionId)?.pending;
    },
    end(pending, { req, answer }) {
      const expiresAt = Math.min(pending.expiresAt, now() + repetitionSeconds);
      return (answer && seal({ ...pending, answered: answer, expiresAt }, req)) ?? [clear(pending)];
    },
  };
}
