/** The key pairs that sign access tokens, from PEM, JWK or KeyObject. RFC 7518 §3.1, 7517, 7638. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  sign,
  verify,
} from "node:crypto";
import type { EpochSeconds } from "../protocol/time";
import { isRemoteSigner, readRemoteSigner, type RemoteKey, type RemoteSigner } from "./remote-signer";
import { algorithmsOf, type SigningAlgorithm, type VerificationKey } from "./verification-key";

/** A private key as JWK. `alg` and `kid` are used when present. @rfc 7517 §4 */
export interface PrivateJwk {
  /** `"EC"` or `"RSA"`. */
  readonly kty: string;
  /** A `SigningAlgorithm` that fits the key; the default of its curve or RS256 when left out. */
  readonly alg?: string;
  /** The key's thumbprint (RFC 7638) when left out. */
  readonly kid?: string;
  /** `"sig"` or left out. */
  readonly use?: string;
  readonly [member: string]: unknown;
}

/**
 * A private key: a KeyObject, a JWK, or text as an environment variable holds it. Text is PEM, whose line breaks may be written as
 * `\\n`, or the JSON of a JWK. EC with P-256, P-384 or P-521, or RSA with at least 2048 bits.
 */
export type PrivateKeySource = string | PrivateJwk | KeyObject;

/**
 * A key that is published at once and signs from a given time on. Keys that signed before it are retired once the last token that
 * they signed has expired.
 */
export interface ScheduledKey {
  /** The private key, or what signs with it. */
  readonly key: PrivateKeySource | RemoteSigner;
  /** When it takes over, in epoch seconds. Left out: at once. */
  readonly signsFrom?: EpochSeconds;
  /** `"id_token"`: it signs ID tokens only. Left out: it signs access tokens, and ID tokens of its algorithm. */
  readonly for?: "id_token";
}

/** A key that signs at once, in this process or outside, or one with the time from which it signs, or with what it signs. */
export type SigningKeySource = PrivateKeySource | RemoteSigner | ScheduledKey;

/** A key pair that was read and checked. */
export interface LocalKey extends VerificationKey {
  readonly privateKey: KeyObject;
}

interface Schedule {
  /** From when on it signs; 0 for a key without a schedule. */
  readonly signsFrom: EpochSeconds;
  /** Set for a key that signs nothing else. */
  readonly for?: "id_token";
}

/** A signing key that was read and checked, in this process or outside. */
export type SigningKey = (LocalKey | RemoteKey) & Schedule;

/** SHA-256 thumbprint: the digest of the public key's required members in their fixed order. @rfc 7638 §3 */
function thumbprint(publicKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicKey.export({ format: "jwk" });
  const members = kty === "RSA" ? { e, kty, n } : { crv, kty, x, y };
  return createHash("sha256").update(JSON.stringify(members)).digest("base64url");
}

/** `key` too: the others beside a key, in place of around it, make it none. */
const scheduleKeys = ["key", "signsFrom", "for"];

function isScheduled(source: SigningKeySource): source is ScheduledKey {
  return (
    typeof source === "object" &&
    !(source instanceof KeyObject) &&
    scheduleKeys.some((name) => name in source)
  );
}

function isJwk(source: KeyObject | PrivateJwk): source is PrivateJwk {
  return !("asymmetricKeyType" in source);
}

/** What the text of a key holds. Environment files often write the line breaks of PEM as `\\n`. */
function parseKeyText(text: string): KeyObject | PrivateJwk {
  return text.trimStart().startsWith("{")
    ? (JSON.parse(text.trim()) as PrivateJwk)
    : createPrivateKey(text.replaceAll("\\r", "").replaceAll("\\n", "\n"));
}

function toPrivateKey(source: KeyObject | PrivateJwk): KeyObject {
  const key = isJwk(source) ? createPrivateKey({ key: { ...source }, format: "jwk" }) : source;
  if (key.type !== "private") throw new TypeError("not a private key");
  return key;
}

/** True for a JWK of a key pair without its private member. @rfc 7518 §6.2.2, §6.3.2 */
function isPublicJwk(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("kty" in value)) return false;
  return ["EC", "RSA", "OKP"].includes(String(value.kty)) && !("d" in value);
}

function isPublicJwkText(text: string): boolean {
  try {
    return isPublicJwk(JSON.parse(text));
  } catch {
    return false;
  }
}

