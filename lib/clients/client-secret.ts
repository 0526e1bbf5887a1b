/** Client secrets: generation, digests, constant-time verification. RFC 6749 §2.3.1, §10.10, Appendix A.2; 9700 §4.14. */
import { createHmac, hash as digestOf, randomBytes, scrypt, type ScryptOptions } from "node:crypto";
import type { ConfidentialClient } from "../protocol/client";
import { hostMistake } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import type { Clock, EpochSeconds } from "../protocol/time";
import { isSameSecret } from "../protocol/token-value";
import { boundedCache } from "../recall/bounded-cache";
import { type Flight, flights } from "../recall/single-flight";
import { type InTurn, takingTurns } from "../recall/turns";

/** A parsed entry of `secretDigests`: SHA-256 for random secrets, scrypt for those that a person chose. */
export type SecretDigest =
  | { readonly kind: "sha256"; readonly hash: Buffer }
  | { readonly kind: "scrypt"; readonly salt: Buffer; readonly hash: Buffer; readonly cost: ScryptOptions };

const scryptCost = { ln: 15, r: 8, p: 1 };
const sha256Form = /^sha256:([A-Za-z0-9_-]{43})$/;
const scryptForm = /^scrypt:ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2}):([A-Za-z0-9_-]{22}):([A-Za-z0-9_-]{43})$/;

function costOptions({ ln, r, p }: { ln: number; r: number; p: number }): ScryptOptions {
  return { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r };
}

/** The parts of a stored digest, or `undefined` when it has neither form or its cost is out of bounds. */
export function parseSecretDigest(digest: string): SecretDigest | undefined {
  const sha256 = sha256Form.exec(digest);
  if (sha256?.[1]) return { kind: "sha256", hash: Buffer.from(sha256[1], "base64url") };
  const parts = scryptForm.exec(digest);
  if (!parts) return undefined;
  const [ln, r, p] = parts.slice(1, 4).map(Number) as [number, number, number];
  // below these bounds a digest would not protect the secret, and above them each check would stall the server
  if (ln < 14 || ln > 17 || r < 8 || r > 16 || p < 1 || p > 4) return undefined;
  const [salt, hash] = parts.slice(4, 6).map((part) => Buffer.from(part, "base64url")) as [Buffer, Buffer];
  return { kind: "scrypt", salt, hash, cost: costOptions({ ln, r, p }) };
}

function deriveKey(secret: string, { salt, cost }: { salt: Buffer; cost: ScryptOptions }): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

/**
 * True for text without control characters. scrypt pads short secrets with NULs, so a secret with NULs at its end would match
 * as well. Text beyond ASCII is accepted, which the RFC does not allow.
 *
 * @rfc 6749 Appendix A.2
 */
export function isClientSecret(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- they are what it looks for
  return !/[\0-\x1f\x7f]/.test(text);
}

/** True when the secret has this digest. Compares in constant time; scrypt runs off the event loop. */
export async function secretMatches(secret: string, digest: SecretDigest): Promise<boolean> {
  const derived =
    digest.kind === "sha256"
      ? Buffer.from(digestOf("sha256", secret, "base64url"), "base64url")
      : await deriveKey(secret, digest);
  return isSameSecret(derived, digest.hash);
}

/**
 * A new client secret of 256 random bits. Give `secret` to the client, once, and store `digest` in `secretDigests`. The secret
 * cannot be guessed, so a fast digest is enough.
 *
 * @rfc 6749 §2.3.1
 */
export function generateClientSecret(): { readonly secret: string; readonly digest: string } {
  const secret = randomBytes(32).toString("base64url");
  return { secret, digest: `sha256:${digestOf("sha256", secret, "base64url")}` };
}

/**
 * The digest of a secret that a person chose, to be stored in `secretDigests` (scrypt, N = 2^15; each check takes about 32 MiB
 * and a tenth of a second). Prefer `generateClientSecret()`: its secrets cannot be guessed, so checking them is cheap.
 *
 * @throws TypeError (as a rejection) when the secret is shorter than 12 characters or contains a control character.
 * @rfc 6749 §2.3.1
 */
export async function digestClientSecret(secret: string): Promise<string> {
  if (typeof secret !== "string" || secret.length < 12) {
    throw hostMistake(
      "short-client-secret",
      "digestClientSecret: the secret must have at least 12 characters.",
    );
  }
  if (!isClientSecret(secret)) {
    throw hostMistake(
      "control-character-in-secret",
      "digestClientSecret: the secret must not contain control characters, such as a trailing line feed (RFC 6749 Appendix A.2).",
    );
  }
  const salt = randomBytes(16);
  const hash = await deriveKey(secret, { salt, cost: costOptions(scryptCost) });
  const { ln, r, p } = scryptCost;
  return `scrypt:ln=${ln},r=${r},p=${p}:${salt.toString("base64url")}:${hash.toString("base64url")}`;
}

