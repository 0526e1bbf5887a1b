/** Storage that answers in time or fails. RFC 6749 §4.1.2.1, §5.2 (`temporarily_unavailable`). */
import { lateError } from "../protocol/oauth-error";
import type { Storage } from "./port";

const limitSeconds = 5;

type Call = (...args: unknown[]) => unknown;

function inTime(name: string, call: () => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    function end(): void {
      isOver = true;
      clearTimeout(timer);
    }
    const answered = (value: unknown): void => (end(), resolve(value));
    const failed = (thrown: unknown): void => (end(), reject(thrown));
    function giveUp(): void {
      failed(lateError(`${name} has not answered within ${limitSeconds} seconds`));
    }
    Promise.resolve(call()).then(answered, failed);
    // an answer from memory is here one turn later, and a timer would cost more than the answer
    void Promise.resolve().then(() => {
      if (!isOver) timer = setTimeout(giveUp, limitSeconds * 1000);
    });
  });
}

const methods: { readonly [Port in keyof Storage]: readonly (keyof Storage[Port])[] } = {
  clients: ["find", "isBrowserOrigin"],
  consents: ["find", "save", "list", "delete"],
  authorizations: ["create", "find", "revoke", "revokeAll"],
  authorizationCodes: ["create", "find", "consume"],
  refreshTokens: ["create", "find", "rotate"],
  accessTokens: ["create", "find", "revoke", "isRevoked"],
  endMarks: ["find", "save"],
};

function limited<Name extends keyof Storage>(storage: Storage, portName: Name): Storage[Name] {
  const port: Storage[Name] = storage[portName];
  const calls = methods[portName].map((method) => {
    const name = `${portName}.${String(method)}`;
    const call: Call = (...args) => inTime(name, () => Reflect.apply(port[method] as Call, port, args));
    return [method, call];
  });
  return Object.fromEntries(calls) as Storage[Name];
}

/**
 * The same storage, each call given five seconds. A call that is given up may still do its work: the request has failed by
 * then, so a code or token that it spends stays spent and nothing is issued for it.
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
  };
}
