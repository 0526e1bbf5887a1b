/** How the server calls code of the host, storage and callbacks: in limited time, with one form of "none". RFC 6749 §4.1.2.1, §5.2, §10.5. */
import { lateError } from "../protocol/oauth-error";
import { ownAnswer } from "../protocol/own";
import { type Storage, storageMethods, type StoragePortName } from "./port";

const limitSeconds = 5;

type Call = (...args: unknown[]) => unknown;

/**
 * What a call of the host's code gives, or a failure when it takes too long. The failure leads to `temporarily_unavailable`.
 *
 * @param onLate is called when the answer is no longer waited for.
 */
export async function inTime(name: string, call: () => unknown, onLate?: () => void): Promise<unknown> {
  let isSettled = false;
  const answer = Promise.resolve(call()).then(
    (value) => {
      isSettled = true;
      // some databases return `null` where there is nothing
      return value ?? undefined;
    },
    (failure: unknown) => {
      isSettled = true;
      throw failure;
    },
  );
  // an answer from memory arrives one turn later, and a timer would cost more than the answer
  await Promise.resolve();
  if (isSettled) return answer;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      if (isSettled) return;
      onLate?.();
      reject(lateError(`${name} did not answer within ${limitSeconds} seconds`));
    };
    // a process that was stopped runs its timers first: what has arrived meanwhile is read before it is given up
    timer = setTimeout(() => setImmediate(giveUp), limitSeconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What a callback of the host answers, as a copy: what is checked is what counts, whatever the host does with its object. It has as long
 * as a call of storage. What it throws at once is a rejection as well.
 */
export async function askHost<Answer extends object>(
  name: string,
  ask: () => unknown,
  onLate?: () => void,
): Promise<Answer> {
  return ownAnswer((await inTime(name, ask, onLate)) as Answer);
}

/**
 * How to take back what was given up and is stored all the same: it could come after everything of the person was erased. Whatever else
 * is stored late is spent, ended, or expires soon.
 */
const takingBack: Readonly<Record<string, (storage: Storage, args: readonly unknown[]) => Promise<unknown>>> =
  {
    "authorizations.create": ({ authorizations }, args) => {
      const [authorization, now] = args as Parameters<Storage["authorizations"]["create"]>;
      const { subject, authorizationId } = authorization;
      return authorizations.erase({ subject, authorizationId }, now);
    },
    "consents.save": ({ consents }, args) => {
      const [{ subject, clientId, apiId, contextKey = "" }, now] = args as Parameters<
        Storage["consents"]["save"]
      >;
      return consents.delete({ selection: { subject, clientId, apiId, contextKey }, exceptEndMark: "" }, now);
    },
  };

function limitedCall(storage: Storage, { name, call }: { name: string; call: Call }): Call {
  const takeBack = takingBack[name];
  if (!takeBack) return (...args) => inTime(name, () => call(...args));
  return (...args) => {
    let begun: unknown;
    const onLate = (): void =>
      void Promise.resolve(begun)
        .then(() => takeBack(storage, args))
        // nothing was stored, or storage fails again
        .catch(() => undefined);
    return inTime(name, () => (begun = call(...args)), onLate);
  };
}

function limited<Name extends StoragePortName>(storage: Storage, portName: Name): Storage[Name] {
  const port: object = storage[portName];
  const calls = Object.keys(storageMethods[portName]).map((method) => {
    const call: Call = (...args) => Reflect.apply(Reflect.get(port, method) as Call, port, args);
    return [method, limitedCall(storage, { name: `${portName}.${method}`, call })];
  });
  return Object.fromEntries(calls) as Storage[Name];
}

/**
 * The same storage, where each call rejects if it takes too long, and returns `undefined` instead of `null`. The rejection leads to
 * `temporarily_unavailable`: without a limit, requests would hang behind a broken connection and hold their sockets. A call that was
 * given up may still be executed. The request has failed by then, so a code or token that it spends stays spent, nothing is issued for
 * it, and what it says of a person is taken back.
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
