/** Checks the signing keys that a host passes, when the server is created and at every rotation. RFC 7517, 7518 §3.1. */
import type { EpochSeconds } from "../protocol/time";
import {
  kindOfKeySource,
  readSigningKey,
  type SigningKey,
  type SigningKeySource,
} from "../signing/signing-key";

const fix =
  "Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA of at least 2048 bits; or { key, signsFrom } with signsFrom in epoch seconds.";

const problems: Readonly<Record<ReturnType<typeof kindOfKeySource>, string>> = {
  empty: "is empty. Is the environment variable set?",
  public: "is a public key, and only a private key can sign.",
  unusable: "is not a usable private key.",
};

/**
 * The keys, read and checked together, in the order of `sources`. `by` is the function that the host called, for the error text.
 *
 * @throws TypeError that names the key by its position, and never quotes it.
 */
export function readSigningKeys(
  sources: readonly SigningKeySource[],
  { by, now }: { by: "createAuthServer" | "rotateKeys"; now: EpochSeconds },
): readonly SigningKey[] {
  if (!Array.isArray(sources))
    throw new TypeError(`${by}: signingKeys is not a list. Write a list of private keys.`);
  const keys = sources.map((source, index) => {
    try {
      return readSigningKey(source);
    } catch {
      // no cause: the original error may quote the private key
      throw new TypeError(`${by}: signingKeys.${index} ${problems[kindOfKeySource(source)]} ${fix}`);
    }
  });
  // verifiers pick the key by its kid
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) {
    throw new TypeError(
      `${by}: signingKeys has two keys with the same kid. Leave one out, or give each its own kid.`,
    );
  }
  if (!keys.some(({ signsFrom }) => signsFrom <= now)) {
    throw new TypeError(
      `${by}: signingKeys has no key that may sign now. Keep the old key until the new one signs.`,
    );
  }
  return keys;
}
