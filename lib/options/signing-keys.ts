/** The signing keys that a host gives, checked: at the start, and at every rotation. RFC 7517, 7518 §3.1. */
import type { EpochSeconds } from "../protocol/time";
import {
  kindOfKeySource,
  readSigningKey,
  type SigningKey,
  type SigningKeySource,
} from "../signing/signing-key";

const fix =
  "Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA from 2048 bits; or { key, signsFrom } with epoch seconds.";

const problems: Readonly<Record<ReturnType<typeof kindOfKeySource>, string>> = {
  empty: "is empty text: is the environment variable set?",
  public: "is a public key, and only a private key can sign.",
  unusable: "is not a usable private key.",
};

/** @throws TypeError that names the key by its place, and never quotes it. */
export function readSigningKeys(
  sources: readonly SigningKeySource[],
  { by, now }: { by: "createAuthServer" | "rotateKeys"; now: EpochSeconds },
): readonly SigningKey[] {
  if (!Array.isArray(sources))
    throw new TypeError(`${by}: signingKeys is no list. Write a list of private keys.`);
  const keys = sources.map((source, index) => {
    try {
      return readSigningKey(source);
    } catch {
      // the cause may quote the key
      throw new TypeError(`${by}: signingKeys.${index} ${problems[kindOfKeySource(source)]} ${fix}`);
    }
  });
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) {
    throw new TypeError(`${by}: signingKeys has two keys with one kid. Leave one out, or name them apart.`);
  }
  if (!keys.some(({ signsFrom }) => signsFrom <= now)) {
    throw new TypeError(
      `${by}: signingKeys has no key that may sign now. Keep the old key until the new one signs.`,
    );
  }
  return keys;
}
