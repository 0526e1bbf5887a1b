/** Work on one key that simultaneous calls of a process share: a flood by one person must not multiply it. RFC 6749 §10.10. */

/**
 * A function that runs `act` for a key with the items that have come, one run at a time. What comes during a run shares the next one,
 * and fails with it.
 */
export function sharedRuns<T>(
  act: (items: readonly [T, ...T[]]) => Promise<void>,
): (key: string, item: T) => Promise<void> {
  const waiting = new Map<string, { items: [T, ...T[]]; run: Promise<void> }>();
  const last = new Map<string, Promise<void>>();

  return (key, item) => {
    const joined = waiting.get(key);
    if (joined) {
      joined.items.push(item);
      return joined.run;
    }
    const items: [T, ...T[]] = [item];
    const run = (last.get(key) ?? Promise.resolve()).then(() => {
      waiting.delete(key);
      return act(items);
    });
    waiting.set(key, { items, run });
    const ended: Promise<void> = run
      .catch(() => undefined)
      .then(() => {
        if (last.get(key) === ended) last.delete(key);
      });
    last.set(key, ended);
    return run;
  };
}
