/** What is weak about options that are accepted: a table of rules with their ids. RFC 6749 §4.1.2, §10; 6819 §5; 8252 §7, §8; 9700 §2, §4. */
import type { ApiOptions, AuthServerOptions } from "../options/options";
import { resolveLifetimes } from "../options/resolve";
import type { Client, KeyClient } from "../protocol/client";
import { lossOfRecords } from "../storage/risks";
import {
  chosenClientSecrets,
  exchangesForAll,
  httpUrls,
  inApis,
  inClients,
  lifetimeAbove,
  option,
  redirectUris,
  scopesOfNoApi,
  storageAtRisk,
  storageInMemory,
  subscriptions,
  unmetClientFlags,
} from "./find";
import { type StandardCode, type StandardRule, standardRules } from "./standard-rules";

/** The id of a weakness. It never changes its meaning; the texts beside it may be improved. */
export type WeaknessCode =
  | "temporary-secrets"
  | "temporary-signing-keys"
  | "guessable-secret"
  | "storage-in-memory"
  | "storage-may-lose-records"
  | "http-url"
  | "slow-revocation"
  | "long-authorization-codes"
  | "long-interactions"
  | "long-unused-refresh-tokens"
  | "long-refresh-tokens"
  | "long-consents"
  | "long-access-tokens"
  | "repeated-refresh-tokens"
  | "loopback-fetches"
  | "trusted-client"
  | "http-redirect-uri"
  | "localhost-redirect-uri"
  | "dotless-redirect-uri"
  | "subscription-to-unknown-api"
  | "subscription-to-unknown-scope"
  | "flag-without-option"
  | "option-of-a-newer-version"
  | "exchange-for-all-scopes"
  | "chosen-client-secret"
  | "old-secret-without-end"
  | "token-endpoint-audience"
  | "unregistered-clients"
  | "devices-without-rate-limit"
  | "refresh-retry-off"
  | "ignored-scopes"
  | "optional-redirect-uri"
  | "dotless-redirect-schemes"
  | "audience-at-other-origin"
  | "no-event-handler"
  | StandardCode;

/** Something that the host should know, whatever it is compared with. */
interface WeaknessRule extends StandardRule {
  /** `weak` should be changed before production; `note` is right for some hosts. */
  readonly level: "weak" | "note";
  /** What may come of it. */
  readonly why: string;
  /** What to write instead, or when it may stay. */
  readonly fix: string;
}

/** Something that `createAuthServer` accepts, and that the host should know. */
export interface Weakness extends Omit<WeaknessRule, "find"> {
  readonly code: WeaknessCode;
  /** The option, such as `apis.orders.accessTokenSeconds`. */
  readonly path: string;
}

/** An option that weakens something, and what is so about it. */
export type Spot = Pick<Weakness, "code" | "path" | "problem">;

/** What random text contains less than once in a million. Random text of 32 characters always has eight different ones. */
const chosenText =
  /\s|secret|password|change.?me|example|01234567|12345678|abcdefgh|qwertz|qwerty|^(.+)\1+$/i;
const isChosen = (secret: string): boolean => new Set(secret).size < 8 || chosenText.test(secret);

const isNative = (client: Client): boolean => !client.confidential && client.platform === "native";
const isDotless = (uri: string): boolean => /^[^.:/]+:/.test(uri) && !/^https?:/.test(uri);

/** How clients come in that nobody has registered. */
const waysIn = (api: ApiOptions): readonly string[] =>
  (["clientRegistration", "clientMetadataDocuments"] as const).filter((name) => api[name]);

