/** Which keys belong together, so that those of one group are found without a look at the others. */

export interface KeyGroups {
  add(group: string, key: string): void;
  remove(group: string, key: string): void;
  /** The keys of this group, in the order in which they came. */
  keysOf(group: string): readonly string[];
  /** The number of groups that have a key. */
  readonly size: number;
}

export function keyGroups(): KeyGroups {
  // most groups have one key, and a set for each of them would be larger than the record that it leads to
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
    get size() {
      return groups.size;
    },
  };
}
