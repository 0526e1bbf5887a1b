/** Which key signs now and which keys verify, so that rotation never refuses a valid token. RFC 7517 §5, 9700 §2.5. */
import type { EpochSeconds } from "../protocol/time";
import type { SigningKey } from "./signing-key";

/** The signing keys and their schedule. It follows from the keys and the time alone, so all processes agree without talking. */
export interface KeyRing {
  /**
   * The key that signs at `now`: the newest one whose `signsFrom` has come.
   *
   * @throws Error when no key may sign yet.
   */
  active(now: EpochSeconds): SigningKey;
  /** Every key that verifies: future keys, the active key, and earlier keys whose tokens may still be alive. */
  published(now: EpochSeconds): readonly SigningKey[];
  /** Replaces the keys. Among keys with the same `signsFrom`, the first one signs. */
  replace(keys: readonly SigningKey[]): void;
}

/** What a key ring starts with. */
export interface KeyRingOptions {
  readonly keys: readonly SigningKey[];
  /** The longest lifetime of a token in seconds: a replaced key goes on verifying for this long. */
  readonly tokenSeconds: number;
}

/** True when a newer key took over longer ago than any token lives. */
function isRetired(
  key: SigningKey,
  { keys, before }: { keys: readonly SigningKey[]; before: EpochSeconds },
): boolean {
  return keys.some(({ signsFrom }) => signsFrom > key.signsFrom && signsFrom <= before);
}

/** A key ring over these keys. @rfc 7517 §5 */
export function keyRing({ keys: initial, tokenSeconds }: KeyRingOptions): KeyRing {
  let keys = initial;
  return {
    active(now) {
      let newest: SigningKey | undefined;
      for (const key of keys) {
        if (key.signsFrom <= now && (!newest || key.signsFrom > newest.signsFrom)) newest = key;
      }
      if (!newest) throw new Error("no signing key is active yet: each signsFrom is in the future");
      return newest;
    },
    published: (now) => keys.filter((key) => !isRetired(key, { keys, before: now - tokenSeconds })),
    replace(next) {
      keys = next;
    },
  };
}
