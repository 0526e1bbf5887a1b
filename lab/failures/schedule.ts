/** Random orders of events: every storage call waits twice for its turn, before its work and before its answer. */
import type { Storage } from "../../lib";
import { intercept } from "../../__tests__/storage/slow-storage";

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Storage whose calls go on one at a time, and what lets them. */
export interface Scheduled {
  readonly storage: Storage;
  /** Runs the operations at once and lets one storage call go on at a time, in an order drawn by chance, until all have ended. */
  readonly run: (operations: readonly (() => Promise<void>)[]) => Promise<void>;
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** @param fails whether the call with this name fails now, at this moment of its work. */
export function scheduled(
  storage: Storage,
  {
    random,
    fails = () => false,
  }: { random: () => number; fails?: (name: string, moment: "before" | "after") => boolean },
): Scheduled {
  const waiting: (() => void)[] = [];
  let running = false;

  const gate = (): Promise<void> =>
    running ? new Promise((resolve) => void waiting.push(resolve)) : Promise.resolve();

  const gated = intercept(storage, async (name, call) => {
    await gate();
    if (running && fails(name, "before")) throw new Error(`${name} failed before its work`);
    const answer = await call();
    await gate();
    if (running && fails(name, "after")) throw new Error(`${name} failed after its work`);
    return answer;
  });

  return {
    storage: gated,
    async run(operations) {
      running = true;
      const open = new Set(operations);
      const ended = operations.map((operation) => operation().finally(() => open.delete(operation)));
      while (open.size > 0) {
        await turn();
        const [next] = waiting.splice(Math.floor(random() * waiting.length), 1);
        next?.();
      }
      running = false;
      await Promise.all(ended);
    },
  };
}
