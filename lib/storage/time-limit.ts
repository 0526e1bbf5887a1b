/** Storage that answers in time or fails. RFC 6749 §4.1.2.1, §5.2 (`temporarily_unavailable`). */
import { lateError } from "../protocol/oauth-error";
import type { Storage } from "./port";

const limitSeconds = 5;

type Call = (...args: unknown[]) => unknown;

function inTime(name: string, call: () => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const answered = (value: unknown): void => (clearTimeout(timer), resolve(value));
    const failed = (thrown: unknown): void => (clearTimeout(timer), reject(thrown));
    const timer = setTimeout(() => {
      failed(lateError(`${name} has not answered within ${limitSeconds} seconds`));
    }, limitSeconds * 1000);
    try {
      Promise.resolve(call()).then(answered, failed);
    } catch (thrown) {
      failed(thrown);
    }
  });
}

const methods: { readonly [Port in keyof Storage]: readonly (keyof Storage[Port])[] } = {
  clients: ["find", "isBrowserOrigin"],
  consents: ["find", "save", "list", "delete"],
  authorizations: ["create", "find", "revoke", "revokeAll"],
  authorizationCodes: ["create", "find", "consume"],
  refreshTokens: ["create", "find", "rotate"],
  accessTokens: ["create", "find", "revoke", "isRevoked"],
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
  };
}
