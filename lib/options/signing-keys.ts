/** Checks the signing keys that a host passes, when the server is created and at every rotation. RFC 7517, 7518 §3.1. */
import type { EpochSeconds } from "../protocol/time";
import { keyRing, type KeyUse, serves } from "../signing/jwt-signer";
import {
  kindOfKeySource,
  readSigningKey,
  type SigningKey,
  type SigningKeySource,
} from "../signing/signing-key";
import { optionError, type OptionProblem, wrong } from "./problem";

const fix =
  'Write a private key as PEM, JWK or KeyObject: EC P-256, P-384 or P-521, or RSA of at least 2048 bits; or { key, signsFrom } with signsFrom in epoch seconds, or { key, for: "id_token" }.';
const fixOfRemote =
  "Write { alg, kid, publicJwk, sign }, or that as key in { key, signsFrom }: publicJwk is the public key alone, alg fits it, and sign is a function.";

const problemOf = {
  empty: { ...wrong("variable-not-set"), fix },
  public: { ...wrong("public-signing-key"), fix },
  remote: { ...wrong("unusable-remote-signer"), fix: fixOfRemote },
  unusable: { ...wrong("unusable-signing-key"), fix },
} as const satisfies Readonly<Record<ReturnType<typeof kindOfKeySource>, unknown>>;

/** The keys that could be read, and what is wrong with each of the others, by its position. It quotes no key. */
function readEach(sources: readonly SigningKeySource[]): {
  readonly keys: readonly SigningKey[];
  readonly problems: readonly OptionProblem[];
} {
  const keys: SigningKey[] = [];
  const problems: OptionProblem[] = [];
  for (const [index, source] of sources.entries()) {
    try {
      keys.push(readSigningKey(source));
    } catch {
      // no cause: the original error may quote the private key
      problems.push({ path: `signingKeys.${index}`, ...problemOf[kindOfKeySource(source)] });
    }
  }
  return { keys, problems };
}

/** When keys are looked at, and which algorithms ID tokens need. */
interface KeyNeeds {
  readonly idAlgorithms?: readonly string[];
  /** The only ones that may sign access tokens; left out: any. */
  readonly accessAlgorithms?: readonly string[] | undefined;
  readonly now: EpochSeconds;
}

function problemOfAll(
  keys: readonly SigningKey[],
  { idAlgorithms = [], accessAlgorithms, now }: KeyNeeds,
): OptionProblem | undefined {
  const path = "signingKeys";
  // verifiers pick the key by its kid
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length)
    return {
      path,
      ...wrong("signing-keys-with-one-kid"),
      fix: "Leave one out, or give each its own kid.",
    };
  const signs = (use: KeyUse): boolean => keys.some((key) => serves(key, use) && key.signsFrom <= now);
  if (!signs("access"))
    return { path, ...wrong("no-key-signs-now"), fix: "Keep the old key until the new one signs." };
  const signing = keyRing({ keys, tokenSeconds: 0 }).active(now);
  const later = keys.filter((key) => serves(key, "access") && key.signsFrom > now);
  const outside = [signing, ...later].find(
    ({ algorithm }) => accessAlgorithms?.includes(algorithm) === false,
  );
  if (outside) {
    const fixOfKey = "Make one: npx authmount signing-key.";
    return { path, ...wrong("signing-key-outside-profile", outside.algorithm), fix: fixOfKey };
  }
  const missing = idAlgorithms.find((algorithm) => !signs(algorithm));
  return missing === undefined
    ? undefined
    : {
        path,
        ...wrong("no-key-for-id-tokens", missing),
        fix: `Add one: npx authmount signing-key --alg ${missing} --for id_token --add-to SIGNING_KEYS. Or write an idTokenAlgorithm that a key has.`,
      };
}

/** Everything that is wrong with these keys: with single ones, or else with all of them together. */
export function signingKeyProblems(
  sources: readonly SigningKeySource[],
  needs: KeyNeeds,
): readonly OptionProblem[] {
  const { keys, problems } = readEach(sources);
  return problems.length > 0 ? problems : [problemOfAll(keys, needs) ?? []].flat();
}

/**
 * The keys, read and checked together, in the order of `sources`. `by` is the function that the host called, for the error's text.
 *
 * @throws TypeError that names the key by its position, and never quotes it.
 */
export function readSigningKeys(
  sources: readonly SigningKeySource[],
  { by, ...needs }: KeyNeeds & { readonly by: "createAuthServer" | "rotateKeys" },
): readonly SigningKey[] {
  if (!Array.isArray(sources)) {
    const notAList = wrong("signing-keys-not-a-list");
    throw optionError(by, { path: "signingKeys", ...notAList, fix: "Write a list of private keys." });
  }
  const { keys, problems } = readEach(sources);
  const problem = problems[0] ?? problemOfAll(keys, needs);
  if (problem) throw optionError(by, problem);
  return keys;
}
