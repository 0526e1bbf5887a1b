/** Decides whose secret is checked next when there are more than can be checked at once. RFC 6749 §2.3.1, §10.10. */
import { OAuthError } from "../protocol/oauth-error";

/** Runs `derive` when it is this client's turn. @throws OAuthError `temporarily_unavailable` when too many are waiting */
export type DerivationGate = <T>(clientId: string, derive: () => Promise<T>) => Promise<T>;

// Node's thread pool must keep threads free for file access and DNS
const maxRunning = 2;
// with digests of digestClientSecret(), the last one waits for about five seconds
const maxWaiting = 100;

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: OAuthError) => void;
}

function tooMany(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many client authentications at once.",
    reason:
      "more than a hundred scrypt checks of client secrets are waiting (RFC 6749 §2.3.1): use generateClientSecret(), whose secrets are cheap to check",
  });
}

/**
 * Two derivations run at a time, up to a hundred wait, and clients take turns. When one more arrives, the client with the most
 * waiting checks loses its oldest one. Refusing the newcomer instead would lock out everybody once an attacker fills the queue.
 *
 * A flood of wrong secrets for one client costs another client every other turn, and no more. The client under attack waits its
 * turn while no more than a hundred requests arrive at once. Beyond that, nothing tells its first request in this process from
 * the attacker's requests: each has the same chance, derivations divided by requests, and trying again helps.
 */
export function derivationGate(): DerivationGate {
  // the client whose turn it is comes first, and no queue is ever empty
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

  /** Gives the place of a derivation that has ended to the next one that waits. */
  function startNext(): void {
    const [next] = queues;
    if (!next) return void (running -= 1);
    const [clientId, queue] = next;
    const oldest = takeOldest(clientId, queue);
    // this client's next turn comes after those of all others
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
