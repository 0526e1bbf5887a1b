/** How the server calls storage: in limited time, with one form of "none". RFC 6749 §4.1.2.1, §5.2, §10.5. */
import { inTime } from "../host/ask";
import { type StepsAtOnce, type Storage, storageMethods, type StoragePortName } from "./port";

type Call = (...args: unknown[]) => unknown;

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
    "atOnce.approve": ({ authorizations }, args) => {
      const [{ authorization }, now] = args as Parameters<Required<StepsAtOnce>["approve"]>;
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

function limitedCall(
  storage: Storage,
  { portName, method }: { portName: keyof Storage; method: string },
): Call {
  const port: object = storage[portName] ?? {};
  const name = `${portName}.${method}`;
  const takeBack = takingBack[name];
  if (!takeBack)
    return (...args) => inTime(name, () => (Reflect.get(port, method) as Call).apply(port, args));
  return (...args) => {
    let begun: unknown;
    const onLate = (): void =>
      void Promise.resolve(begun)
        .then(() => takeBack(storage, args))
        // nothing was stored, or storage fails again
        .catch(() => undefined);
    return inTime(name, () => (begun = (Reflect.get(port, method) as Call).apply(port, args)), onLate);
  };
}

function limited<Name extends StoragePortName>(storage: Storage, portName: Name): Required<Storage>[Name] {
  const methods = Object.keys(storageMethods[portName]);
  return Object.fromEntries(
    methods.map((method) => [method, limitedCall(storage, { portName, method })]),
  ) as unknown as Required<Storage>[Name];
}

/** The calls that the steps stand for. */
const stepCalls = [
  ["authorizations", "create"],
  ["authorizationCodes", "create"],
  ["authorizationCodes", "consume"],
  ["refreshTokens", "create"],
  ["accessTokens", "create"],
] as const;

/** True while the storage has the very methods that its steps stand for. */
function hasItsMethods(storage: Storage, { of }: StepsAtOnce): boolean {
  return stepCalls.every(
    ([port, method]) => Reflect.get(storage[port], method) === Reflect.get(of[port], method),
  );
}

function limitedSteps(storage: Storage): StepsAtOnce | undefined {
  const { atOnce } = storage;
  if (!atOnce) return undefined;
  const steps = ["approve", "redeem"].filter((method) => Reflect.get(atOnce, method) !== undefined);
  const limitedStep = (method: string) => [method, limitedCall(storage, { portName: "atOnce", method })];
  return { ...(Object.fromEntries(steps.map(limitedStep)) as Omit<StepsAtOnce, "of">), of: atOnce.of };
}

/**
 * The same storage, where each call rejects if it takes too long, and returns `undefined` instead of `null`. The rejection leads to
 * `temporarily_unavailable`: without a limit, requests would hang behind a broken connection and hold their sockets. A call that was
 * given up may still be executed. The request has failed by then, so a code or token that it spends stays spent, nothing is issued for
 * it, and what it says of a person is taken back.
 */
export function timeLimited(storage: Storage): Storage {
  const ports = limitedPorts(storage);
  const steps = limitedSteps(storage);
  // each time: a host may replace a method at any time
  const get = (): StepsAtOnce | undefined => (steps && hasItsMethods(storage, steps) ? steps : undefined);
  return steps ? Object.defineProperty(ports, "atOnce", { get }) : ports;
}

function limitedPorts(storage: Storage): Storage {
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
    ...(storage.parkedRequests && { parkedRequests: limited(storage, "parkedRequests") }),
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
