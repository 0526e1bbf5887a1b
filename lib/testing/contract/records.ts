/** Records for the storage contract. Each is new and unlike any other, so the store need not be empty. RFC 6749 §1.3, §4.1, §6. */
import { createHash, randomBytes } from "node:crypto";
import type {
  Authorization,
  AuthorizationCode,
  RefreshToken,
  RefreshTokenUse,
} from "../../protocol/authorization";
import type { Client } from "../../protocol/client";
import type { Consent, ConsentKey } from "../../protocol/consent";
import type { EndMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistration, ParkedRequest, UsedAssertion } from "../../storage/client-ports";
import type { StoredAccessToken } from "../../storage/port";

/** A new id: 128 random bits as base64url. */
export function newId(): string {
  return randomBytes(16).toString("base64url");
}

/** A new digest, as if of a token: 43 characters. */
export function newDigest(): string {
  return createHash("sha256").update(randomBytes(32)).digest("base64url");
}

/** A digest that begins with letters of both cases, and digests that a careless query mistakes for it. */
export function newDigestWithLookalikes(): {
  readonly digest: string;
  readonly lookalikes: readonly string[];
} {
  const rest = newDigest().slice(2);
  return { digest: `Aa${rest}`, lookalikes: [newDigest(), `aA${rest}`, `Aa${rest.slice(0, -1)}`] };
}

/** Text that a careless key, column or query would change: umlaut, surrogates, quotes, wildcards, braces, spaces. */
export const awkwardText = `ä€😀 "'\\;--{}%_\u00a0\n`;

/** Text that JSON can say and many a column cannot: NUL, and half of a surrogate pair, first and last. */
export const brokenText = "\udc00a\u0000b\ud800";

/** A new authorization with these changes. Its ids are used nowhere else. */
export function newAuthorization(now: EpochSeconds, changes: Partial<Authorization> = {}): Authorization {
  return {
    authorizationId: newId(),
    issuer: "https://host.example/login/auth/password/api/orders",
    authMethodId: "password",
    apiId: "orders",
    clientId: newId(),
    subject: newId(),
    grantedScopes: ["orders:write", "orders:read"],
    createdAt: now,
    expiresAt: now + 600,
    endMarks: [],
    revoked: false,
    ...changes,
  };
}

/** What a new authorization needs so that it has this key. */
export function ofKey({ subject, clientId, apiId, contextKey = "" }: ConsentKey): Partial<Authorization> {
  return { subject, clientId, apiId, ...(contextKey !== "" && { context: { key: contextKey } }) };
}

/** A new authorization code with these changes. */
export function newCode(now: EpochSeconds, changes: Partial<AuthorizationCode> = {}): AuthorizationCode {
  return {
    authorizationId: newId(),
    digest: newDigest(),
    redirectUri: "https://client.example/callback?a=%20b",
    redeemBefore: now + 60,
    expiresAt: now + 600,
    consumed: false,
    ...changes,
  };
}

/** A new refresh token with these changes. */
export function newRefreshToken(now: EpochSeconds, changes: Partial<RefreshToken> = {}): RefreshToken {
  return { authorizationId: newId(), digest: newDigest(), expiresAt: now + 600, used: false, ...changes };
}

/** A new way in which a refresh token was used. */
export function newUse(now: EpochSeconds): RefreshTokenUse {
  return { usedAt: now, salt: newId(), secretId: newId() };
}

/** A new opaque access token with these changes. It is a client's own unless the changes name a subject. */
export function newAccessToken(
  now: EpochSeconds,
  changes: Partial<StoredAccessToken> = {},
): StoredAccessToken {
  return {
    digest: newDigest(),
    tokenId: newId(),
    issuer: "https://host.example/login/auth/password/api/orders",
    clientId: newId(),
    scopes: ["orders:write", "orders:read"],
    issuedAt: now,
    expiresAt: now + 600,
    ...changes,
  };
}

/** A new consent with these changes. */
export function newConsent(now: EpochSeconds, changes: Partial<Consent> = {}): Consent {
  return {
    subject: newId(),
    clientId: newId(),
    apiId: "orders",
    scopes: ["orders:write", "orders:read"],
    grantedAt: now,
    expiresAt: now + 600,
    endMarks: [],
    ...changes,
  };
}

/** A new key of an end mark: 22 characters of an owner, a dot, and a digest. */
export function newEndKey(owner: string = newId()): string {
  return `${owner}.${newDigest()}`;
}

/** A new end mark with these changes. */
export function newEndMark(now: EpochSeconds, changes: Partial<EndMark> = {}): EndMark {
  return { key: newEndKey(), mark: newId(), expiresAt: now + 600, ...changes };
}

/** A new used assertion with these changes. */
export function newAssertion(now: EpochSeconds, changes: Partial<UsedAssertion> = {}): UsedAssertion {
  return { digest: newDigest(), clientId: newId(), expiresAt: now + 300, ...changes };
}

/** A new request of a device, which is open, with these changes. */
export function newDeviceRequest(
  now: EpochSeconds,
  { device: changed, ...changes }: Partial<Omit<ParkedRequest, "device">> & { device?: object } = {},
): ParkedRequest {
  const { issuer, authMethodId, apiId, grantedScopes: scopes } = newAuthorization(now);
  const code = { authorizationId: newId(), digest: newDigest() };
  const device = { issuer, authMethodId, apiId, code, scopes, impliedScopes: [], ...changed };
  return { key: newDigest(), owner: newId(), state: "open", device, expiresAt: now + 300, ...changes };
}

