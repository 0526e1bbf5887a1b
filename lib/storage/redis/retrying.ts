/** What a server has refused for the moment is sent again. RFC 6749 §5.2 (`temporarily_unavailable`). */
import { lateError } from "../../protocol/oauth-error";
import type { Send } from "./client";
import { pause } from "./timers";

/** Together two seconds: a storage call has five, and some send twice. */
const pausesMilliseconds = [25, 50, 100, 200, 400, 400, 400, 400];

/**
 * The server has not begun with the command: its slot is on the move, its cluster or its data is not ready. The last one is the
 * client's own word for a node that is so new that it has not heard of it.
 */
const refusal = /^(?:TRYAGAIN|ASK|MOVED|CLUSTERDOWN|LOADING|Cannot find node) /;

/** What clients give when they have followed refusals for long enough. A lost connection may be among them: not sent again. */
const exhausted = /^Too many Cluster redirections/;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "");

/** True when the server did nothing, so that the command can be sent again. */
export function isRefusal(error: unknown): boolean {
  return refusal.test(messageOf(error));
}

function refusedTooLong(error: unknown): Error {
  return lateError(`redisStorage: the server refused for too long: ${messageOf(error)}`);
}

/**
 * The same `send`, which bears with a slot that moves. A lost connection is not for it: it leaves open whether the command was
 * done, and a single use that is sent again would count as a replay.
 */
export function retrying(send: Send): Send {
  return async (key, command) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await send(key, command);
      } catch (error) {
        if (exhausted.test(messageOf(error))) throw refusedTooLong(error);
        if (!isRefusal(error)) throw error;
        const milliseconds = pausesMilliseconds[attempt];
        if (milliseconds === undefined) throw refusedTooLong(error);
        await pause(milliseconds);
      }
    }
  };
}
