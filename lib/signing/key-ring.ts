/** Which key signs now, and which ones verify: rotation without a moment in which a token is refused. RFC 7517 §5, 9700 §2.5. */
import type { EpochSeconds } from "../protocol/time";
import type { SigningKey } from "./signing-key";

export interface KeyRing {
  /** The key that signs. */
  active(now: EpochSeconds): SigningKey;
  /** Every key that verifies: those of the future, the active one, and those before it whose tokens may still live. */
  published(now: EpochSeconds): readonly SigningKey[];
  /** Takes another list of keys; the first one signs among those with the same `signsFrom`. */
  replace(keys: readonly SigningKey[]): void;
}

export interface KeyRingOptions {
  readonly keys: readonly SigningKey[];
  /** The longest lifetime of a token: a key that has been replaced verifies for so long. */
  readonly tokenSeconds: number;
}

/** True when another key has signed in its place for longer than any token lives. */
function isRetired(
  key: SigningKey,
  { keys, before }: { keys: readonly SigningKey[]; before: EpochSeconds },
): boolean {
  return keys.some(({ signsFrom }) => signsFrom > key.signsFrom && signsFrom <= before);
}

export function keyRing({ keys: initial, tokenSeconds }: KeyRingOptions): KeyRing {
  let keys = initial;
  return {
    active(now) {
      let newest: SigningKey | undefined;
      for (const key of keys) {
        if (key.signsFrom <= now && (!newest || key.signsFrom > newest.signsFrom)) newest = key;
      }
      if (!newest) throw new Error("no signing key may sign yet");
      return newest;
    },
    published: (now) => keys.filter((key) => !isRetired(key, { keys, before: now - tokenSeconds })),
    replace(next) {
      keys = next;
    },
  };
}
