/** Verifies client assertions: key, signature, single use. RFC 7523 §3; 7515 §5.2; 7518 §3.3 to §3.5; 8037 §3.1. */
import { constants, type KeyObject, verify, type VerifyKeyObjectInput } from "node:crypto";
import { parseJson } from "../fetching/read-document";
import type { DocumentAnswer } from "../fetching/remembered-documents";
import type { KeyClient, PublicKeySet } from "../protocol/client";
import {
  type AssertionAlgorithm,
  type AssertionProblem,
  claimsProblem,
  type ClientAssertion,
  usedAssertion,
} from "../protocol/client-assertion";
import type { Issuer } from "../protocol/issuer";
import { because, lateError, OAuthError } from "../protocol/oauth-error";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import { parseKeySet, readClientKey } from "./client-key";
import type { ClientPlace } from "./client-lookup";

/** How the keys of a client may be asked for. */
export interface KeyQuestion extends Pick<ClientPlace, "mayFetch"> {
  /** `true`: what is remembered has been tried, and the client may have a new key. */
  readonly refresh: boolean;
  /** `true` for a client that nobody registered: what strangers cause must not be in the way of the host's own clients. */
  readonly isStranger: boolean;
}

/** What is at a client's `jwksUri`. */
interface FoundKeys {
  readonly kind: "found";
  /** JSON, which need not be a key set. */
  readonly text: string;
  /** `true`: nothing newer can be had, because it was fetched for this question, or because nothing may be fetched for it. */
  readonly isFinal: boolean;
}

/** What is at a client's `jwksUri`, or why it cannot be had now. */
export type KeyAnswer = FoundKeys | Omit<Exclude<DocumentAnswer, { readonly kind: "found" }>, "code">;

/** Asks for the keys at a client's `jwksUri`. */
export type FetchKeys = (jwksUri: string, question: KeyQuestion) => Promise<KeyAnswer>;

/** What verification uses. */
export interface AssertionPorts {
  readonly storage: Pick<Storage, "clientAssertions">;
  readonly fetchKeys: FetchKeys;
  readonly clock: Clock;
}

/** An assertion of a client that is known. */
export interface PresentedAssertion extends Pick<ClientPlace, "issuer" | "mayFetch"> {
  readonly client: KeyClient;
  readonly assertion: ClientAssertion;
}

const maxKeys = 10;

/** How to verify with each algorithm. ECDSA signatures in JWTs are plain r and s, not DER. */
const verifications: Readonly<
  Record<AssertionAlgorithm, { readonly hash?: string; readonly input?: Omit<VerifyKeyObjectInput, "key"> }>
> = {
  ES256: { hash: "sha256", input: { dsaEncoding: "ieee-p1363" } },
  PS256: {
    hash: "sha256",
    input: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
  RS256: { hash: "sha256", input: { padding: constants.RSA_PKCS1_PADDING } },
  EdDSA: {},
  Ed25519: {},
};

/** True when the key made the signature. @rfc 7515 §5.2 */
export function isSignedBy(
  key: KeyObject,
  { algorithm, signed, signature }: Pick<ClientAssertion, "algorithm" | "signed" | "signature">,
): boolean {
  const { hash, input } = verifications[algorithm];
  return verify(hash, Buffer.from(signed), { ...input, key }, signature);
}

/** The keys that fit the assertion. Without `kid`, each of them may be the one. @rfc 7515 §4.1.4 */
function fittingKeys({ keys }: PublicKeySet, { keyId, algorithm }: ClientAssertion): readonly KeyObject[] {
  const named = keyId === undefined ? keys : keys.filter(({ kid }) => kid === keyId);
  return named.flatMap((key) => readClientKey(key, algorithm) ?? []).slice(0, maxKeys);
}

function isNamed({ keys }: PublicKeySet, { keyId }: ClientAssertion): boolean {
  return keyId !== undefined && keys.some(({ kid }) => kid === keyId);
}

function signatureProblem(keys: PublicKeySet, assertion: ClientAssertion): AssertionProblem | undefined {
  if (assertion.keyId !== undefined && !isNamed(keys, assertion)) return "assertion-kid-unknown";
  const fitting = fittingKeys(keys, assertion);
  if (fitting.length === 0) return "assertion-fits-no-key";
  return fitting.some((key) => isSignedBy(key, assertion)) ? undefined : "assertion-signature-wrong";
}

/** As much as lies between two attempts to fetch the keys of a client. */
const secondsBetween = 30;

/** Refusals that say nothing about the assertion. */
export const clientKeyReasons = {
  "client-keys-unreachable": (why: string): string =>
    `the keys at the client's jwksUri cannot be fetched now: ${why}`,
  "client-keys-not-asked-again":
    "no remembered key of the client verifies the assertion, and its jwksUri was asked for newer keys less than 30 seconds ago: try again after 30 seconds",
} as const;

/** The client must keep its credentials: it may have a new key that this server cannot see yet. @rfc 6749 §5.2 */
function notNow(
  why: { readonly code: keyof typeof clientKeyReasons; readonly reason: string },
  retryAfterSeconds = secondsBetween,
): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Try again later.",
    ...why,
    retryAfterSeconds,
  });
}

