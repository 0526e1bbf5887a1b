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

/** Algorithms that access tokens can be signed with. @rfc 7518 §3.1 */
export type SigningAlgorithm =
  "ES256" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512";

/** A private key as JWK; `alg` and `kid` are used when given. */
export interface PrivateJwk {
  readonly kty: string;
  readonly alg?: string;
  readonly kid?: string;
  readonly use?: string;
  readonly [member: string]: unknown;
}

/**
 * A private key: a KeyObject, a JWK, or text, as an environment variable holds it: PEM (its line breaks may be written as `\\n`) or the
 * JSON of a JWK. EC P-256, P-384, P-521, or RSA from 2048 bits.
 */
export type PrivateKeySource = string | PrivateJwk | KeyObject;

/**
 * A key that is published at once and signs from a moment on. Keys that signed before it are retired when the last token
 * that they have signed has expired.
 */
export interface ScheduledKey {
  readonly key: PrivateKeySource;
  readonly signsFrom: EpochSeconds;
}

/** A private key that signs at once, or one with the moment from which it signs. */
export type SigningKeySource = PrivateKeySource | ScheduledKey;

export interface SigningKey {
  /** 0 for a key without a schedule. */
  readonly signsFrom: EpochSeconds;
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const algorithmsOfCurve: Readonly<Record<string, readonly SigningAlgorithm[]>> = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
};
const rsaAlgorithms: readonly SigningAlgorithm[] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];

/** The algorithms a key may be used with; the first one is its default. */
function algorithmsOf(key: KeyObject): readonly SigningAlgorithm[] {
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ec") return algorithmsOfCurve[namedCurve] ?? [];
  return key.asymmetricKeyType === "rsa" && modulusLength >= 2048 ? rsaAlgorithms : [];
}

/** SHA-256 thumbprint of the public key's required members in their order. @rfc 7638 §3 */
function thumbprint(publicKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicKey.export({ format: "jwk" });
  const members = kty === "RSA" ? { e, kty, n } : { crv, kty, x, y };
  return createHash("sha256").update(JSON.stringify(members)).digest("base64url");
}

function isScheduled(source: SigningKeySource): source is ScheduledKey {
  return typeof source === "object" && !(source instanceof KeyObject) && "signsFrom" in source;
}

function isJwk(source: PrivateKeySource): source is PrivateJwk {
  return typeof source === "object" && !(source instanceof KeyObject) && !("asymmetricKeyType" in source);
}

/** What the text of a key holds. Environment files often write the line breaks of PEM as `\\n`. */
function parseKeyText(text: string): KeyObject | PrivateJwk {
  return text.trimStart().startsWith("{")
    ? (JSON.parse(text) as PrivateJwk)
    : createPrivateKey(text.replaceAll("\\n", "\n"));
}

function toPrivateKey(source: KeyObject | PrivateJwk): KeyObject {
  const key = isJwk(source) ? createPrivateKey({ key: { ...source }, format: "jwk" }) : source;
  if (key.type !== "private") throw new TypeError("not a private key");
  return key;
}

/** True for a JWK of a key pair without its private member. @rfc 7518 §6.2.2, §6.3.2 */
function isPublicJwk(value: unknown): boolean {
  return typeof value === "object" && value !== null && "kty" in value && !("d" in value);
}

function isPublicJwkText(text: string): boolean {
  try {
    return isPublicJwk(JSON.parse(text));
  } catch {
    return false;
  }
}

/** A JWK may join one private half with another public one. */
function isPair(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const probe = Buffer.from("probe");
  return verify("sha256", probe, publicKey, sign("sha256", probe, privateKey));
}

function readPrivateKey(given: PrivateKeySource): Omit<SigningKey, "signsFrom"> {
  const source = typeof given === "string" ? parseKeyText(given) : given;
  const privateKey = toPrivateKey(source);
  const publicKey = createPublicKey(privateKey);
  const { alg, kid, use = "sig" }: Partial<PrivateJwk> = isJwk(source) ? source : {};
  if (use !== "sig" || (kid !== undefined && typeof kid !== "string"))
    throw new TypeError("not a JWK for signing");
  const algorithms = algorithmsOf(privateKey);
  const algorithm = alg === undefined ? algorithms[0] : algorithms.find((known) => known === alg);
  if (!algorithm) throw new TypeError("no algorithm of RFC 7518 §3.1 for this key");
  if (!isPair(privateKey, publicKey))
    throw new TypeError("the private and the public half do not belong together");
  return { kid: kid ?? thumbprint(publicKey), algorithm, privateKey, publicKey };
}

/** @throws Error when the source is no usable private key or schedule; the caller names the option. */
export function readSigningKey(source: SigningKeySource): SigningKey {
  if (!isScheduled(source)) return { ...readPrivateKey(source), signsFrom: 0 };
  const { key, signsFrom } = source;
  // milliseconds, say, would never come
  if (!Number.isSafeInteger(signsFrom) || signsFrom < 0 || signsFrom > 1e11)
    throw new TypeError("not a moment");
  return { ...readPrivateKey(key), signsFrom };
}

/** What a source that is no usable private key looks like, for the message to the developer. */
export function kindOfKeySource(source: unknown): "empty" | "public" | "unusable" {
  const key: unknown = typeof source === "object" && source !== null && "key" in source ? source.key : source;
  if (typeof key === "string") {
    if (key.trim() === "") return "empty";
    if (key.trimStart().startsWith("{")) return isPublicJwkText(key) ? "public" : "unusable";
    return /-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(key) ? "public" : "unusable";
  }
  if (key instanceof KeyObject) return key.type === "public" ? "public" : "unusable";
  return isPublicJwk(key) ? "public" : "unusable";
}

/** The public half as JWK, for the key set. @rfc 7517 §4 */
export function publicJwk({ publicKey, kid, algorithm }: SigningKey): Readonly<Record<string, unknown>> {
  return { ...publicKey.export({ format: "jwk" }), kid, alg: algorithm, use: "sig" };
}

/**
 * A new P-256 private key for ES256 as JWK, with its `kid`. It is JSON: keep it where you keep secrets.
 *
 * @rfc 7517 §4, 7518 §3.4
 */
export function generateSigningKey(): PrivateJwk {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kid, algorithm } = readPrivateKey(privateKey);
  return { ...privateKey.export({ format: "jwk" }), kty: "EC", kid, alg: algorithm, use: "sig" };
}
