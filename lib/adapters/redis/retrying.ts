/** Sends again what a server has refused for the moment. RFC 6749 §5.2 (`temporarily_unavailable`). */
import { hostMistake } from "../../protocol/mistake";
import { lateError } from "../../protocol/oauth-error";
import { deadlineIn } from "../../recall/moment";
import type { Send } from "./client";

/** Resolves after this time. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

/** Calls `act` after this time, unless the returned function is called before. The timer does not keep the process alive. */
export function later(milliseconds: number, act: () => void): () => void {
  const timer = setTimeout(act, milliseconds).unref();
  return () => clearTimeout(timer);
}

/** The same answer, or a rejection (`temporarily_unavailable` for the client) when it takes longer than this. */
export function answeredIn<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = later(milliseconds, () =>
      reject(
        lateError(
          "redis-no-answer",
          `redisStorage: the server did not answer within ${milliseconds} milliseconds.`,
        ),
      ),
    );
    void answer.then(resolve, reject).finally(cancel);
  });
}

/** How long a command is sent again. Well below the limit of a storage call, because some calls send twice. */
const patienceSeconds = 2;
/** The pause before the second attempt. Each further one is twice as long, up to the longest. */
const shortestPause = 25;
const longestPause = 400;

/**
 * Errors that mean the server has not started the command: its slot is moving, or its cluster or data is not ready. The last one
 * comes from the client itself, for a node so new that the client does not know it yet.
 */
const refusal = /^(?:TRYAGAIN|ASK|MOVED|CLUSTERDOWN|LOADING|Cannot find node) /;

/** The error of clients that gave up following refusals. A lost connection may be among their causes, so it is not retried. */
const exhausted = /^Too many Cluster redirections/;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "");

/** True when the server has not executed the command, so that it can be sent again. */
export function isRefusal(error: unknown): boolean {
  return refusal.test(messageOf(error));
}

/** The error of a user that lacks rights: on a command, on one in a script, or on a key. */
const forbidden = /^(?:NOPERM|ERR The user executing the script can't run) /;

/** Every command that the adapter sends, itself or in a script. */
const neededCommands =
  "asking del eval exists expireat get getrange hdel hget hgetall hkeys hset hvals info mget set setrange wait zadd zcard zcount zrange zrem zremrangebyscore zrevrank";

/** The same error; one about missing rights says which ones are needed. */
export function withRemedy(cause: unknown): unknown {
  if (!forbidden.test(messageOf(cause))) return cause;
  return hostMistake(
    "redis-right-missing",
    `redisStorage: the user of the client lacks a right (${messageOf(cause)}). It needs the keys that begin with the prefix, and these commands: ${neededCommands}.`,
    { cause },
  );
}

function refusedTooLong(error: unknown): Error {
  return lateError(
    "redis-kept-refusing",
    `redisStorage: the server kept refusing the command: ${messageOf(error)}`,
  );
}

/**
 * The same `send`, but it retries while a slot is moving. It does not retry after a lost connection, which leaves open whether the command
 * was executed: a single use that is sent again would look like a replay. Some clients send it again by themselves, unless an option keeps
 * them from it: docs/storage-redis.md names these.
 *
 * @throws Error (`temporarily_unavailable` for the client) when the server keeps refusing
 */
export function retrying(send: Send): Send {
  return async (key, command) => {
    const isOver = deadlineIn(patienceSeconds);
    for (let milliseconds = shortestPause; ; milliseconds = Math.min(2 * milliseconds, longestPause)) {
      try {
        return await send(key, command);
      } catch (error) {
        if (exhausted.test(messageOf(error))) throw refusedTooLong(error);
        if (!isRefusal(error)) throw withRemedy(error);
        if (isOver()) throw refusedTooLong(error);
        await pause(milliseconds);
      }
    }
  };
}
