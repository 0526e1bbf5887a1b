/** Pauses and time limits of the Redis adapter. RFC 6749 §5.2 (`temporarily_unavailable`). */
import { lateError } from "../../protocol/oauth-error";

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
      reject(lateError(`redisStorage: the server did not answer within ${milliseconds} milliseconds.`)),
    );
    void answer.then(resolve, reject).finally(cancel);
  });
}