/** A new answer to a pushed request with these changes. */
export function newParkedRequest(now: EpochSeconds, changes: Partial<ParkedRequest> = {}): ParkedRequest {
  const [key, owner, by] = [newDigest(), newId(), newId()];
  return { key, owner, state: "approved", by, expiresAt: now + 300, ...changes };
}

/** A new registration of a public client with these changes. */
export function newRegistration(
  now: EpochSeconds,
  { expiresAt = now + 600, clientId = newId() }: { expiresAt?: EpochSeconds; clientId?: string } = {},
): ClientRegistration {
  const client: Client = {
    clientId,
    name: `Editor ${clientId}`,
    confidential: false,
    platform: "native",
    redirectUris: ["http://127.0.0.1/callback"],
    subscriptions: {
      orders: { scopes: ["orders:read"], grantTypes: ["authorization_code", "refresh_token"] },
    },
  };
  return { client, expiresAt };
}

/** A new subject that has another form in Unicode, for `otherTexts`. */
export function newSubject(): string {
  return `\u00e9${newId()}`;
}

/**
 * Texts that a careless comparison takes for this one: some databases ignore trailing spaces, others case, invisible characters or the
 * two forms that a letter with an accent has.
 */
export function otherTexts(text: string): readonly string[] {
  const others = [`${text} `, ` ${text}`, `${text}x`, text.toUpperCase(), `${text}\u00ad`, `${text}\u200b`];
  return [...others, text.normalize("NFD")].filter((other) => other !== text);
}

/** Client or API ids that differ from this one only in case. Some databases take them for the same. */
export function otherIds(id: string): readonly string[] {
  return [id.toUpperCase(), id.toLowerCase()].filter((other) => other !== id);
}

/** Text of more than 4,000 characters, which is cut or refused where a column is too short. */
export const longText: string = `${"long ".repeat(1_000)}${awkwardText}`;

/** Client ids that a careless query takes for this one: wildcards, other case, inherited property names, SQL. */
export function lookalikeIds(clientId: string): readonly string[] {
  return [
    ...otherIds(clientId),
    clientId.slice(0, -1),
    `${clientId}x`,
    `${clientId.slice(0, 4)}%`,
    `_${clientId.slice(1)}`,
    "*",
    "%",
    "__proto__",
    "constructor",
    `' OR '1'='1`,
    newId(),
  ];
}

/** Keys as long as the server allows, of which each differs from the first in the last character of one part. */
export function longKeys(): readonly [ConsentKey, ...ConsentKey[]] {
  const [subject, clientId, contextKey] = [254, 254, 127].map((length) => newId().padEnd(length, "x"));
  const key = {
    subject: `${subject}1`,
    clientId: `${clientId}1`,
    apiId: "orders",
    contextKey: `${contextKey}1`,
  };
  return [
    key,
    { ...key, subject: `${subject}2` },
    { ...key, clientId: `${clientId}2` },
    { ...key, contextKey: `${contextKey}2` },
  ];
}

/** For each separator that an adapter may use: pairs of keys that become the same text when their parts are joined by it. */
export function keysJoinedAlike(): readonly (readonly [ConsentKey, ConsentKey])[] {
  const [a, b, c, apiId] = [newId(), newId(), newId(), "orders"];
  const own = { subject: a, clientId: b };
  return ["", ":", "|", "/", ",", ";", ".", "-", "_", "#", '","'].flatMap((joint) => [
    [
      { subject: `${a}${joint}${b}`, clientId: c, apiId },
      { subject: a, clientId: `${b}${joint}${c}`, apiId },
    ],
    [
      { ...own, apiId: `${apiId}${joint}${c}`, contextKey: a },
      { ...own, apiId, contextKey: `${c}${joint}${a}` },
    ],
    [
      { ...own, apiId: `${apiId}${joint}${a}` },
      { ...own, apiId, contextKey: a },
    ],
  ]);
}

/** A confidential client with every property, and a browser client with two origins. */
export function newClients(): readonly [Client, Client] {
  const id = newId();
  const host = `${randomBytes(8).toString("hex")}.example`;
  return [
    {
      clientId: `Web-${id}`,
      name: `Web Shop ${awkwardText}`,
      confidential: true,
      secretDigests: [`sha256:${newDigest()}`],
      redirectUris: [`https://web-${host}/callback`, `https://web-${host}/other?a=b`],
      trusted: true,
      dpopBound: true,
      subscriptions: {
        orders: { scopes: ["orders:read"], trusted: false, grantTypes: ["authorization_code"] },
        reports: {},
      },
      clientUri: "https://web.example/",
      policyUri: "https://web.example/policy",
      tosUri: "https://web.example/terms",
    },
    {
      clientId: `spa-${id}`,
      name: "Browser App",
      confidential: false,
      platform: "browser",
      redirectUris: [`https://spa-${host}/callback`, `https://spa-${host}:8443/callback`],
      subscriptions: { orders: {} },
    },
  ];
}
