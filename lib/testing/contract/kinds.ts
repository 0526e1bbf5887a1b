/** The kinds of record: how each is made, stored and found. The rules that hold for all of them are written over this table. RFC 6749 §10.5. */
import type { Authorization, AuthorizationCode, RefreshToken } from "../../protocol/authorization";
import type { Client } from "../../protocol/client";
import type { Consent } from "../../protocol/consent";
import type { EndMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistration, ParkedRequest } from "../../storage/client-ports";
import type { Storage, StoredAccessToken } from "../../storage/port";
import {
  awkwardText,
  brokenText,
  keysJoinedAlike,
  longKeys,
  longText,
  lookalikeIds,
  newAccessToken,
  newAuthorization,
  newClients,
  newCode,
  newConsent,
  newDeviceRequest,
  newDigest,
  newDigestWithLookalikes,
  newEndKey,
  newEndMark,
  newId,
  newParkedRequest,
  newRefreshToken,
  newRegistration,
  newSubject,
  otherIds,
  otherTexts,
} from "./records";
import { assertSame, parkedRequestsOf, type RuleSubject } from "./rule";

/** A limit of registrations that no rule reaches. */
export const plenty = 1_000_000;

/** A kind of record, for the common rules. */
export interface Kind<T extends object> {
  readonly port: string;
  /** What `find` returns; left out: what was stored. */
  readonly stored?: string;
  /** What a record is found by, as "a handle". */
  readonly key: string;
  /** One record, as "a consent"; left out for records that do not end. */
  readonly one?: string;
  readonly newOne: (now: EpochSeconds, changes: { readonly expiresAt: EpochSeconds }) => T;
  readonly on: (storage: Storage) => {
    readonly store: (record: T, now: EpochSeconds) => Promise<unknown>;
    /** What is found by the key of this record, in the shape of a record. */
    readonly find: (record: T, now: EpochSeconds) => Promise<object | undefined>;
  };
  /** Records with every field, and with what is hard to keep. */
  readonly samples: (subject: RuleSubject) => readonly T[];
  /** A record, with others that are not stored and that a careless query takes for it. */
  readonly unlike: (subject: RuleSubject) => readonly (readonly T[])[];
  /** Records that a careless key takes for the same. */
  readonly apart?: (now: EpochSeconds) => readonly T[];
  /** A record, and what is saved in its place one after the other. */
  readonly successors?: (now: EpochSeconds) => readonly T[];
}

/** The same record under lookalikes of its digest. */
function lookalikes<T extends { readonly digest: string }>(
  newOne: (changes: { digest: string }) => T,
): readonly (readonly T[])[] {
  const { digest, lookalikes: others } = newDigestWithLookalikes();
  const one = newOne({ digest });
  return [[one, ...others.map((other) => ({ ...one, digest: other }))]];
}

/** Registered clients. They are there from the beginning: a table that belongs to the host may not be writable. */
export const clients: Kind<Client> = {
  port: "clients",
  stored: "a registered client",
  key: "an id",
  newOne: () => newClients()[0],
  on: (storage) => ({ store: async () => undefined, find: ({ clientId }) => storage.clients.find(clientId) }),
  samples: (subject) => subject.clients,
  unlike: (subject) =>
    subject.clients.map((client) => [
      client,
      ...lookalikeIds(client.clientId).map((clientId) => ({ ...client, clientId })),
    ]),
};