/** The rules, in the order in which they are told. Each looks at options that are accepted, and connects to nothing. */
export const rules: Readonly<Record<WeaknessCode, StandardRule | WeaknessRule>> = {
  "temporary-secrets": {
    level: "weak",
    problem: "is missing: each start makes a temporary one",
    why: "A restart, or an answer by another process, loses the sign-ins in progress. In production it is refused.",
    fix: "Make a secret with: npx authmount secret.",
    find: option("secrets", ({ secrets }) => !secrets),
  },
  "temporary-signing-keys": {
    level: "weak",
    problem: "is missing: each start makes a temporary one",
    why: "Tokens that were signed before a restart, or by another process, are refused. In production it is refused.",
    fix: "Make a key with: npx authmount signing-key.",
    find: option("signingKeys", ({ signingKeys }) => !signingKeys),
  },
  "guessable-secret": {
    level: "weak",
    problem: "has few different characters, or contains white space, a common word or a pattern",
    why: "It looks chosen by a person. Anyone who guesses it can forge sign-ins in progress.",
    fix: "Make a random one with: npx authmount secret.",
    find: ({ secrets = [] }) =>
      secrets.flatMap((secret, index) => (isChosen(secret) ? [{ path: `secrets.${index}` }] : [])),
  },
  "storage-in-memory": {
    level: "weak",
    problem: "is in the memory of the process",
    why: "A restart loses it, and revocations with it. A second process does not see it, so a code could be used twice.",
    fix: "Write sqliteStorage for one machine, postgresStorage, mysqlStorage or redisStorage for several. Memory is for tests and development.",
    find: storageInMemory,
  },
  "storage-may-lose-records": {
    level: "weak",
    problem: "may lose what it has acknowledged",
    why: lossOfRecords,
    fix: "Change the setting of the database that is named.",
    find: storageAtRisk,
  },
  "http-url": {
    level: "weak",
    problem: "is http, on this machine",
    why: "No other machine can reach it, and tokens and codes are not encrypted on their way.",
    fix: "In production, write the public https URL.",
    find: httpUrls,
  },
  "slow-revocation": {
    level: "weak",
    problem: "is more than 30 seconds",
    why: "A revoked token is accepted, and a client that you have removed is served, for up to that long.",
    fix: "Write 30 or less; the default is 5.",
    find: option("revocationLagSeconds", ({ revocationLagSeconds = 0 }) => revocationLagSeconds > 30),
  },
  "long-authorization-codes": {
    level: "weak",
    problem: "is more than 120 seconds",
    why: "Clients redeem a code within seconds. The longer it lives, the longer a stolen one can be tried.",
    fix: "Write 120 or less.",
    find: lifetimeAbove(120, "authorizationCodeSeconds"),
  },
  "long-interactions": {
    level: "weak",
    problem: "is more than half an hour",
    why: "Somebody else may sit down at the browser and finish the sign-in.",
    fix: "Write 1800 or less.",
    find: lifetimeAbove(1_800, "interactionSeconds"),
  },
  "long-unused-refresh-tokens": {
    level: "weak",
    problem: "is more than 60 days",
    why: "A token of a client that nobody uses any more can be stolen and used for that long.",
    fix: "Write 5184000 (60 days) or less.",
    find: lifetimeAbove(5_184_000, "refreshTokenIdleSeconds"),
  },
  "long-refresh-tokens": {
    level: "weak",
    problem: "is more than 180 days",
    why: "A person who has signed in once is not asked again for that long, whatever has changed since.",
    fix: "Write 15552000 (180 days) or less.",
    find: lifetimeAbove(15_552_000, "refreshTokenSeconds"),
  },
  "long-consents": {
    level: "weak",
    problem: "is more than 730 days",
    why: "People forget what they have allowed so long ago.",
    fix: "Write 63072000 (730 days) or less.",
    find: lifetimeAbove(63_072_000, "consentSeconds"),
  },
  "long-access-tokens": {
    level: "weak",
    problem: "is more than four hours",
    why: "An API that does not ask this server accepts a stolen or revoked token for that long.",
    fix: "Write 14400 or less.",
    find: inApis(({ accessTokenSeconds = 0 }) => (accessTokenSeconds > 14_400 ? ["accessTokenSeconds"] : [])),
  },
  "repeated-refresh-tokens": {
    level: "note",
    problem: "is more than 0",
    why: "Within that time, a stolen refresh token that is used a second time is not noticed.",
    fix: "Write it only for clients that lose answers, such as phones, and as short as they need.",
    find: lifetimeAbove(0, "refreshRetrySeconds"),
  },
  "loopback-fetches": {
    level: "weak",
    problem: "is true",
    why: "Strangers' metadata documents can make this server send requests to programs on its own machine.",
    fix: "Leave it out, except in tests and development. In production it is refused.",
    find: option("insecureLoopbackClients", ({ insecureLoopbackClients: on }) => on === true),
  },
  "trusted-client": {
    level: "note",
    problem: "is true",
    why: "People are not asked whether this client may act for them.",
    fix: "Write it for your own clients only.",
    find: (options) => [
      ...inClients(({ trusted }) => (trusted ? ["trusted"] : []))(options),
      ...subscriptions(({ trusted }) => trusted === true, "trusted")(options),
    ],
  },
  "http-redirect-uri": {
    level: "weak",
    problem: "is on the machine of the person who signs in",
    why: "Whatever program listens there gets the code.",
    fix: "In production, write the https address of the client. Only native clients are on the person's own machine.",
    find: redirectUris((uri, client) => uri.startsWith("http:") && !isNative(client)),
  },
  "localhost-redirect-uri": {
    level: "note",
    problem: "names localhost",
    why: "The name may lead to another network interface than the client listens at (RFC 8252 §8.3).",
    fix: "Write http://127.0.0.1 or http://[::1], unless the client only knows localhost.",
    find: redirectUris((uri, client) => uri.startsWith("http://localhost") && isNative(client)),
  },
  "dotless-redirect-uri": {
    level: "weak",
    problem: "has a scheme without a dot",
    why: "Another app may have invented the same scheme, and then gets the code. PKCE keeps it from using the code.",
    fix: "Write a scheme that begins with a reversed domain name, such as com.example.app:/callback, or an https address.",
    find: redirectUris((uri, client) => isNative(client) && isDotless(uri)),
  },
  "subscription-to-unknown-api": {
    level: "weak",
    problem: "is not an id in apis",
    why: "It may be misspelt. The client gets nothing for it.",
    fix: "Write an id of apis.",
    find: subscriptions((_, api) => !api),
  },
  "subscription-to-unknown-scope": {
    level: "weak",
    problem: "names a scope that the API does not have",
    why: "It may be misspelt. The client gets nothing for it.",
    fix: "Write scopes of this API.",
    find: scopesOfNoApi,
  },
  "flag-without-option": {
    level: "weak",
    problem: "needs an option that the API does not have",
    why: "The API refuses each request of the client.",
    fix: "Add the option to the API, or remove the flag from the record.",
    find: unmetClientFlags,
  },
  "option-of-a-newer-version": {
    level: "note",
    problem: "restricts requests or tokens",
    why: "During an upgrade, a process that runs an older version does not know it, and accepts what it refuses.",
    fix: "Switch it on when every process runs a version that has it.",
    find: inApis(({ profile, dpop, pushedRequests, tokenExchange }) => [
      ...(profile ? ["profile"] : []),
      ...(dpop ? ["dpop"] : []),
      ...(pushedRequests === "required" ? ["pushedRequests"] : []),
      ...(tokenExchange ? ["tokenExchange"] : []),
    ]),
  },
  "exchange-for-all-scopes": {
    level: "note",
    problem: "gives every scope of this API",
    why: "Whoever tricks or takes over a client of the table can do everything here, for each person who calls its API.",
    fix: "Map to the scopes that its calls need.",
    find: exchangesForAll,
  },
  "chosen-client-secret": {
    level: "note",
    problem: "is of a secret that a person may have chosen",
    why: "It may be guessed, and each check takes a tenth of a second.",
    fix: "Make a random one with: npx authmount client-secret.",
    find: chosenClientSecrets,
  },
  "old-secret-without-end": {
    level: "note",
    problem: "has a second secret, and no oldSecretUntil",
    why: "The old secret works for ever, though the client may have the new one for long.",
    fix: "Remove the second digest once the client uses the new secret, or make a new one with: npx authmount clients rotate.",
    find: inClients((client) =>
      "secretDigests" in client && client.secretDigests.length > 1 && client.oldSecretUntil === undefined
        ? ["secretDigests"]
        : [],
    ),
  },
  "token-endpoint-audience": {
    level: "note",
    problem: "is true",
    why: "An assertion that was made for another server may be accepted here.",
    fix: "Leave it out as soon as the client can send the issuer.",
    find: inClients((client) =>
      client.confidential && (client as Partial<KeyClient>).allowTokenEndpointAudience
        ? ["allowTokenEndpointAudience"]
        : [],
    ),
  },
  "unregistered-clients": {
    level: "note",
    problem: "lets in clients that nobody has registered",
    why: "Anyone can use a name that people trust. People are always asked for consent.",
    fix: "Make sure that its function refuses what you do not want, and put a rate limit in front of it.",
    find: inApis(waysIn),
  },
  "devices-without-rate-limit": {
    level: "weak",
    problem: "is true, and rateLimit is left out",
    why: "Anyone can guess codes of devices on the page, and open codes without end in the name of a client without a secret.",
    fix: "Write a rateLimit that counts device_authorization and device.",
    find: inApis(({ deviceAuthorization }, { rateLimit }) =>
      deviceAuthorization && !rateLimit ? ["deviceAuthorization"] : [],
    ),
  },
  "refresh-retry-off": {
    level: "note",
    problem: "is 0, and the API lets in clients that nobody has registered",
    why: "Two windows of one MCP client share a refresh token. If both use it, it looks stolen, and the person is signed out.",
    fix: "Write 30, unless no client shares its tokens between processes.",
    find: inApis((api, options) =>
      waysIn(api).length > 0 && resolveLifetimes(options, api).refreshRetrySeconds === 0
        ? ["lifetimes.refreshRetrySeconds"]
        : [],
    ),
  },
  "ignored-scopes": {
    level: "note",
    problem: 'is "ignore"',
    why: "A client may get fewer scopes than it asked for, and must look at the answer to know.",
    fix: 'Leave it out, unless clients ask for scopes that you do not have, such as "openid".',
    find: inApis(({ unknownScopes }) => (unknownScopes === "ignore" ? ["unknownScopes"] : [])),
  },
  "optional-redirect-uri": {
    level: "note",
    problem: 'is "optional"',
    why: "OpenID Connect and FAPI 2.0 ask for it in every request, so some clients and reviews expect that.",
    fix: "Leave it out, unless an old client does not send it.",
    find: inApis(({ redirectUri }) => (redirectUri === "optional" ? ["redirectUri"] : [])),
  },
  "dotless-redirect-schemes": {
    level: "note",
    problem: "allows schemes without a dot",
    why: "Two apps may have invented the same one, and then either may get the codes of the other (RFC 8252 §7.1).",
    fix: "List only schemes of clients that you need and that can have no other.",
    find: option("redirectSchemes", ({ redirectSchemes = [] }) => redirectSchemes.length > 0),
  },
  "audience-at-other-origin": {
    level: "note",
    problem: "is at another origin than baseUrl",
    why: "Clients look for the metadata of this API at its own origin (RFC 9728 §3.1), which this server does not answer for.",
    fix: "Mount auth.wellKnown there too, serve the document there, or tell clients the issuer.",
    find: inApis(({ audience }, { baseUrl }) =>
      new URL(audience).origin === new URL(baseUrl).origin ? [] : ["audience"],
    ),
  },
  "no-event-handler": {
    level: "note",
    problem: "is missing",
    why: "In production only failures are printed then. Refusals, replays and sign-ins leave no trace.",
    fix: "Write a function that logs events, and raises an alarm for server-error and replay-detected.",
    find: option("onEvent", ({ onEvent }) => !onEvent),
  },
  ...standardRules,
};

/** Everything that the rules find, also what only a standard asks for, in their order. */
export function spotsOf(options: AuthServerOptions): readonly (Spot | Weakness)[] {
  return (Object.keys(rules) as WeaknessCode[]).flatMap((code) => {
    const { find, ...rule } = rules[code];
    const found = new Map(find(options).map((place) => [place.path, { code, ...rule, ...place }]));
    return [...found.values()];
  });
}

/** What is weak, and then what is worth knowing, about options that `createAuthServer` accepts. */
export function weaknessesOf(options: AuthServerOptions): readonly Weakness[] {
  const found = spotsOf(options).flatMap((spot) => ("level" in spot ? [spot] : []));
  return [...found.filter(({ level }) => level === "weak"), ...found.filter(({ level }) => level === "note")];
}
