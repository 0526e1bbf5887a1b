/** What assertions of all kinds share: the key that has signed one, in a key set or at a URL, and its single use. RFC 7515 §5.2, §4.1.4; 7517 §5; 7518 §3.3 to §3.5; 8037 §3.1. */
import { constants, type KeyObject, verify, type VerifyKeyObjectInput } from "node:crypto";
import { parseJson } from "../fetching/read-document";
import type { DocumentAnswer } from "../fetching/remembered-documents";
import type { PublicKeySet } from "../protocol/client";
import type { AssertionAlgorithm, ClientAssertion } from "../protocol/client-assertion";
import { because, lateError, OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import type { UsedAssertion } from "../storage/client-ports";
import type { Storage } from "../storage/port";
import { parseKeySet, readClientKey } from "./client-key";
import type { ClientPlace } from "./client-lookup";

/** How the keys at a URL may be asked for. */
export interface KeyQuestion extends Pick<ClientPlace, "mayFetch"> {
  /** `true`: what is remembered has been tried, and there may be a new key. */
  readonly refresh: boolean;
  /** `true` for a client that nobody registered: what strangers cause must not be in the way of the host's own clients. */
  readonly isStranger: boolean;
}

/** What is at a `jwksUri`. */
interface FoundKeys {
  readonly kind: "found";
  /** JSON, which need not be a key set. */
  readonly text: string;
  /** `true`: nothing newer can be had, because it was fetched for this question, or because nothing may be fetched for it. */
  readonly isFinal: boolean;
}

/** What is at a `jwksUri`, or why it cannot be had now. */
export type KeyAnswer = FoundKeys | Omit<Exclude<DocumentAnswer, { readonly kind: "found" }>, "code">;

/** Asks for the keys at a `jwksUri`. */
export type FetchKeys = (jwksUri: string, question: KeyQuestion) => Promise<KeyAnswer>;

/** A text and its signature, which has not been checked. */
export type SignedAssertion = Pick<ClientAssertion, "algorithm" | "keyId" | "signed" | "signature">;

/** Why no key has made the signature. */
export type SignatureProblem =
  "assertion-kid-unknown" | "assertion-fits-no-key" | "assertion-signature-wrong";

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
  { algorithm, signed, signature }: Omit<SignedAssertion, "keyId">,
): boolean {
  const { hash, input } = verifications[algorithm];
  return verify(hash, Buffer.from(signed), { ...input, key }, signature);
}

/** The keys that fit the assertion. Without `kid`, each of them may be the one. @rfc 7515 §4.1.4 */
function fittingKeys({ keys }: PublicKeySet, { keyId, algorithm }: SignedAssertion): readonly KeyObject[] {
  const named = keyId === undefined ? keys : keys.filter(({ kid }) => kid === keyId);
  return named.flatMap((key) => readClientKey(key, algorithm) ?? []).slice(0, maxKeys);
}

function isNamed({ keys }: PublicKeySet, { keyId }: SignedAssertion): boolean {
  return keyId !== undefined && keys.some(({ kid }) => kid === keyId);
}

/** Why none of these keys has made the signature, or `undefined` when one has. @rfc 7515 §5.2 */
export function signatureProblem(
  keys: PublicKeySet,
  assertion: SignedAssertion,
): SignatureProblem | undefined {
  if (assertion.keyId !== undefined && !isNamed(keys, assertion)) return "assertion-kid-unknown";
  const fitting = fittingKeys(keys, assertion);
  if (fitting.length === 0) return "assertion-fits-no-key";
  return fitting.some((key) => isSignedBy(key, assertion)) ? undefined : "assertion-signature-wrong";
}

/** As much as lies between two attempts to fetch keys. */
const secondsBetween = 30;

/** Refusals that say nothing about the assertion. */
export const clientKeyReasons = {
  "client-keys-unreachable": (why: string): string =>
    `the keys at the jwksUri of the client, or of the identity provider that vouches, cannot be fetched now: ${why}`,
  "client-keys-not-asked-again":
    "no remembered key of the client, or of the identity provider that vouches, verifies the assertion, and its jwksUri was asked for newer keys less than 30 seconds ago: try again after 30 seconds",
} as const;

/** Asks for the keys at one URL. */
type AskKeys = (question: Pick<KeyQuestion, "refresh">) => Promise<KeyAnswer>;

/** The client must keep its credentials: there may be a new key that this server cannot see yet. @rfc 6749 §5.2 */
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

async function fetchedKeys(ask: AskKeys, question: Pick<KeyQuestion, "refresh">): Promise<FoundKeys> {
  const answer = await ask(question);
  if (answer.kind === "found") return answer;
  const why = because(clientKeyReasons, "client-keys-unreachable", answer.reason);
  throw notNow(why, answer.kind === "too-many" ? 1 : secondsBetween);
}

const noKeys: PublicKeySet = { keys: [] };

/** What is wrong with the signature by these keys. It is certain where no newer ones could be better. */
function signatureVerdict(
  { text, isFinal }: FoundKeys,
  assertion: SignedAssertion,
): { readonly problem: SignatureProblem | undefined; readonly isCertain: boolean } {
  const keys = parseKeySet(parseJson(text)) ?? noKeys;
  const problem = signatureProblem(keys, assertion);
  return { problem, isCertain: problem === undefined || isFinal || isNamed(keys, assertion) };
}

/**
 * The same for keys at a URL. They are asked for again when none of them may be the one: it has another `kid`, or none has signed and the
 * assertion does not name its key. Where they could not be asked for, nobody knows whether there is a new one: a refusal would be a guess,
 * which any stranger could bring about by a `kid` that is made up.
 *
 * @throws OAuthError `temporarily_unavailable`
 */
export async function signatureProblemAt(
  ask: AskKeys,
  assertion: SignedAssertion,
): Promise<SignatureProblem | undefined> {
  const known = await fetchedKeys(ask, { refresh: false });
  const first = signatureVerdict(known, assertion);
  if (first.isCertain) return first.problem;
  const newer = await fetchedKeys(ask, { refresh: true });
  // a flood of such assertions must not cost each signature twice
  const second =
    newer.text === known.text ? { ...first, isCertain: newer.isFinal } : signatureVerdict(newer, assertion);
  if (second.isCertain) return second.problem;
  throw notNow(because(clientKeyReasons, "client-keys-not-asked-again"));
}

/** Stores that the assertion has been used: false for one that was before. If that fails, it may be used up, and the client needs another. */
export async function isFirstUse(
  { clientAssertions }: Pick<Storage, "clientAssertions">,
  { used, now }: { used: UsedAssertion; now: EpochSeconds },
): Promise<boolean> {
  try {
    return (await clientAssertions.use(used, now)) === "used";
  } catch (cause) {
    throw lateError("assertion-use-failed", "storage.clientAssertions.use failed: see the cause", { cause });
  }
}