/** What a client's `jwksUri` answers. */
async function fetchedKeys(
  fetchKeys: FetchKeys,
  {
    presented: { client, mayFetch },
    jwksUri,
    refresh,
  }: { presented: PresentedAssertion; jwksUri: string; refresh: boolean },
): Promise<FoundKeys> {
  const isStranger = client.selfDescription !== undefined;
  const answer = await fetchKeys(jwksUri, { isStranger, mayFetch, refresh });
  if (answer.kind === "found") return answer;
  const why = because(clientKeyReasons, "client-keys-unreachable", answer.reason);
  throw notNow(why, answer.kind === "too-many" ? 1 : secondsBetween);
}

const noKeys: PublicKeySet = { keys: [] };

/** What is wrong with the signature by these keys. It is certain where no newer ones could be better. */
function signatureVerdict(
  { text, isFinal }: FoundKeys,
  assertion: ClientAssertion,
): { readonly problem: AssertionProblem | undefined; readonly isCertain: boolean } {
  const keys = parseKeySet(parseJson(text)) ?? noKeys;
  const problem = signatureProblem(keys, assertion);
  return { problem, isCertain: problem === undefined || isFinal || isNamed(keys, assertion) };
}

/**
 * The same for a client whose keys are at a URL. They are asked for again when none of them may be the one: it has another `kid`, or
 * none has signed and the assertion does not name its key. Where they could not be asked for, nobody knows whether the client has a
 * new one: `invalid_client` would be a guess, which any stranger could bring about by a `kid` that is made up.
 */
async function signatureProblemAt(
  fetchKeys: FetchKeys,
  { presented, jwksUri }: { presented: PresentedAssertion; jwksUri: string },
): Promise<AssertionProblem | undefined> {
  const { assertion } = presented;
  const known = await fetchedKeys(fetchKeys, { presented, jwksUri, refresh: false });
  const first = signatureVerdict(known, assertion);
  if (first.isCertain) return first.problem;
  const newer = await fetchedKeys(fetchKeys, { presented, jwksUri, refresh: true });
  // a flood of such assertions must not cost each signature twice
  const second =
    newer.text === known.text ? { ...first, isCertain: newer.isFinal } : signatureVerdict(newer, assertion);
  if (second.isCertain) return second.problem;
  throw notNow(because(clientKeyReasons, "client-keys-not-asked-again"));
}

/** Stores that the assertion has been used. If that fails, it may have been used up, and the client needs another one. */
async function useOnce(
  { clientAssertions }: AssertionPorts["storage"],
  { claims, now }: { claims: ClientAssertion["claims"]; now: number },
): Promise<boolean> {
  try {
    return (await clientAssertions.use(usedAssertion(claims), now)) === "used";
  } catch (cause) {
    throw lateError("assertion-use-failed", "storage.clientAssertions.use failed: see the cause", { cause });
  }
}

function claimsProblemAt(
  issuer: Issuer,
  { client, assertion, now }: Pick<PresentedAssertion, "client" | "assertion"> & { now: number },
): AssertionProblem | undefined {
  const { clientId, allowTokenEndpointAudience = false } = client;
  return claimsProblem(assertion.claims, { issuer, clientId, allowTokenEndpointAudience, now });
}

/**
 * Why the assertion does not prove the client, or `undefined` when it does: then it is used, and will be refused from now on. The
 * claims come first, because keys are fetched only for an assertion that could be good. A refusal stores nothing.
 *
 * @throws OAuthError `temporarily_unavailable` when the keys cannot be had, and an error that leads to it when storage fails
 * @rfc 7523 §3
 */
export async function assertionProblem(
  { storage, fetchKeys, clock }: AssertionPorts,
  presented: PresentedAssertion,
): Promise<AssertionProblem | undefined> {
  const { issuer, client, assertion } = presented;
  const { jwks, jwksUri = "" } = client;
  const problem =
    claimsProblemAt(issuer, { client, assertion, now: clock() }) ??
    (jwks ? signatureProblem(jwks, assertion) : await signatureProblemAt(fetchKeys, { presented, jwksUri }));
  if (problem !== undefined) return problem;
  // fetching takes time: an assertion that has expired meanwhile could have been used and forgotten
  const now = clock();
  const late = claimsProblemAt(issuer, { client, assertion, now });
  if (late !== undefined) return late;
  const isFirst = await useOnce(storage, { claims: assertion.claims, now });
  return isFirst ? undefined : "assertion-used-before";
}
