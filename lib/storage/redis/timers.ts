/** How long the Redis adapter waits. RFC 6749 §5.2 (`temporarily_unavailable`). */
import { lateError } from "../../protocol/oauth-error";

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

/** Does it after this time, unless what it gives is called before. It keeps no process alive. */
export function later(milliseconds: number, act: () => void): () => void {
  const timer = setTimeout(act, milliseconds).unref();
  return () => clearTimeout(timer);
}

/** The same answer, or a failure when it takes longer. */
export function answeredIn<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = later(milliseconds, () =>
      reject(lateError(`redisStorage: the server has not answered within ${milliseconds} milliseconds.`)),
    );
    void answer.then(resolve, reject).finally(cancel);
  });
}
