/** What clients will find: the documents at the root of each origin, and the keys. RFC 8414 §3.1, 9728 §3.1, 7517 §5. */
import { rootDocuments } from "../endpoints/documents";
import type { ResolvedOptions } from "../options/resolve";
import { openidMetadataUrl, serverMetadataUrl } from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import { type KeyRing, keyRing } from "../signing/jwt-signer";
import type { SigningKey } from "../signing/signing-key";
import { printable } from "./wording";

/** A document at the root of an origin. */
export interface FoundDocument {
  /** The very URL at which clients look. */
  readonly url: string;
  /** An issuer's (RFC 8414) or an API's (RFC 9728). */
  readonly of: "issuer" | "api";
  readonly document: Readonly<Record<string, unknown>>;
}

/** A key as it is published, without the key itself. */
export interface FoundKey {
  readonly kid: string;
  readonly algorithm: string;
  /** What it does now. */
  readonly state: string;
}

/** What clients will find. */
export interface Found {
  readonly documents: readonly FoundDocument[];
  readonly jwksUri: string;
  readonly keys: readonly FoundKey[];
}

/** What the key signs at this moment, in words. */
function signsNow(key: SigningKey, { ring, idAlgorithms, now }: AtMoment): string | undefined {
  const signsAccess = ring.active(now).kid === key.kid;
  const signsIds = idAlgorithms.some((algorithm) => ring.active(now, algorithm).kid === key.kid);
  if (!signsIds) return signsAccess ? "signs now" : undefined;
  return signsAccess ? "signs access tokens and ID tokens now" : "signs ID tokens now";
}

/** The keys at a moment. */
interface AtMoment {
  readonly ring: KeyRing;
  readonly idAlgorithms: readonly string[];
  readonly now: EpochSeconds;
}

function stateOf(key: SigningKey, at: AtMoment): string {
  const { now } = at;
  const where = "privateKey" in key ? "" : "; signs outside, not tried";
  const signs = signsNow(key, at);
  if (signs !== undefined) return `${signs}${where}`;
  if (key.signsFrom <= now) return "verifies only";
  return `signs from ${new Date(key.signsFrom * 1000).toISOString()}${where}`;
}

function keysOf(
  { signingKeys, issuers, temporary, algorithms: { idAlgorithms } }: ResolvedOptions,
  now: EpochSeconds,
): readonly FoundKey[] {
  // a temporary one would have another id at each start
  if (temporary.includes("signingKeys")) return [];
  const tokenSeconds = Math.max(...issuers.map(({ api }) => api.accessTokenSeconds));
  const ring = keyRing({ keys: signingKeys, tokenSeconds, idAlgorithms });
  const published = ring.published(now);
  return signingKeys.map((key) => ({
    kid: key.kid,
    algorithm: key.algorithm,
    state: published.includes(key)
      ? stateOf(key, { ring, idAlgorithms, now })
      : "no longer published: you can remove it",
  }));
}

/** What clients will find of a server with these options. */
export function foundByClients(options: ResolvedOptions, now: EpochSeconds): Found {
  const jwksUri = `${options.baseUrl}/jwks`;
  const ofIssuers = new Set(
    options.issuers.flatMap((one) => [serverMetadataUrl(one), openidMetadataUrl(one)]),
  );
  const documents = [...rootDocuments(options.issuers, jwksUri)].map(([url, { body }]): FoundDocument => ({
    url,
    of: ofIssuers.has(url) ? "issuer" : "api",
    document: body as Readonly<Record<string, unknown>>,
  }));
  return { documents, jwksUri, keys: keysOf(options, now) };
}

function shown(value: unknown): string {
  return printable(Array.isArray(value) ? value.join(", ") : String(value));
}

/** The members of each document that a person looks for; all of them are in the JSON. */
const told: Readonly<Record<FoundDocument["of"], readonly string[]>> = {
  issuer: [
    "issuer",
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "userinfo_endpoint",
    "end_session_endpoint",
    "id_token_signing_alg_values_supported",
    "jwks_uri",
    "scopes_supported",
  ],
  api: ["resource", "authorization_servers", "scopes_supported"],
};

function documentText({ url, of, document }: FoundDocument): string {
  const lines = told[of]
    .filter((name) => document[name] !== undefined)
    .map((name) => `    ${name}: ${shown(document[name])}\n`);
  return `  ${url}\n${lines.join("")}`;
}

/** The same in words. */
export function foundText({ documents, jwksUri, keys }: Found): string {
  const ofKeys = keys.map(({ kid, algorithm, state }) => `    kid ${shown(kid)}, ${algorithm}, ${state}\n`);
  const noKeys = "    a temporary key, different at each start\n";
  return `What clients find:
${documents.map(documentText).join("")}  ${jwksUri}
${keys.length === 0 ? noKeys : ofKeys.join("")}`;
}
