/** Proofs that this process has seen, so that none counts twice here. RFC 9449 §4.3, §11.1. */
import type { EpochSeconds } from "../protocol/time";
import { digestToken } from "../protocol/token-value";

/** A good proof, and when it came. */
export interface UsedProof {
  readonly thumbprint: string;
  readonly proofId: string;
  readonly now: EpochSeconds;
}

/** Notes a proof. False for one that was noted before. */
export type NoteProof = (proof: UsedProof) => boolean;

/** A proof is too old after 60 seconds, and its client's clock may be 30 seconds ahead. */
const keptSeconds = 90;
/** Of more proofs at once, the oldest half is forgotten. */
const maxProofs = 100_000;
/** A key that makes more loses its own oldest ones, and none of another key. */
const maxProofsOfKey = 1_000;

/** Thumbprint → digests of the ids of its proofs, the oldest first. */
type Proofs = Map<string, Set<string>>;

/**
 * Keeps proofs for two spans of time. A span that is old or full takes the place of the one before, which is forgotten as a whole: no proof
 * needs a timer or a time of its own.
 */
export function seenProofs(): NoteProof {
  let before: Proofs = new Map();
  let recent: Proofs = before;
  let since: EpochSeconds = -Infinity;
  let count = 0;
  return ({ thumbprint, proofId, now }) => {
    if (now - since >= keptSeconds || count >= maxProofs / 2) {
      [before, recent, since, count] = [recent, new Map(), now, 0];
    }
    const digest = digestToken(proofId);
    const own = recent.get(thumbprint) ?? new Set();
    if (own.has(digest) || before.get(thumbprint)?.has(digest)) return false;
    recent.set(thumbprint, own.add(digest));
    const [oldest = ""] = own;
    if (own.size > maxProofsOfKey) own.delete(oldest);
    else count += 1;
    return true;
  };
}