/** Remembered consents. */
export const consents: Kind<Consent> = {
  port: "consents",
  key: "a key",
  one: "a consent",
  newOne: newConsent,
  on: (storage) => ({
    store: (consent, now) => storage.consents.save(consent, now),
    find: (key, now) => storage.consents.find(key, now),
  }),
  samples: ({ now }) => [
    newConsent(now),
    newConsent(now, { scopes: [], endMarks: [] }),
    newConsent(now, { contextKey: `b${awkwardText}a`, endMarks: [newId(), newId()] }),
    newConsent(now, { clientDigest: newDigest() }),
    newConsent(now, { scopes: [longText, newId()] }),
    newConsent(now, { subject: `${newId()}${awkwardText}`, apiId: "a-b.c_d" }),
    newConsent(now, { subject: `${newId()}${"😀".repeat(110)}` }),
  ],
  unlike({ now }) {
    const one = newConsent(now, { subject: newSubject() });
    const { subject, clientId, apiId } = one;
    const others = [
      { subject: newId() },
      { clientId: newId() },
      { apiId: "reports" },
      { subject: `${subject}${clientId}`, clientId: "" },
      { subject: `${subject}:${clientId}`, clientId: apiId, apiId: "" },
      ...otherTexts(subject).map((other) => ({ subject: other })),
      ...otherIds(clientId).map((other) => ({ clientId: other })),
      ...otherIds(apiId).map((other) => ({ apiId: other })),
      { contextKey: "acme" },
      { apiId: "", contextKey: apiId },
      { subject: clientId, clientId: subject },
    ];
    return [
      [one, ...others.map((changes) => ({ ...one, ...changes }))],
      ...keysJoinedAlike().map((keys) => keys.map((key) => newConsent(now, key))),
    ];
  },
  apart(now) {
    const plain = newConsent(now, { scopes: ["plain"] });
    const contexts = ["acme", ...otherTexts("acme"), "b€"];
    return [
      plain,
      ...contexts.map((contextKey) => ({ ...plain, contextKey, scopes: [contextKey] })),
      ...longKeys().map((key, place) => newConsent(now, { ...key, scopes: [`${place}`] })),
    ];
  },
  successors(now) {
    const one = newConsent(now);
    return [
      one,
      { ...one, scopes: ["orders:read"], grantedAt: now + 1, expiresAt: now + 900 },
      // the last one wins, also where the clock of its process is behind, or an earlier one would last longer
      { ...one, scopes: [], grantedAt: now - 60, expiresAt: now + 300 },
      { ...one, scopes: ["again"], grantedAt: now - 60, expiresAt: now + 300 },
    ];
  },
};

/** Authorizations. */
export const authorizations: Kind<Authorization> = {
  port: "authorizations",
  key: "an id",
  one: "an authorization",
  newOne: newAuthorization,
  on: (storage) => ({
    store: (record, now) => storage.authorizations.create(record, now),
    find: ({ authorizationId }, now) => storage.authorizations.find(authorizationId, now),
  }),
  samples({ now }) {
    // what the host adds is any text; an adapter may read it before it stores a second one
    const context = { key: "acme", data: { text: brokenText, deep: { list: [brokenText] } } };
    const broken = newAuthorization(now, {
      amr: ["pwd", brokenText],
      acr: brokenText,
      context,
      endMarks: [],
    });
    return [
      newAuthorization(now),
      newAuthorization(now, { authTime: now - 100, amr: ["pwd", "otp"], acr: awkwardText }),
      newAuthorization(now, { authTime: 0, amr: [], acr: "", grantedScopes: [] }),
      newAuthorization(now, { refreshableUntil: now + 500, expiresAt: now + 4_000_000_000 }),
      newAuthorization(now, { subject: `${newId()}${awkwardText}` }),
      newAuthorization(now, { clientAuthentication: "key" }),
      newAuthorization(now, { signedInFrom: awkwardText }),
      newAuthorization(now, { context: { key: awkwardText }, endMarks: [] }),
      newAuthorization(now, { context: { key: "acme", data: { long: longText } } }),
      newAuthorization(now, {
        context: { key: "acme", data: { deep: { list: [1, awkwardText, { none: false }] } } },
        endMarks: [newId(), newId()],
      }),
      broken,
      { ...broken, authorizationId: newId() },
    ];
  },
  unlike({ now }) {
    const rest = newId().slice(2);
    const one = newAuthorization(now, { authorizationId: `Aa${rest}` });
    const others = [newId(), `aA${rest}`, `Aa%`, ""];
    return [[one, ...others.map((authorizationId) => ({ ...one, authorizationId }))]];
  },
};

