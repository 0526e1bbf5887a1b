/** Limits how much is done at once, and whose turn comes next: a flood of requests must not become a flood of work. RFC 6749 §10.10, 7662 §4. */

/** Does this when it is its turn. @throws Error when too many are waiting, or its turn does not come in time */
export type InTurn = <T>(whose: string, act: () => Promise<T>) => Promise<T>;

/** How much may be done, and how much may wait. */
export interface TurnLimits {
  readonly running: number;
  readonly waiting: number;
  /** How long each may wait; left out for as long as it takes. */
  readonly waitMilliseconds?: number;
  /** What those are told who lose their place in the queue: to a newcomer, or because it took too long. */
  readonly refusal: (because: "full" | "late") => Error;
}

/** Ends the waiting: with its turn, or with a refusal. */
type Waiting = (because?: "full" | "late") => void;

/** Those who wait, by whose they are. */
interface Queues {
  readonly add: (whose: string, newcomer: Waiting) => void;
  readonly remove: (whose: string, one: Waiting) => void;
  /** Gives the next its turn. False when nobody waits. */
  readonly startNext: () => boolean;
}

function queuesOfAtMost(most: number): Queues {
  // whose turn it is comes first, and no queue is ever empty
  const queues = new Map<string, Set<Waiting>>();
  let waiting = 0;

  return {
    add(whose, newcomer) {
      const queue = queues.get(whose);
      if (queue) queue.add(newcomer);
      else queues.set(whose, new Set([newcomer]));
      waiting += 1;
      if (waiting <= most) return;
      const [longest] = [...queues.values()].toSorted((a, b) => b.size - a.size);
      const [oldest] = longest ?? [];
      oldest?.("full");
    },
    remove(whose, one) {
      const queue = queues.get(whose);
      if (!queue?.delete(one)) return;
      waiting -= 1;
      if (queue.size === 0) queues.delete(whose);
    },
    startNext() {
      const [next] = queues;
      if (!next) return false;
      const [whose, queue] = next;
      const [oldest] = queue;
      oldest?.();
      // the next turn of the same comes after those of all others
      if (queues.delete(whose)) queues.set(whose, queue);
      return true;
    },
  };
}

/**
 * Limits how many calls run and how many wait; their owners take turns. When one call too many arrives, the owner with the most waiting
 * loses its oldest. Refusing the new call instead would lock everyone out once an attacker fills the queue.
 */
export function takingTurns(most: TurnLimits): InTurn {
  const { waitMilliseconds, refusal } = most;
  const queues = queuesOfAtMost(most.waiting);
  let running = 0;

  function turn(whose: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer =
        waitMilliseconds === undefined ? undefined : setTimeout(() => end("late"), waitMilliseconds);
      const end: Waiting = (because) => {
        clearTimeout(timer);
        queues.remove(whose, end);
        if (because) reject(refusal(because));
        else resolve();
      };
      queues.add(whose, end);
    });
  }

  return async (whose, act) => {
    if (running < most.running) running += 1;
    else await turn(whose);
    try {
      return await act();
    } finally {
      // the next call that waits takes this place
      if (!queues.startNext()) running -= 1;
    }
  };
}