/** True when the secret is one of the client's. @throws OAuthError `temporarily_unavailable` when too many checks are waiting */
export type VerifyClientSecret = (client: ConfidentialClient, clientSecret: string) => Promise<boolean>;

const maxRemembered = 10_000;
const maxWatched = 1_000;

/** The refusal of a flood. */
export const secretReasons = {
  "too-many-secret-checks":
    "more than a hundred scrypt checks of client secrets are waiting (RFC 6749 §2.3.1): use generateClientSecret(), whose secrets are cheap to check",
} as const;

function tooMany(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many client authentications at once.",
    ...because(secretReasons, "too-many-secret-checks"),
  });
}

/**
 * Turns of clients at derivations. A flood of wrong secrets for one client costs another client every other turn, and no more. The client
 * under attack waits its turn while no more than a hundred requests arrive at once. Beyond that, nothing tells its first request in this
 * process from the attacker's requests: each has the same chance, derivations divided by requests, and trying again helps.
 */
export function derivationTurns(): InTurn {
  // Node's thread pool must keep threads free for file access and DNS; with digests of digestClientSecret(), the last of those that
  // wait does so for about five seconds
  return takingTurns({ running: 2, waiting: 100, refusal: tooMany });
}

/** A digest that needs a derivation; `key` identifies it together with the client and the presented secret. */
interface SlowCheck {
  readonly digest: SecretDigest;
  readonly key: string;
  /** True for the second secret of a client. */
  readonly isOld: boolean;
}

/** Who hears of clients that use their second secret. */
export interface OldSecretWatch {
  readonly tell: (clientId: string) => void;
  readonly clock: Clock;
}

/** Tells of each client at most once a minute. */
function watcher({ tell, clock }: OldSecretWatch): (clientId: string) => void {
  const told = boundedCache<EpochSeconds>(maxWatched);
  return (clientId) => {
    const now = clock();
    if (Math.abs(now - (told.get(clientId) ?? -Infinity)) < 60) return;
    told.set(clientId, now);
    tell(clientId);
  };
}

/**
 * Verifies cheap things first: SHA-256 digests, then whether this process has verified the same secret before, and only then a
 * derivation. Failures are never remembered, so no number of wrong secrets can push out a success. Equal checks that arrive at
 * the same time share one derivation.
 */
export function clientSecretVerifier(oldSecrets?: OldSecretWatch): VerifyClientSecret {
  // a key of this process only, so that guesses cannot be tested against what is remembered
  const memoryKey = randomBytes(32);
  const remembered = boundedCache<true>(maxRemembered);
  const underWay = flights<Flight<SlowCheck | undefined>>();
  const inTurn = derivationTurns();
  const watch = oldSecrets && watcher(oldSecrets);

  function keyOf(...parts: readonly string[]): string {
    return createHmac("sha256", memoryKey).update(JSON.stringify(parts)).digest("base64url");
  }

  async function derive(secret: string, checks: readonly SlowCheck[]): Promise<SlowCheck | undefined> {
    for (const check of checks) {
      if (!(await secretMatches(secret, check.digest))) continue;
      remembered.set(check.key, true);
      return check;
    }
    return undefined;
  }

  function share(clientId: string, { secret, slow }: { secret: string; slow: readonly SlowCheck[] }) {
    const name = slow.map(({ key }) => key).join();
    const begin = (): Promise<SlowCheck | undefined> => inTurn(clientId, () => derive(secret, slow));
    return (underWay.get(name) ?? underWay.show(name, { answer: begin() })).answer;
  }

  return async ({ clientId, secretDigests }, secret) => {
    const slow: SlowCheck[] = [];
    for (const [index, text] of secretDigests.entries()) {
      const isOld = index > 0;
      const digest = parseSecretDigest(text);
      if (digest?.kind === "scrypt") slow.push({ digest, key: keyOf(clientId, text, secret), isOld });
      else if (digest && (await secretMatches(secret, digest))) {
        if (isOld) watch?.(clientId);
        return true;
      }
    }
    if (slow.length === 0) return false;
    const matching = slow.find(({ key }) => remembered.get(key)) ?? (await share(clientId, { secret, slow }));
    if (matching?.isOld) watch?.(clientId);
    return matching !== undefined;
  };
}