/** Authorization codes. */
export const codes: Kind<AuthorizationCode> = {
  port: "authorizationCodes",
  key: "a handle",
  one: "a code",
  newOne: newCode,
  on: ({ authorizationCodes }) => ({
    store: (code, now) => authorizationCodes.create(code, now),
    find: (handle, now) => authorizationCodes.find(handle, now),
  }),
  samples({ now }) {
    const code = newCode(now);
    return [
      code,
      { ...code, digest: newDigest(), codeChallenge: newDigest(), nonce: newDigest(), boundKey: newDigest() },
    ];
  },
  unlike: ({ now }) => lookalikes((changes) => newCode(now, changes)),
};

/** Refresh tokens. */
export const refreshTokens: Kind<RefreshToken> = {
  port: "refreshTokens",
  key: "a handle",
  one: "a refresh token",
  newOne: newRefreshToken,
  on: (storage) => ({
    store: (token, now) => storage.refreshTokens.create(token, now),
    find: (handle, now) => storage.refreshTokens.find(handle, now),
  }),
  samples: ({ now }) => [newRefreshToken(now), newRefreshToken(now, { boundKey: newDigest() })],
  unlike: ({ now }) => lookalikes((changes) => newRefreshToken(now, changes)),
};

/** Opaque access tokens. */
export const accessTokens: Kind<StoredAccessToken> = {
  port: "accessTokens",
  key: "a digest",
  one: "a stored access token",
  newOne: newAccessToken,
  on: (storage) => ({
    store: (token, now) => storage.accessTokens.create(token, now),
    find: ({ digest }, now) => storage.accessTokens.find(digest, now),
  }),
  samples: ({ now }) => [
    newAccessToken(now),
    newAccessToken(now, { scopes: [] }),
    newAccessToken(now, { boundKey: newDigest() }),
    newAccessToken(now, {
      subject: `${newId()}${awkwardText}`,
      authorizationId: newId(),
      authTime: now - 100,
      amr: ["pwd", "otp"],
      acr: awkwardText,
    }),
    newAccessToken(now, {
      subject: newId(),
      authorizationId: newId(),
      actor: { subject: newId(), actor: { subject: newId() } },
      authorizationScopes: ["orders:read"],
      clientEndMark: newId(),
      apiEndMark: newId(),
    }),
    // what the host adds (tokens.decide) is JSON of any depth
    newAccessToken(now, { claims: { deep: { list: [1, awkwardText, { none: false }] } } }),
    newAccessToken(now, { claims: { long: longText } }),
    newAccessToken(now, { amr: [brokenText], acr: brokenText, claims: { deep: [{ text: brokenText }] } }),
  ],
  unlike({ now }) {
    const one = newAccessToken(now);
    return [
      ...lookalikes((changes) => newAccessToken(now, changes)),
      [one, { ...one, digest: one.tokenId }, { ...one, digest: "" }],
    ];
  },
};

/** End marks. */
export const endMarks: Kind<EndMark> = {
  port: "endMarks",
  key: "a key",
  one: "an end mark",
  newOne: newEndMark,
  on: (storage) => ({
    store: (endMark, now) => storage.endMarks.save(endMark, now),
    async find(endMark, now) {
      const found = await storage.endMarks.find([endMark.key], now);
      assertSame(found.length, 1, "the number of answers of endMarks.find");
      const mark = found[0] ?? undefined;
      return mark === undefined ? undefined : { ...endMark, mark };
    },
  }),
  samples: ({ now }) => [newEndMark(now), newEndMark(now, { expiresAt: now + 400_000_000 })],
  unlike({ now }) {
    const { digest, lookalikes: others } = newDigestWithLookalikes();
    const owner = newId();
    const one = newEndMark(now, { key: `${owner}.${digest}` });
    const keys = [...others.map((other) => `${owner}.${other}`), `${newId()}.${digest}`, owner, digest, ""];
    return [[one, ...keys.map((key) => ({ ...one, key }))]];
  },
  apart(now) {
    const [owner, rest] = [newId(), newDigest()];
    const keys = [newEndKey(owner), newEndKey(owner), `${newId()}.${rest}`, `${newId()}.${rest}`];
    return keys.map((key) => newEndMark(now, { key }));
  },
  successors(now) {
    const { key } = newEndMark(now);
    // the last one wins, also where an earlier one would last longer
    return [600, 900, 300, 300].map((seconds) => newEndMark(now, { key, expiresAt: now + seconds }));
  },
};