/** False for a JWK whose private half belongs to another public half: nobody could verify its signatures. */
function isPair(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const probe = Buffer.from("probe");
  return verify("sha256", probe, publicKey, sign("sha256", probe, privateKey));
}

/** The key pair of a source, with its algorithm and `kid`. @throws Error when it is not usable; it may contain key material */
export function readPrivateKey(given: PrivateKeySource): LocalKey {
  const source = typeof given === "string" ? parseKeyText(given) : given;
  const privateKey = toPrivateKey(source);
  const publicKey = createPublicKey(privateKey);
  const { alg, kid, use = "sig" }: Partial<PrivateJwk> = isJwk(source) ? source : {};
  if (use !== "sig" || (kid !== undefined && typeof kid !== "string"))
    throw new TypeError("the JWK is not for signing: use must be sig, and kid a string");
  const algorithms = algorithmsOf(privateKey);
  const algorithm = alg === undefined ? algorithms[0] : algorithms.find((known) => known === alg);
  if (!algorithm) throw new TypeError("no supported algorithm (RFC 7518 §3.1) fits this key");
  if (!isPair(privateKey, publicKey))
    throw new TypeError("the private half and the public half do not match");
  return { kid: kid ?? thumbprint(publicKey), algorithm, privateKey, publicKey };
}

function readKey(source: PrivateKeySource | RemoteSigner): LocalKey | RemoteKey {
  return isRemoteSigner(source) ? readRemoteSigner(source) : readPrivateKey(source);
}

/**
 * The signing key of a source, with its algorithm and `kid`.
 *
 * @throws Error when the source is not a usable key or schedule. The caller names the option, and never shows the cause:
 * it may contain key material.
 */
export function readSigningKey(source: SigningKeySource): SigningKey {
  if (!isScheduled(source)) return { ...readKey(source), signsFrom: 0 };
  const { key } = source;
  const { signsFrom, for: use } = { signsFrom: 0, for: undefined, ...source };
  // a time in milliseconds, for example, would lie in the far future, and the key would never sign
  if (!Number.isSafeInteger(signsFrom) || signsFrom < 0 || signsFrom > 1e11)
    throw new TypeError("signsFrom must be whole seconds since 1970");
  if (
    ("for" in source && use !== "id_token") ||
    !Object.keys(source).every((name) => scheduleKeys.includes(name))
  )
    throw new TypeError('it may have key, signsFrom and for: "id_token" only');
  return { ...readKey(key), signsFrom, ...(use && { for: use }) };
}

/** What a source that cannot be used looks like, for the message to the developer. */
export function kindOfKeySource(source: unknown): "empty" | "public" | "remote" | "unusable" {
  const key: unknown = typeof source === "object" && source !== null && "key" in source ? source.key : source;
  if (isRemoteSigner(key)) return "remote";
  if (typeof key === "string") {
    if (key.trim() === "") return "empty";
    if (key.trimStart().startsWith("{")) return isPublicJwkText(key) ? "public" : "unusable";
    return /-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(key) ? "public" : "unusable";
  }
  if (key instanceof KeyObject) return key.type === "public" ? "public" : "unusable";
  return isPublicJwk(key) ? "public" : "unusable";
}

/** The public half as JWK, for the key set. It contains no private member. @rfc 7517 §4 */
export function publicJwk({ publicKey, kid, algorithm }: SigningKey): Readonly<Record<string, unknown>> {
  return { ...publicKey.export({ format: "jwk" }), kid, alg: algorithm, use: "sig" };
}

/** What a key for each algorithm is made of. */
const curves: Readonly<Partial<Record<SigningAlgorithm, string>>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
};

/**
 * A new private key as JWK, with its `kid`: P-256 for ES256 unless another algorithm is named. RSA keys have 2048 bits. It can be stored as
 * JSON: keep it where you keep secrets.
 *
 * @rfc 7517 §4, 7518 §3
 */
export function generateSigningKey(algorithm: SigningAlgorithm = "ES256"): PrivateJwk {
  const namedCurve = curves[algorithm];
  const { privateKey } = namedCurve
    ? generateKeyPairSync("ec", { namedCurve })
    : generateKeyPairSync("rsa", { modulusLength: 2048 });
  const { kid } = readPrivateKey(privateKey);
  const kty = namedCurve ? "EC" : "RSA";
  return { ...privateKey.export({ format: "jwk" }), kty, kid, alg: algorithm, use: "sig" };
}
