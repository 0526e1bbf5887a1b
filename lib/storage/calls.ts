/** How the server calls storage: in limited time, with one form of "none", awaiting all. RFC 6749 §4.1.2.1, §5.2, §10.5. */
import { lateError } from "../protocol/oauth-error";
import { type Storage, storageMethods, type StoragePortName } from "./port";

const limitSeconds = 5;

type Call = (...args: unknown[]) => unknown;

/**
 * What a call of the host's code gives, or a failure when it takes too long. The failure leads to `temporarily_unavailable`.
 *
 * @param onLate is called when the answer is no longer waited for.
 */
export async function inTime(name: string, call: () => unknown, onLate?: () => void): Promise<unknown> {
  let isAnswered = false;
  const answer = Promise.resolve(call()).then((value) => {
    isAnswered = true;
    // some databases return `null` where there is nothing
    return value ?? undefined;
  });
  // an answer from memory arrives one turn later, and a timer would cost more than the answer
  await Promise.resolve();
  if (isAnswered) return answer;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onLate?.();
      reject(lateError(`${name} did not answer within ${limitSeconds} seconds`));
    }, limitSeconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function limited<Name extends StoragePortName>(storage: Storage, portName: Name): Storage[Name] {
  const port: object = storage[portName];
  const calls = Object.keys(storageMethods[portName]).map((method) => {
    const name = `${portName}.${method}`;
    const call: Call = (...args) =>
      inTime(name, () => Reflect.apply(Reflect.get(port, method) as Call, port, args));
    return [method, call];
  });
  return Object.fromEntries(calls) as Storage[Name];
}

/**
 * The same storage, where each call rejects if it takes too long, and returns `undefined` instead of `null`. The rejection leads to
 * `temporarily_unavailable`: without a limit, requests would hang behind a broken connection and hold their sockets. A call that was
 * given up may still be executed. The request has failed by then, so a code or token that it spends stays spent, and nothing is
 * issued for it.
 */
export function timeLimited(storage: Storage): Storage {
  return {
    clients: limited(storage, "clients"),
    consents: limited(storage, "consents"),
    authorizations: limited(storage, "authorizations"),
    authorizationCodes: limited(storage, "authorizationCodes"),
    refreshTokens: limited(storage, "refreshTokens"),
    accessTokens: limited(storage, "accessTokens"),
    endMarks: limited(storage, "endMarks"),
    clientAssertions: limited(storage, "clientAssertions"),
    clientRegistrations: limited(storage, "clientRegistrations"),
  };
}

/**
 * The results of all of these calls. If any fail, the first failure in their order is thrown after the last call has ended: no work
 * continues after the answer, where an honest retry could collide with it.
 */
export async function allStored<const Calls extends readonly unknown[]>(
  calls: Calls,
): Promise<{ -readonly [Place in keyof Calls]: Awaited<Calls[Place]> }> {
  try {
    return await Promise.all(calls);
  } catch (earliest) {
    const outcomes = await Promise.allSettled(calls);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    throw earliest;
  }
}
