/** Limits how many calls are under way: a flood of tokens must not become a flood of connections. RFC 7662 §4 (load). */
import { lateError } from "../protocol/oauth-error";

/** Runs the call when it is its turn. @throws Error that leads to 503 when too many are waiting already, or its turn does not come */
export type InTurn = <T>(call: () => Promise<T>) => Promise<T>;

const maxRunning = 32;
const maxWaiting = 1_000;
/** Without a limit, the last of those who wait for a server that hangs would wait for minutes. */
const waitMilliseconds = 5_000;

/** 32 calls run at a time, and up to 1,000 wait in the order in which they came, for five seconds at most. */
export function takingTurns(): InTurn {
  const waiting = new Set<() => void>();
  let running = 0;

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(start);
        reject(lateError("introspection: no turn within five seconds"));
      }, waitMilliseconds);
      function start(): void {
        clearTimeout(timer);
        waiting.delete(start);
        resolve();
      }
      waiting.add(start);
    });
  }

  return async (call) => {
    if (running < maxRunning) running += 1;
    else if (waiting.size < maxWaiting) await turn();
    else throw lateError("introspection: too many tokens are waiting to be introspected");
    try {
      return await call();
    } finally {
      const [next] = waiting;
      // whoever waits takes over this place
      if (next) next();
      else running -= 1;
    }
  };
}
