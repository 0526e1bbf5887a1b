/** Limits how many calls are under way: a flood of tokens must not become a flood of connections. RFC 7662 §4 (load). */
import { lateError } from "../protocol/oauth-error";

/** Runs the call when it is its turn. @throws Error that leads to 503 when too many are waiting already */
export type InTurn = <T>(call: () => Promise<T>) => Promise<T>;

const maxRunning = 32;
const maxWaiting = 1_000;

/** 32 calls run at a time, and up to 1,000 wait in the order in which they came. */
export function takingTurns(): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (call) => {
    if (running < maxRunning) running += 1;
    else if (waiting.length < maxWaiting) await new Promise<void>((start) => waiting.push(start));
    else throw lateError("introspection: too many tokens are waiting to be introspected");
    try {
      return await call();
    } finally {
      const next = waiting.shift();
      // whoever waits takes over this place
      if (next) next();
      else running -= 1;
    }
  };
}
