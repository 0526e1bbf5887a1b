/** Whose secret is checked next, when more come than can be. RFC 6749 §2.3.1, §10.10. */
import { OAuthError } from "../protocol/oauth-error";

/** Runs `derive` when it is this client's turn. @throws OAuthError `temporarily_unavailable` when too many others came. */
export type DerivationGate = <T>(clientId: string, derive: () => Promise<T>) => Promise<T>;

// threads of the pool stay free for files and names
const maxRunning = 2;
// of digests made by digestClientSecret() the last one waits about five seconds
const maxWaiting = 100;

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: OAuthError) => void;
}

function tooMany(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many client authentications at once.",
    reason:
      "more than a hundred checks of client secrets by scrypt wait (RFC 6749 §2.3.1): use generateClientSecret(), whose secrets cost nothing to check",
  });
}

/**
 * Two derivations run at a time and a hundred wait. Clients take turns. When one more comes, the client that has most
 * waiting loses its oldest.
 *
 * A flood of wrong secrets for one client takes every other turn from another client, and no more. The client under attack
 * waits its turn while no more than a hundred requests come at once. Beyond that nothing tells its first request in this
 * process from the attacker's: each has the same chance, derivations divided by requests, and trying again helps.
 */
export function derivationGate(): DerivationGate {
  // the client whose turn it is stands first, and no queue is empty
  const queues = new Map<string, Waiting[]>();
  let waiting = 0;
  let running = 0;

  function takeOldest(clientId: string, queue: Waiting[]): Waiting | undefined {
    waiting -= 1;
    const oldest = queue.shift();
    if (queue.length === 0) queues.delete(clientId);
    return oldest;
  }

  function enqueue(clientId: string, newcomer: Waiting): void {
    const queue = queues.get(clientId);
    if (queue) queue.push(newcomer);
    else queues.set(clientId, [newcomer]);
    waiting += 1;
    if (waiting <= maxWaiting) return;
    const [longest] = [...queues].toSorted(([, a], [, b]) => b.length - a.length);
    if (longest) takeOldest(...longest)?.refuse(tooMany());
  }

  /** Hands on the place of a derivation that has ended. */
  function startNext(): void {
    const [next] = queues;
    if (!next) return void (running -= 1);
    const [clientId, queue] = next;
    const oldest = takeOldest(clientId, queue);
    // its turn comes again after those of all others
    if (queues.delete(clientId)) queues.set(clientId, queue);
    oldest?.start();
  }

  return async (clientId, derive) => {
    if (running < maxRunning) running += 1;
    else await new Promise<void>((start, refuse) => enqueue(clientId, { start, refuse }));
    try {
      return await derive();
    } finally {
      startNext();
    }
  };
}
