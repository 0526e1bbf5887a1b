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

interface Reading {
  /** The function that the host called, for the error text. */
  readonly by: "createAuthServer" | "rotateKeys";
  readonly now: EpochSeconds;
}

function readKeyAt(
  source: SigningKeySource,
  { index, by }: { index: number } & Pick<Reading, "by">,
): SigningKey {
  try {
    return readSigningKey(source);
  } catch {
    // no cause: the original error may quote the private key
    throw new TypeError(`${by}: signingKeys.${index} ${problems[kindOfKeySource(source)]} ${fix}`);
  }
}

/**
 * The keys, read and checked together, in the order of `sources`.
 *
 * @throws TypeError that names the key by its position, and never quotes it.
 */
export function readSigningKeys(
  sources: readonly SigningKeySource[],
  { by, now }: Reading,
): readonly SigningKey[] {
  if (!Array.isArray(sources))
    throw new TypeError(`${by}: signingKeys is not a list. Write a list of private keys.`);
  const keys = sources.map((source, index) => readKeyAt(source, { index, by }));
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

function messageOf(run: () => unknown): readonly string[] {
  try {
    run();
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** The message of every error that `readSigningKeys` could throw for these keys: those of single keys, or else those of all together. */
export function signingKeyProblems(
  sources: readonly SigningKeySource[],
  reading: Reading,
): readonly string[] {
  const single = sources.flatMap((source, index) =>
    messageOf(() => readKeyAt(source, { index, by: reading.by })),
  );
  return single.length > 0 ? single : messageOf(() => readSigningKeys(sources, reading));
}
