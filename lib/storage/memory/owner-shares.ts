/** How many entries of a map each owner holds, so that none takes the room of all others. RFC 9700 §4.14. */

/** How many entries an owner holds. */
export interface Share {
  readonly owner: string;
  entries: number;
}

/** The shares of the owners that hold something. */
export interface OwnerShares {
  /** The share of this owner: an empty one if it holds nothing. */
  of(owner: string): Share;
  /** Counts an entry more. */
  add(share: Share): void;
  /** Counts an entry less. An owner that holds nothing any more is forgotten. */
  drop(share: Share): void;
  /** How many owners hold at least one entry. */
  readonly size: number;
}

/** Shares of nobody yet. */
export function ownerShares(): OwnerShares {
  const shares = new Map<string, Share>();
  return {
    of: (owner) => shares.get(owner) ?? { owner, entries: 0 },
    add(share) {
      share.entries += 1;
      shares.set(share.owner, share);
    },
    drop(share) {
      share.entries -= 1;
      if (share.entries === 0) shares.delete(share.owner);
    },
    get size() {
      return shares.size;
    },
  };
}