/** A client of each kind, with every field that a registration can have. */
export function registrationsOfEachKind(now: EpochSeconds): readonly ClientRegistration[] {
  const [secret, browser] = newClients();
  const { client: native } = newRegistration(0);
  const base = { name: "Agent", confidential: true, redirectUris: [], subscriptions: {} } as const;
  const x = newDigest();
  return [
    { ...secret, selfDescription: { by: "registration", digest: newDigest() } } as const,
    browser,
    native,
    { ...base, clientId: newId(), jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x, kid: "", ext: [] }] } },
    { ...base, clientId: newId(), jwksUri: "https://agent.example/keys", allowTokenEndpointAudience: false },
  ].map((client) => ({ client, expiresAt: now + 600 }));
}

/** Registrations by ids of which a careless query takes one for another. */
export function closeRegistrations(now: EpochSeconds): readonly ClientRegistration[] {
  const id = newId();
  const long = `${id}${"x".repeat(254 - id.length)}`;
  const ids = [`Aa-${id}`, `aA-${id}`, `%-${id}`, `_-${id}`, `'${id}"`, `'${id}''`, `${long}y`, `${long}z`];
  return ids.map((clientId) => newRegistration(now, { clientId }));
}

/** Clients that have registered themselves. */
export const registrations: Kind<ClientRegistration> = {
  port: "clientRegistrations",
  key: "an id",
  one: "a registration",
  newOne: newRegistration,
  on: ({ clientRegistrations }) => ({
    async store(registration, now) {
      const outcome = await clientRegistrations.create(registration, { limit: plenty, now });
      assertSame(outcome, "created", "clientRegistrations.create");
    },
    async find(registration, now) {
      const client = await clientRegistrations.find(registration.client.clientId, now);
      return client && { ...registration, client };
    },
  }),
  samples: ({ now }) => registrationsOfEachKind(now),
  unlike: ({ now, clients: [{ clientId }] }) =>
    closeRegistrations(now)
      .slice(0, 3)
      .map((one) => [
        one,
        ...[...lookalikeIds(one.client.clientId), clientId].map((other) =>
          newRegistration(now, { clientId: other }),
        ),
      ]),
  apart: closeRegistrations,
};

/** Parked requests by keys of which a careless query takes one for another. */
function closeParkedRequests(now: EpochSeconds): readonly [ParkedRequest, ...ParkedRequest[]] {
  const { digest, lookalikes: others } = newDigestWithLookalikes();
  return [newParkedRequest(now, { key: digest }), ...others.map((key) => newParkedRequest(now, { key }))];
}

/** Requests that wait for a person, or were answered by one. */
export const parkedRequests: Kind<ParkedRequest> = {
  port: "parkedRequests",
  key: "a key",
  one: "a parked request",
  newOne: newParkedRequest,
  on: (storage) => ({
    async store(request, now) {
      const outcome = await parkedRequestsOf(storage).create(request, { now });
      assertSame(outcome, "created", "parkedRequests.create");
    },
    find: ({ key }, now) => parkedRequestsOf(storage).find(key, now),
  }),
  samples: ({ now }) => [
    newParkedRequest(now),
    newParkedRequest(now, { by: newDigest() }),
    newDeviceRequest(now, { owner: `{${newId()}}"'%\\` }),
    newDeviceRequest(now, { state: "denied", by: newId() }),
    newDeviceRequest(now, { device: { issuer: awkwardText, scopes: [], impliedScopes: [longText, "b"] } }),
  ],
  unlike: ({ now }) => [closeParkedRequests(now)],
  apart: closeParkedRequests,
};
