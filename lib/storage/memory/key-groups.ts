/** Which keys belong together, so that those of one group are found without looking at the others. */

/** Keys by their group. */
export interface KeyGroups {
  /** Adds a key to a group. Idempotent. */
  add(group: string, key: string): void;
  /** Removes a key from a group, if it is there. */
  remove(group: string, key: string): void;
  /** How many keys this group has. */
  sizeOf(group: string): number;
  /** The keys of this group, in the order in which they were added. */
  keysOf(group: string): readonly string[];
  /** The key of this group that was added first. */
  firstOf(group: string): string | undefined;
  /** The number of groups that have at least one key. */
  readonly size: number;
}

/** Groups without any key yet. */
export function keyGroups(): KeyGroups {
  // most groups have a single key, and a set for each of them would be larger than the record that it leads to
  const groups = new Map<string, string | Set<string>>();
  return {
    add(group, key) {
      const known = groups.get(group);
      if (known === undefined) groups.set(group, key);
      else if (typeof known !== "string") known.add(key);
      else if (known !== key) groups.set(group, new Set([known, key]));
    },
    remove(group, key) {
      const known = groups.get(group);
      if (known === key) groups.delete(group);
      if (known === undefined || typeof known === "string") return;
      known.delete(key);
      if (known.size === 0) groups.delete(group);
    },
    keysOf(group) {
      const known = groups.get(group) ?? [];
      return typeof known === "string" ? [known] : [...known];
    },
    firstOf(group) {
      const known = groups.get(group);
      return typeof known === "object" ? known.values().next().value : known;
    },
    sizeOf(group) {
      const known = groups.get(group);
      return typeof known === "object" ? known.size : known === undefined ? 0 : 1;
    },
    get size() {
      return groups.size;
    },
  };
}
